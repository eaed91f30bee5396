#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fine-tuned.py FOLDER GOLDEN OUT: trains a folder with the data and the recipe of test/data/goldens/fine-tuned into OUT, and compares the
weights with those of PyTorch. OUT has the same tensors, apart from those that the model of texts does not read. The greatest difference
is 2e-5 of the greatest weight of a tensor."""
import os
import subprocess
import sys

from checkpoint import greatest, tensors

folder, golden, out = sys.argv[1:]
place = os.path.dirname(golden)
subprocess.run(["heddle", "train", folder, f"--data={place}/data.tsv", f"--recipe={place}/recipe.json", "-o", out], check=True,
               stderr=subprocess.DEVNULL)
found, expected, before = tensors(f"{out}/model.safetensors"), tensors(golden), tensors(f"{folder}/model.safetensors")
unread = [name for name in expected if name not in found]
assert not set(found) - set(expected), set(found) - set(expected)
assert all("pooler" in name for name in unread), unread
moved = 0
for name, values in found.items():
    assert len(values) == len(expected[name]), name
    difference = max(abs(a - b) for a, b in zip(values, expected[name]))
    assert difference <= 2e-5 * greatest(expected[name]), (name, difference)
    moved += max(abs(a - b) for a, b in zip(values, before[name])) > 1e-4
assert moved > len(found) / 2, moved
print(f"{len(found)} tensors equal, {moved} moved")
