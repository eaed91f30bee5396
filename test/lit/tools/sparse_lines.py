# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sparse_lines.py FILE.npy LINES BOUND: fails where sparse vectors, one a line, and the rows of a file differ by more than BOUND, where
indices do not ascend, or where a value is 0."""
import json
import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts")  # not the npy.py beside this
import npy

shape, expected = npy.read_floats(sys.argv[1])
lines = [json.loads(line) for line in open(sys.argv[2])]
lines = [line.get("embedding", line) for line in lines]
if len(lines) != shape[0]:
    sys.exit(f"expected {shape[0]} lines, found {len(lines)}")
for i, line in enumerate(lines):
    indices, values = line["indices"], line["values"]
    if indices != sorted(set(indices)) or len(indices) != len(values) or 0 in values:
        sys.exit(f"line {i + 1}: expected ascending indices of values that are not 0, found {line}")
    found = dict(zip(indices, values))
    for j, value in enumerate(expected[i * shape[1]:(i + 1) * shape[1]]):
        if not abs(found.get(j, 0) - value) <= float(sys.argv[3]):
            sys.exit(f"line {i + 1}, index {j}: expected {value}, found {found.get(j, 0)}")
