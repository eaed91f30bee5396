#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tail.py WHOLE.npy FIRST PART.npy: the numbers of PART, from number FIRST on in WHOLE, bit for bit."""
import sys


def numbers(path):
    data = open(path, "rb").read()
    start = 10 + int.from_bytes(data[8:10], "little")
    return data[start:]


whole, first, part = numbers(sys.argv[1]), int(sys.argv[2]) * 4, numbers(sys.argv[3])
assert part and whole[first : first + len(part)] == part, "the numbers differ"
