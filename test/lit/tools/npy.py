# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes and reads .npy files; needs no Python package."""
import ast
import struct


def write(path, dtype, shape, values):
    """dtype: "i4", "f4" or "b1"; values: as many as the shape says, the last dimension fastest."""
    sizes = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    order = "|" if dtype == "b1" else "<"
    header = f"{{'descr': '{order}{dtype}', 'fortran_order': False, 'shape': ({sizes}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = list(values)
    letters = {"i4": "i", "f4": "f", "b1": "?"}
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{letters[dtype]}", *values))


def read(path):
    """Shape and values of an f32 or i32 file in format version 1."""
    with open(path, "rb") as file:
        data = file.read()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:end].decode())
    letter = {"<f4": "f", "<i4": "i"}.get(header["descr"])
    assert letter and not header["fortran_order"], header
    return header["shape"], struct.unpack(f"<{(len(data) - end) // 4}{letter}", data[end:])
