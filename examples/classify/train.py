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
import shutil
import sys
import time

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from training import Network, padded, save  # noqa: E402: the folder above

MODEL = json.load(open(os.path.join(HERE, "model.json"), encoding="utf-8"))
LABELS = open(os.path.join(HERE, "labels.txt"), encoding="utf-8").read().split()
PAD, UNKNOWN = MODEL["source"]["padding"], MODEL["source"]["unknown"]
BATCH, RATE = 128, 3e-3


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


def read(path, ids):
    lines = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]
    return [([ids[word] for word in text.split()], LABELS.index(label)) for text, label in lines]


def batches(rows):
    """Some words are made unknown, so that the model has seen what a new word is."""
    order = sorted(torch.randperm(len(rows)).tolist(), key=lambda i: len(rows[i][0]))
    for start in torch.randperm(-(-len(order) // BATCH)).tolist():
        part = [rows[i] for i in order[start * BATCH:(start + 1) * BATCH]]
        ids = padded([row for row, _ in part], PAD)
        lost = (torch.rand(ids.shape) < 0.01) & (ids != PAD)
        yield ids.masked_fill(lost, UNKNOWN), torch.tensor([label for _, label in part])


def correct(network, rows):
    with torch.no_grad():
        found = network.logits(padded([row for row, _ in rows], PAD)).argmax(-1)
    return (found == torch.tensor([label for _, label in rows])).double().mean().item()


def main():
    data, epochs = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 10
    torch.manual_seed(0)
    torch.set_num_threads(1)
    words = open(os.path.join(data, "words.txt"), encoding="utf-8").read().split()
    ids = {word: index for index, word in enumerate(words)}
    train, held = (read(os.path.join(data, name + ".tsv"), ids) for name in ("train", "held-out"))
    network = Classifier(MODEL)
    weights = network.parameters(network.shapes(len(words)))
    print(sum(value.numel() for value in weights), "weights")
    steps = epochs * -(-len(train) // BATCH)
    optimizer = torch.optim.Adam(weights, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.1)
    began = time.time()
    for epoch in range(epochs):
        total = 0.0
        for texts, labels in batches(train):
            loss = F.cross_entropy(network.logits(texts, 0.05), labels)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / (steps / epochs):.4f}, {correct(network, held):.3f}, {time.time() - began:.0f} s", flush=True)
    save(os.path.join(HERE, "model.safetensors"), network.weights)
    for name in ("words.txt", "held-out.tsv"):
        shutil.copy(os.path.join(data, name), HERE)
    print(f"correct: {correct(network, held):.3f} of held-out reviews")


if __name__ == "__main__":
    main()
