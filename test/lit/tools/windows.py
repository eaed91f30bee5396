#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""windows.py ids WORDS TEXT FIRST COUNT IDS.npy, or windows.py check WORDS TEXT SCORES.npy FIRST ... PERPLEXITY

The first writes COUNT ids of `<s> TEXT` from place FIRST on; TEXT and PERPLEXITY are files. The second reads the logits of each window, given
as a file and its first place, and asks whether the number that the command printed is the perplexity that they say."""
import math
import re
import sys

import npy


def text(path):
    return open(path, encoding="utf-8").read()


words = text(sys.argv[2]).split()
ids = [words.index("<s>")] + [words.index(word) for word in text(sys.argv[3]).split()]


def log_probability(logits, token):
    largest = max(logits)
    return logits[token] - largest - math.log(sum(math.exp(x - largest) for x in logits))


if sys.argv[1] == "ids":
    first, count = int(sys.argv[4]), int(sys.argv[5])
    npy.write(sys.argv[6], "i4", (1, count), ids[first : first + count])
else:
    scored, total = 1, 0.0
    for path, first in zip(sys.argv[4:-1:2], map(int, sys.argv[5:-1:2])):
        (_, count, classes), values = npy.read(path)
        for place in range(scored, first + count):
            begin = (place - 1 - first) * classes
            total += log_probability(values[begin : begin + classes], ids[place])
        scored = first + count
    assert scored == len(ids), (scored, len(ids))
    expected = math.exp(-total / (len(ids) - 1))
    found, tokens = re.match(r"perplexity (\S+) of (\d+) tokens", text(sys.argv[-1])).groups()
    assert int(tokens) == len(ids) - 1, tokens
    assert abs(float(found) / expected - 1) < 1e-4, (found, expected)
