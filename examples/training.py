# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training of the examples' models: the layers of a description in PyTorch, the training loop, greedy decoding of an
encoder-decoder, and the safetensors format.

Weights are a dictionary under the tensor names that Heddle expects (`heddle inspect MODEL --weights-list`), so that a
checkpoint needs no conversion.
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


class Network:
    """Post-norm layers with ReLU, without a bias on queries, keys and values, as the examples' descriptions have them."""

    def __init__(self, description):
        self.model = description
        self.size, self.heads, self.hidden = description["size"], description["attention"]["heads"], description["ffn"]["size"]
        self.weights = {}

    def parameters(self, shapes):
        self.weights = {name: initial(name, shape).requires_grad_() for name, shape in shapes}
        return self.weights.values()

    def stack_shapes(self, stack, blocks):
        """Every tensor of a stack and its shape, [out, in]."""
        for layer in range(self.model[stack]["layers"]):
            prefix = f"{stack}.{layer}"
            for block in blocks:
                for part in ("query", "key", "value", "output"):
                    yield f"{prefix}.{block}.{part}.weight", (self.size, self.size)
                yield f"{prefix}.{block}.output.bias", (self.size,)
            yield f"{prefix}.ffn.in.weight", (self.hidden, self.size)
            yield f"{prefix}.ffn.in.bias", (self.hidden,)
            yield f"{prefix}.ffn.out.weight", (self.size, self.hidden)
            yield f"{prefix}.ffn.out.bias", (self.size,)
            for block in blocks + ["ffn"]:
                yield f"{prefix}.{block}.norm.weight", (self.size,)
                yield f"{prefix}.{block}.norm.bias", (self.size,)

    def linear(self, name, x):
        return F.linear(x, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"))

    def attention(self, prefix, x, memory, mask):
        def heads(part, rows):
            y = self.linear(f"{prefix}.{part}", rows)
            return y.view(y.shape[0], y.shape[1], self.heads, -1).transpose(1, 2)
        y = F.scaled_dot_product_attention(heads("query", x), heads("key", memory), heads("value", memory), mask)
        return self.linear(f"{prefix}.output", y.transpose(1, 2).flatten(2))

    def residual(self, prefix, x, y, drop):
        gamma, beta = self.weights[f"{prefix}.norm.weight"], self.weights[f"{prefix}.norm.bias"]
        return F.layer_norm(x + F.dropout(y, drop, drop > 0), (self.size,), gamma, beta)

    def stack(self, name, x, mask, memory=None, memory_mask=None, drop=0.0):
        for layer in range(self.model[name]["layers"]):
            prefix = f"{name}.{layer}"
            x = self.residual(f"{prefix}.attention", x, self.attention(f"{prefix}.attention", x, x, mask), drop)
            if memory is not None:
                x = self.residual(f"{prefix}.cross", x, self.attention(f"{prefix}.cross", x, memory, memory_mask), drop)
            hidden = F.relu(self.linear(f"{prefix}.ffn.in", x))
            x = self.residual(f"{prefix}.ffn", x, self.linear(f"{prefix}.ffn.out", hidden), drop)
        return x

    def embed(self, side, ids):
        angle = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, self.size, 2) / self.size)
        positions = torch.stack([angle.sin(), angle.cos()], -1).reshape(ids.shape[1], self.size)
        return F.embedding(ids, self.weights[f"{side}.embedding.weight"]) + positions

    def encode(self, source, padding, drop=0.0):
        """The encoder's output, and the mask of keys that are not padding."""
        mask = (source != padding)[:, None, None, :]
        return self.stack("encoder", self.embed("source", source), mask, drop=drop), mask


