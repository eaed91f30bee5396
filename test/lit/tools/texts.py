# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""texts.py COUNT TOKENS: lines of words of test/data/folders/sentences, of lengths from none to a row of so many tokens."""
import random
import sys

count, tokens = map(int, sys.argv[1:])
draw = random.Random(7)
for _ in range(count):
    length = draw.randint(0, tokens - 2)
    print(" ".join(draw.choice(["warp", "weft", "loom", "a", "fine", "red"]) for _ in range(length)))
