#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the model of this folder with PyTorch and writes its weights.

usage: train.py DATA [--epochs N]       DATA is what couplets.py wrote

Writes model.safetensors, characters.txt and held-out.tsv beside this script, then counts the held-out lines that are
answered character for character. scripts/goldens-setup makes the environment it runs in. One core, about four minutes.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from training import EncoderDecoder, Words, begin, finish, fit, read_pairs  # noqa: E402: the folder above

MODEL = json.load(open(os.path.join(HERE, "model.json"), encoding="utf-8"))


def main():
    data, epochs = begin(12)
    characters = Words(os.path.join(data, "characters.txt"))
    train, held = (read_pairs(os.path.join(data, name + ".tsv"), characters, characters, list) for name in ("train", "held-out"))
    network = EncoderDecoder(MODEL)
    fit(network, network.shapes(len(characters.list), len(characters.list)), train, epochs, rate=2e-3, warm=0.1,
        state=lambda: network.exact(held[:100]))
    finish(network, data, HERE, ("characters.txt", "held-out.tsv"))
    print(f"exact matches: {network.exact(held):.3f} of held-out couplets")


if __name__ == "__main__":
    main()
