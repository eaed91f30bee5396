#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reshape.py IN.npy OUT.npy SIZE…: the same i32 numbers in another shape."""
import struct
import sys

import npy

data = open(sys.argv[1], "rb").read()
start = 10 + int.from_bytes(data[8:10], "little")
numbers = struct.unpack(f"<{(len(data) - start) // 4}i", data[start:])
npy.write(sys.argv[2], "i4", list(map(int, sys.argv[3:])), numbers)