class EncoderDecoder(Network):
    """An encoder-decoder; a batch is a pair of id tensors, the second with start and end tokens."""

    def __init__(self, description):
        super().__init__(description)
        self.padding, self.start, self.end = (description["target"][key] for key in ("padding", "start", "end"))

    def shapes(self, source, target):
        yield "source.embedding.weight", (source, self.size)
        yield "target.embedding.weight", (target, self.size)
        yield from self.stack_shapes("encoder", ["attention"])
        yield from self.stack_shapes("decoder", ["attention", "cross"])
        yield "classifier.weight", (target, self.size)

    def decode(self, target, memory, memory_mask, drop=0.0):
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
        return self.linear("classifier", self.stack("decoder", self.embed("target", target), causal, memory, memory_mask, drop))

    def loss(self, source, target):
        logits = self.decode(target[:, :-1], *self.encode(source, self.padding, 0.05), 0.05)
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=self.padding)

    def answers(self, source, limit=30):
        """Greedy decoding of a batch, without caches; tokens behind a sequence's end token are dropped."""
        memory, mask = self.encode(source, self.padding)
        target = torch.full((len(source), 1), self.start)
        while target.shape[1] < limit and not (target == self.end).any(1).all():
            target = torch.cat([target, self.decode(target, memory, mask)[:, -1:].argmax(-1)], 1)
        return [row[1:row.index(self.end)] if self.end in row else row[1:] for row in target.tolist()]

    def exact(self, pairs):
        """Share of pairs whose answer matches word for word."""
        with torch.no_grad():
            return sum(self.answers(torch.tensor([a]))[0] == b for a, b in pairs) / len(pairs)

    def batches(self, pairs):
        for rows in alike(pairs, lambda pair: len(pair[1]) * 32 + len(pair[0])):
            yield padded([a for a, _ in rows], self.padding), padded([[self.start] + b + [self.end] for _, b in rows], self.padding)


class Words:
    """A vocabulary file, one token a line."""

    def __init__(self, path):
        self.list = open(path, encoding="utf-8").read().split()
        self.ids = {word: index for index, word in enumerate(self.list)}


def read_pairs(path, source, target, split=str.split):
    """Pairs of ids from lines "source<TAB>target"."""
    lines = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]
    return [([source.ids[word] for word in split(a)], [target.ids[word] for word in split(b)]) for a, b in lines]


BATCH = 128


def alike(rows, length):
    """Batches of an epoch: rows of similar length, in random order."""
    order = sorted(torch.randperm(len(rows)).tolist(), key=lambda i: length(rows[i]))
    for start in torch.randperm(-(-len(order) // BATCH)).tolist():
        yield [rows[i] for i in order[start * BATCH:(start + 1) * BATCH]]


def begin(epochs):
    """Parses the command line DATA [--epochs N] and seeds PyTorch, on one thread, so that runs are reproducible."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else epochs


def fit(network, shapes, rows, epochs, rate, warm, state):
    """Trains new weights of these shapes with Adam and one cycle of the learning rate, of which a part `warm` rises.

    network.batches(rows) yields the batches of an epoch, network.loss(*batch) is minimised, `state()` is printed as accuracy.
    """
    weights = network.parameters(shapes)
    print(sum(value.numel() for value in weights), "weights")
    steps = epochs * -(-len(rows) // BATCH)
    optimizer = torch.optim.Adam(weights, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=warm)
    began = time.time()
    for epoch in range(epochs):
        total = 0.0
        for batch in network.batches(rows):
            loss = network.loss(*batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / (steps / epochs):.4f}, {state():.3f} right, {time.time() - began:.0f} s", flush=True)


def finish(network, data, folder, names):
    """Saves the weights and copies the model's files of the data to `folder`."""
    save(os.path.join(folder, "model.safetensors"), network.weights)
    for name in names:
        shutil.copy(os.path.join(data, name), folder)


def initial(name, shape):
    if name.endswith(".norm.weight"):
        return torch.ones(shape)
    if len(shape) == 1:
        return torch.zeros(shape)
    if ".embedding." in name:
        return torch.randn(shape)
    return torch.randn(shape) * math.sqrt(2.0 / sum(shape))


def padded(rows, padding):
    return torch.tensor([row + [padding] * (max(map(len, rows)) - len(row)) for row in rows])


def save(path, tensors):
    """Writes a safetensors file: the header's length, the JSON header, the tensors' bytes."""
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
