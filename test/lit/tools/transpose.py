#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpose.py IN.npy OUT.npy: the first two dimensions of 32-bit elements the other way round."""
import ast
import math
import sys

import npy

data = open(sys.argv[1], "rb").read()
start = 10 + int.from_bytes(data[8:10], "little")
header = ast.literal_eval(data[10:start].decode())
rows, columns, *rest = header["shape"]
dtype = header["descr"][1:]
numbers = memoryview(data[start:]).cast({"i4": "i", "f4": "f"}[dtype])
size = math.prod(rest)
transposed = (numbers[(r * columns + c) * size + n] for c in range(columns) for r in range(rows) for n in range(size))
npy.write(sys.argv[2], dtype, [columns, rows, *rest], transposed)
