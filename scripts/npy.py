# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads .npy files of f32 and says how far two results are apart. Standard library only."""
import array
import ast
import math
import struct
import sys

LIMIT = 1e-5


def read_floats(path):
    """Shape and values of a .npy file of f32 in row-major order."""
    data = open(path, "rb").read()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    if header["descr"] != "<f4" or header["fortran_order"]:
        sys.exit(f"error: {path}: expected f32 in row-major order, found {header['descr']}")
    return header["shape"], array.array("f", data[10 + length:])


def largest_share(found, expected):
    """max |a - b| / max |b|; infinite where a value is not finite, or nothing but zeros is expected and something found."""
    if not all(map(math.isfinite, found)) or not all(map(math.isfinite, expected)):
        return math.inf
    difference = max((abs(a - b) for a, b in zip(found, expected)), default=0.0)
    scale = max(map(abs, expected), default=0.0)
    return difference / scale if scale > 0 else (math.inf if difference > 0 else 0.0)
