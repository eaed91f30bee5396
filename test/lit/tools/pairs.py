#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pairs.py LINES LONGEST [CLASSES]: prints pairs of texts of 1 to LONGEST ids from 4 to 28, or a text and one of CLASSES labels, a line
each."""
import sys

lines, longest = int(sys.argv[1]), int(sys.argv[2])


def text(seed):
    return " ".join(str((seed * 7 + k * k * 3 + k) % 25 + 4) for k in range(seed * 5 % longest + 1))


for line in range(lines):
    other = str(line % int(sys.argv[3])) if len(sys.argv) > 3 else text(3 * line + 1)
    print(f"{text(line)}\t{other}")
