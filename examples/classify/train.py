#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the model of this folder with PyTorch and writes its weights.

usage: train.py DATA [--epochs N]       DATA is what reviews.py wrote

Writes model.safetensors, words.txt and held-out.tsv beside this script, then measures the held-out reviews.
scripts/goldens-setup makes the environment it runs in. One core, about two minutes.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from training import Network, Words, alike, begin, finish, fit, padded  # noqa: E402: the folder above

MODEL = json.load(open(os.path.join(HERE, "model.json"), encoding="utf-8"))
LABELS = open(os.path.join(HERE, "labels.txt"), encoding="utf-8").read().split()
PAD, UNKNOWN = MODEL["source"]["padding"], MODEL["source"]["unknown"]


class Classifier(Network):
    def shapes(self, words):
        yield "source.embedding.weight", (words, self.size)
        yield from self.stack_shapes("encoder", ["attention"])
        yield "classifier.weight", (len(LABELS), self.size)
        yield "classifier.bias", (len(LABELS),)

    def logits(self, ids, drop=0.0):
        x, _ = self.encode(ids, PAD, drop)
        text = (ids != PAD)[..., None]
        return self.linear("classifier", (x * text).sum(1) / text.sum(1))

    def loss(self, ids, labels):
        return F.cross_entropy(self.logits(ids, 0.05), labels)

    def batches(self, rows):
        """Batches with 1 % of the words replaced by the unknown token, so that the model is trained on it."""
        for part in alike(rows, lambda row: len(row[0])):
            ids = padded([row for row, _ in part], PAD)
            lost = (torch.rand(ids.shape) < 0.01) & (ids != PAD)
            yield ids.masked_fill(lost, UNKNOWN), torch.tensor([label for _, label in part])

    def correct(self, rows):
        with torch.no_grad():
            found = self.logits(padded([row for row, _ in rows], PAD)).argmax(-1)
        return (found == torch.tensor([label for _, label in rows])).double().mean().item()


def read(path, ids):
    lines = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]
    return [([ids[word] for word in text.split()], LABELS.index(label)) for text, label in lines]


def main():
    data, epochs = begin(10)
    words = Words(os.path.join(data, "words.txt"))
    train, held = (read(os.path.join(data, name + ".tsv"), words.ids) for name in ("train", "held-out"))
    network = Classifier(MODEL)
    fit(network, network.shapes(len(words.list)), train, epochs, rate=3e-3, warm=0.1, state=lambda: network.correct(held))
    finish(network, data, HERE, ("words.txt", "held-out.tsv"))
    print(f"correct: {network.correct(held):.3f} of held-out reviews")


if __name__ == "__main__":
    main()
