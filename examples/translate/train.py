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
import shutil
import sys
import time

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from training import Network, padded, save  # noqa: E402: the folder above

MODEL = json.load(open(os.path.join(HERE, "model.json"), encoding="utf-8"))
PAD, START, END = (MODEL["target"][key] for key in ("padding", "start", "end"))
BATCH, RATE = 128, 2e-3


class Translator(Network):
    def shapes(self, source, target):
        yield "source.embedding.weight", (source, self.size)
        yield "target.embedding.weight", (target, self.size)
        yield from self.stack_shapes("encoder", ["attention"])
        yield from self.stack_shapes("decoder", ["attention", "cross"])
        yield "classifier.weight", (target, self.size)

    def decode(self, target, memory, memory_mask, drop=0.0):
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
        return self.linear("classifier", self.stack("decoder", self.embed("target", target), causal, memory, memory_mask, drop))


def translate(network, source, limit=30):
    """Greedy, a whole batch at once; sentences that have ended keep their end mark."""
    memory, mask = network.encode(source, PAD)
    target = torch.full((len(source), 1), START)
    while target.shape[1] < limit and not (target == END).any(1).all():
        target = torch.cat([target, network.decode(target, memory, mask)[:, -1:].argmax(-1)], 1)
    return [row[1:row.index(END)] if END in row else row[1:] for row in target.tolist()]


class Words:
    def __init__(self, path):
        self.list = open(path, encoding="utf-8").read().split()
        self.ids = {word: index for index, word in enumerate(self.list)}


def read(path, source, target):
    lines = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]
    return [([source.ids[word] for word in a.split()], [target.ids[word] for word in b.split()]) for a, b in lines]


def batches(pairs):
    """Pairs of like length together, the batches in random order."""
    order = sorted(torch.randperm(len(pairs)).tolist(), key=lambda i: len(pairs[i][1]) * 32 + len(pairs[i][0]))
    for start in torch.randperm(-(-len(order) // BATCH)).tolist():
        rows = [pairs[i] for i in order[start * BATCH:(start + 1) * BATCH]]
        yield padded([a for a, _ in rows], PAD), padded([[START] + b + [END] for _, b in rows], PAD)


def exact(network, pairs):
    with torch.no_grad():
        return sum(translate(network, torch.tensor([a]))[0] == b for a, b in pairs) / len(pairs)


def main():
    data, epochs = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 14
    torch.manual_seed(0)
    torch.set_num_threads(1)
    source, target = Words(os.path.join(data, "source.txt")), Words(os.path.join(data, "target.txt"))
    train, held, fresh = (read(os.path.join(data, name + ".tsv"), source, target) for name in ("train", "held-out", "patterns"))
    train += train[:2] * 20  # the two sentences that stand alone in the grammar
    network = Translator(MODEL)
    weights = network.parameters(network.shapes(len(source.list), len(target.list)))
    print(sum(value.numel() for value in weights), "weights")
    steps = epochs * -(-len(train) // BATCH)
    optimizer = torch.optim.Adam(weights, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.08)
    began = time.time()
    for epoch in range(epochs):
        total = 0.0
        for a, b in batches(train):
            logits = network.decode(b[:, :-1], *network.encode(a, PAD, 0.05), 0.05)
            loss = F.cross_entropy(logits.flatten(0, 1), b[:, 1:].flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / (steps / epochs):.4f}, {exact(network, held[:100]):.2f} of 100, {time.time() - began:.0f} s", flush=True)
    save(os.path.join(HERE, "model.safetensors"), network.weights)
    for name in ("source.txt", "target.txt", "held-out.tsv", "patterns.tsv"):
        shutil.copy(os.path.join(data, name), HERE)
    print(f"exact matches: {exact(network, held):.3f} of held-out sentences, {exact(network, fresh):.3f} of held-out patterns")


if __name__ == "__main__":
    main()
