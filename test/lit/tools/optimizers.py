#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""optimizers.py GOLDENS NAME OUT: trains the model of test/data/goldens/optimizers with the recipe NAME into the folder OUT/NAME, and
compares its weights with those of PyTorch. The greatest difference is 1e-6."""
import json
import os
import subprocess
import sys

from checkpoint import tensors

goldens, name, out = sys.argv[1:]
with open(f"{goldens}/model.json", encoding="utf-8") as model, open(f"{goldens}/{name}.json", encoding="utf-8") as recipe:
    description = json.load(model) | {"training": json.load(recipe)}
os.makedirs(f"{out}/described-{name}")
with open(f"{out}/described-{name}/model.json", "w", encoding="utf-8") as file:
    json.dump(description, file)
subprocess.run(["heddle", "train", f"{out}/described-{name}", f"--data={goldens}/data.tsv", "-o", f"{out}/{name}"], check=True,
               stderr=subprocess.DEVNULL)
found, expected = tensors(f"{out}/{name}/model.safetensors"), tensors(f"{goldens}/{name}.safetensors")
assert found.keys() == expected.keys(), (found.keys(), expected.keys())
for tensor, values in found.items():
    assert len(values) == len(expected[tensor]), tensor
    difference = max(abs(a - b) for a, b in zip(values, expected[tensor]))
    assert difference <= 1e-6, (tensor, difference)
print(f"{len(found)} tensors equal")
