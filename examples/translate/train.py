#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the model of this folder with PyTorch and writes its weights.

usage: train.py DATA [--epochs N]       DATA is what sentences.py wrote

Writes model.safetensors, source.txt, target.txt, held-out.tsv and patterns.tsv beside this script, then
measures exact matches. The network is model.json's, spelled out in forty lines under the tensor names
that Heddle expects; scripts/goldens-setup makes the environment it runs in. One core, about ten minutes.
"""
import json
import math
import os
import shutil
import struct
import sys
import time

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = json.load(open(os.path.join(HERE, "model.json"), encoding="utf-8"))
SIZE, HEADS, HIDDEN = MODEL["size"], MODEL["attention"]["heads"], MODEL["ffn"]["size"]
PAD, START, END = (MODEL["target"][key] for key in ("padding", "start", "end"))
BATCH, RATE = 128, 2e-3


def shapes(source, target):
    """Every tensor of the checkpoint and its shape, [out, in]."""
    yield "source.embedding.weight", (source, SIZE)
    yield "target.embedding.weight", (target, SIZE)
    for stack, blocks in (("encoder", ["attention"]), ("decoder", ["attention", "cross"])):
        for layer in range(MODEL[stack]["layers"]):
            prefix = f"{stack}.{layer}"
            for block in blocks:
                for part in ("query", "key", "value", "output"):
                    yield f"{prefix}.{block}.{part}.weight", (SIZE, SIZE)
                yield f"{prefix}.{block}.output.bias", (SIZE,)
            yield f"{prefix}.ffn.in.weight", (HIDDEN, SIZE)
            yield f"{prefix}.ffn.in.bias", (HIDDEN,)
            yield f"{prefix}.ffn.out.weight", (SIZE, HIDDEN)
            yield f"{prefix}.ffn.out.bias", (SIZE,)
            for block in blocks + ["ffn"]:
                yield f"{prefix}.{block}.norm.weight", (SIZE,)
                yield f"{prefix}.{block}.norm.bias", (SIZE,)
    yield "classifier.weight", (target, SIZE)


def initial(name, shape):
    if name.endswith(".norm.weight"):
        return torch.ones(shape)
    if len(shape) == 1:
        return torch.zeros(shape)
    if ".embedding." in name:
        return torch.randn(shape)
    return torch.randn(shape) * math.sqrt(2.0 / sum(shape))


def positions(length):
    angle = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, SIZE, 2) / SIZE)
    return torch.stack([angle.sin(), angle.cos()], -1).reshape(length, SIZE)


def attention(w, prefix, x, memory, mask):
    def heads(part, rows):
        y = F.linear(rows, w[f"{prefix}.{part}.weight"])
        return y.view(y.shape[0], y.shape[1], HEADS, -1).transpose(1, 2)
    y = F.scaled_dot_product_attention(heads("query", x), heads("key", memory), heads("value", memory), mask)
    return F.linear(y.transpose(1, 2).flatten(2), w[f"{prefix}.output.weight"], w[f"{prefix}.output.bias"])


def residual(w, prefix, x, y, drop):
    return F.layer_norm(x + F.dropout(y, drop, drop > 0), (SIZE,), w[f"{prefix}.norm.weight"], w[f"{prefix}.norm.bias"])


def feed_forward(w, prefix, x):
    hidden = F.relu(F.linear(x, w[f"{prefix}.in.weight"], w[f"{prefix}.in.bias"]))
    return F.linear(hidden, w[f"{prefix}.out.weight"], w[f"{prefix}.out.bias"])


def stack(w, name, x, mask, memory=None, memory_mask=None, drop=0.0):
    for layer in range(MODEL[name]["layers"]):
        prefix = f"{name}.{layer}"
        x = residual(w, f"{prefix}.attention", x, attention(w, f"{prefix}.attention", x, x, mask), drop)
        if memory is not None:
            x = residual(w, f"{prefix}.cross", x, attention(w, f"{prefix}.cross", x, memory, memory_mask), drop)
        x = residual(w, f"{prefix}.ffn", x, feed_forward(w, f"{prefix}.ffn", x), drop)
    return x


def encode(w, source, drop=0.0):
    mask = (source != PAD)[:, None, None, :]
    x = F.embedding(source, w["source.embedding.weight"]) + positions(source.shape[1])
    return stack(w, "encoder", x, mask, drop=drop), mask


def decode(w, target, memory, memory_mask, drop=0.0):
    causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
    x = F.embedding(target, w["target.embedding.weight"]) + positions(target.shape[1])
    return F.linear(stack(w, "decoder", x, causal, memory, memory_mask, drop), w["classifier.weight"])


def translate(w, source, limit=30):
    """Greedy, a whole batch at once; sentences that have ended keep their end mark."""
    memory, mask = encode(w, source)
    target = torch.full((len(source), 1), START)
    while target.shape[1] < limit and not (target == END).any(1).all():
        target = torch.cat([target, decode(w, target, memory, mask)[:, -1:].argmax(-1)], 1)
    return [row[1:row.index(END)] if END in row else row[1:] for row in target.tolist()]


class Words:
    def __init__(self, path):
        self.list = open(path, encoding="utf-8").read().split()
        self.ids = {word: index for index, word in enumerate(self.list)}


def read(path, source, target):
    lines = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]
    return [([source.ids[word] for word in a.split()], [target.ids[word] for word in b.split()]) for a, b in lines]


def padded(rows):
    return torch.tensor([row + [PAD] * (max(map(len, rows)) - len(row)) for row in rows])


def batches(pairs):
    """Pairs of like length together, the batches in random order."""
    order = sorted(torch.randperm(len(pairs)).tolist(), key=lambda i: len(pairs[i][1]) * 32 + len(pairs[i][0]))
    for start in torch.randperm(-(-len(order) // BATCH)).tolist():
        rows = [pairs[i] for i in order[start * BATCH:(start + 1) * BATCH]]
        yield padded([a for a, _ in rows]), padded([[START] + b + [END] for _, b in rows])


def exact(w, pairs):
    with torch.no_grad():
        return sum(translate(w, torch.tensor([a]))[0] == b for a, b in pairs) / len(pairs)


def save(path, tensors):
    """The safetensors format: a length, a JSON header, the bytes."""
    header, offset = {}, 0
    for name, value in tensors.items():
        size = value.numel() * 4
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(value.detach().contiguous().numpy().tobytes())


def main():
    data, epochs = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 14
    torch.manual_seed(0)
    torch.set_num_threads(1)
    source, target = Words(os.path.join(data, "source.txt")), Words(os.path.join(data, "target.txt"))
    train, held, fresh = (read(os.path.join(data, name + ".tsv"), source, target) for name in ("train", "held-out", "patterns"))
    train += train[:2] * 20  # the two sentences that stand alone in the grammar
    w = {name: initial(name, shape).requires_grad_() for name, shape in shapes(len(source.list), len(target.list))}
    print(sum(value.numel() for value in w.values()), "weights")
    steps = epochs * -(-len(train) // BATCH)
    optimizer = torch.optim.Adam(w.values(), betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.08)
    began = time.time()
    for epoch in range(epochs):
        total = 0.0
        for a, b in batches(train):
            logits = decode(w, b[:, :-1], *encode(w, a, 0.05), 0.05)
            loss = F.cross_entropy(logits.flatten(0, 1), b[:, 1:].flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / (steps / epochs):.4f}, {exact(w, held[:100]):.2f} of 100, {time.time() - began:.0f} s", flush=True)
    save(os.path.join(HERE, "model.safetensors"), w)
    for name in ("source.txt", "target.txt", "held-out.tsv", "patterns.tsv"):
        shutil.copy(os.path.join(data, name), HERE)
    print(f"exact matches: {exact(w, held):.3f} of held-out sentences, {exact(w, fresh):.3f} of held-out patterns")


if __name__ == "__main__":
    main()
