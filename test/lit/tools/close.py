# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""close.py FILE.npy LINES BOUND: fails where lines of numbers and the rows of a file differ by more than a share of the
largest number."""
import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts")  # not the npy.py beside this
import npy

_, expected = npy.read_floats(sys.argv[1])
found = [float(word) for line in open(sys.argv[2]) for word in line.split()]
if len(found) != len(expected):
    sys.exit(f"expected {len(expected)} numbers, found {len(found)}")
share = npy.largest_share(found, expected)
if not share <= float(sys.argv[3]):
    sys.exit(f"expected a difference of at most {sys.argv[3]}, found {share}")
