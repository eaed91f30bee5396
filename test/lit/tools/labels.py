# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `heddle classify --all --json` with the probabilities that Transformers gives for labels of images.

usage: labels.py LABELS.json OUTPUT
"""
import json
import os
import sys

expected = json.load(open(sys.argv[1]))
for line in open(sys.argv[2]):
    found = json.loads(line)
    known = expected[os.path.basename(found["text"])]
    scores = {one["label"]: one["score"] for one in found["labels"]}
    assert scores.keys() == known.keys(), scores
    assert list(scores.values()) == sorted(scores.values(), reverse=True), scores
    furthest = max(abs(scores[label] - known[label]) for label in known)
    assert furthest <= 2e-3, (found["text"], furthest)
