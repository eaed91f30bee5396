#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vector.py FILE.npy NUMBER…: writes a vector of i32; needs no Python package."""
import struct
import sys

numbers = [int(text) for text in sys.argv[2:]]
header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{len(numbers)}i", *numbers))
