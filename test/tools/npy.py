# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes .npy files; needs no Python package."""
import struct


def write(path, dtype, shape, values):
    """dtype: "i4" or "f4"; values: as many as the shape says, the last dimension fastest."""
    sizes = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    header = f"{{'descr': '<{dtype}', 'fortran_order': False, 'shape': ({sizes}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = list(values)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{'i' if dtype == 'i4' else 'f'}", *values))
