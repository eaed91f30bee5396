# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""answers.py EXPECTED FOUND: fails where two files (-: standard input) differ, or numbers with a point by more
than 1e-4."""
import sys


def read(path):
    with sys.stdin if path == "-" else open(path) as file:
        return [line.rstrip("\n").split("\t") for line in file]


def agree(a, b):
    try:
        return a == b or ("." in a and abs(float(a) - float(b)) <= 1e-4)
    except ValueError:
        return False


expected, found = read(sys.argv[1]), read(sys.argv[2])
if len(expected) != len(found):
    sys.exit(f"expected {len(expected)} lines, found {len(found)}")
for number, (a, b) in enumerate(zip(expected, found), 1):
    if len(a) != len(b) or not all(map(agree, a, b)):
        sys.exit(f"line {number}: expected {a}, found {b}")
