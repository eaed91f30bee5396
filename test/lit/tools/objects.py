# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the output of `heddle detect --json` with objects that Transformers finds: those above a threshold, the likeliest
first. Pixels are rounded, so boxes may differ by a part of the image, and an object at the threshold may be missing.

usage: objects.py OBJECTS.json OUTPUT THRESHOLD [MOST]     MOST: difference of scores, and of boxes in parts of the largest edge
"""
import json
import os
import sys

expected, output, threshold = json.load(open(sys.argv[1])), sys.argv[2], float(sys.argv[3])
most = float(sys.argv[4]) if len(sys.argv) > 4 else 2e-3
furthest = 0.0
for line in open(output):
    found = json.loads(line)
    known = expected[os.path.basename(found["image"])]["objects"]
    sure = [one for one in known if one["score"] > threshold + most]
    assert len(sure) <= len(found["detections"]) <= len([one for one in known if one["score"] > threshold - most]), found["image"]
    scores = [one["score"] for one in found["detections"]]
    assert scores == sorted(scores, reverse=True), scores
    largest = max(abs(edge) for one in known for edge in one["box"])
    for one in sure:  # equal scores may change places
        def distance(other):
            return max(abs(one["score"] - other["score"]), *(abs(a - b) / largest for a, b in zip(one["box"], other["box"])))
        nearest = min((other for other in found["detections"] if other["label"] == one["label"]), key=distance)
        furthest = max(furthest, distance(nearest))
        assert distance(nearest) <= most, (found["image"], one, nearest)
print("objects agree, largest difference %.1e" % furthest)
