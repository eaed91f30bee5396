#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes seeded weights, an input and PyTorch's result for both models of this folder.

usage: make.py     in an environment made by scripts/goldens-setup
"""
import json
import math
import os
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "test", "data", "goldens"))
from make import seeded  # noqa: E402 (the documented generator)

MODELS = {
    "self-attention": (16, {"query": (16, 16), "key": (16, 16), "value": (16, 16), "output": (16, 16)}),
    "two-heads": (10, {"input": (12, 10), "query": (12, 12), "key": (12, 12), "value": (12, 12), "query.head": (12, 12),
                       "key.head": (12, 12), "value.head": (12, 12), "output": (10, 12)}),
}


def save_weights(path, tensors):
    header, offset = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for value in tensors.values()))


def attend(w, x):
    """Either model; steps whose matrix a model does not have are left out."""
    def project(part, y):
        y = y @ w[f"{part}.weight"].T
        y = y @ w[f"{part}.head.weight"].T if f"{part}.head.weight" in w else y
        return y.view(*y.shape[:2], 2, -1).transpose(1, 2)
    a = x
    if "input.weight" in w:
        a = x @ w["input.weight"].T
        i = torch.arange(a.shape[-1], dtype=torch.float64)
        angle = torch.arange(a.shape[1], dtype=torch.float64)[:, None] / 10000 ** (2 * (i // 2) / a.shape[-1])
        a = a + torch.where(i % 2 == 0, angle.sin(), angle.cos())
    b = F.scaled_dot_product_attention(project("query", a), project("key", a), project("value", a))
    return b.transpose(1, 2).flatten(2) @ w["output.weight"].T


def main():
    for name, (size, shapes) in MODELS.items():
        tensors = {f"{part}.weight": seeded(4, f"{name}.{part}", shape, shape[1]) for part, shape in shapes.items()}
        save_weights(os.path.join(HERE, name + ".safetensors"), tensors)
        x = seeded(4, f"{name}.x", (2, 5, size), 3)
        b = attend({key: torch.from_numpy(value).double() for key, value in tensors.items()}, torch.from_numpy(x).double())
        np.save(os.path.join(HERE, name + ".input.npy"), x)
        np.save(os.path.join(HERE, name + ".expected.npy"), b.numpy().astype(np.float32))


if __name__ == "__main__":
    main()
