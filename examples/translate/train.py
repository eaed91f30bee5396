#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the model of this folder with PyTorch and writes its weights.

usage: train.py DATA [--epochs N]       DATA is what sentences.py wrote

Writes model.safetensors, source.txt, target.txt, held-out.tsv and patterns.tsv beside this script, then
measures exact matches. The network is model.json's, made of the layers of ../training.py; scripts/goldens-setup
makes the environment it runs in. One core, about ten minutes.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from training import EncoderDecoder, Words, begin, finish, fit, read_pairs  # noqa: E402: the folder above

MODEL = json.load(open(os.path.join(HERE, "model.json"), encoding="utf-8"))


def main():
    data, epochs = begin(14)
    source, target = Words(os.path.join(data, "source.txt")), Words(os.path.join(data, "target.txt"))
    train, held, fresh = (read_pairs(os.path.join(data, name + ".tsv"), source, target) for name in ("train", "held-out", "patterns"))
    train += train[:2] * 20  # the two sentences that stand alone in the grammar
    network = EncoderDecoder(MODEL)
    fit(network, network.shapes(len(source.list), len(target.list)), train, epochs, rate=2e-3, warm=0.08,
        state=lambda: network.exact(held[:100]))
    finish(network, data, HERE, ("source.txt", "target.txt", "held-out.tsv", "patterns.tsv"))
    print(f"exact matches: {network.exact(held):.3f} of held-out sentences, {network.exact(fresh):.3f} of held-out patterns")


if __name__ == "__main__":
    main()
