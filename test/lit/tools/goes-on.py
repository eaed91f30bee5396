#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""goes-on.py ids WORDS PROMPT ANSWER IDS.npy, or goes-on.py check WORDS PROMPT ANSWER LIMIT LOGITS.npy; ANSWER is a file.

The first writes `<s> PROMPT ANSWER` as ids, the second asks whether greedy decoding would answer as it was answered: every token of the
answer has the largest logit at the place before it, and after it comes `<e>` or the limit is reached."""
import sys

import npy


def ids(words, text):
    return [words.index("<s>")] + [words.index(word) for word in text.split()]


def check(words, asked, whole, limit, path):
    shape, values = npy.read(path)
    assert shape == (1, len(whole), len(words)), shape
    best = [max(range(len(words)), key=lambda word: values[place * len(words) + word]) for place in range(len(whole))]
    assert best[len(asked) - 1 : -1] == whole[len(asked) :], (best, whole)
    assert best[-1] == words.index("<e>") or len(whole) == limit + 1, "the answer ends too early"


def text(path):
    return open(path, encoding="utf-8").read()


words, prompt = text(sys.argv[2]).split(), sys.argv[3]
whole = ids(words, prompt + " " + text(sys.argv[4]))
if sys.argv[1] == "ids":
    npy.write(sys.argv[5], "i4", (1, len(whole)), whole)
else:
    check(words, ids(words, prompt), whole, int(sys.argv[5]), sys.argv[6])
