#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""block.py WHOLE.npy ROW COLUMN PART.npy: the matrices of PART stand in those of WHOLE from (ROW, COLUMN) on, bit for
bit, and nothing but zeros stands beside them in their rows."""
import ast
import struct
import sys


def matrices(path):
    data = open(path, "rb").read()
    start = 10 + int.from_bytes(data[8:10], "little")
    shape = ast.literal_eval(data[10:start].decode())["shape"]
    rows, columns = shape[-2:]
    numbers = struct.unpack(f"<{(len(data) - start) // 4}I", data[start:])
    lines = [numbers[n : n + columns] for n in range(0, len(numbers), columns)]
    return [lines[n : n + rows] for n in range(0, len(lines), rows)]


row, column = map(int, sys.argv[2:4])
whole, part = matrices(sys.argv[1]), matrices(sys.argv[4])
assert len(whole) == len(part), "the numbers of matrices differ"
for large, small in zip(whole, part):
    for n, line in enumerate(small):
        found = large[row + n]
        assert found[column : column + len(line)] == line, f"row {n} differs"
        assert not any(found[:column] + found[column + len(line) :]), f"row {n} has weights of other documents"
