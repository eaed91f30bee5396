# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the training scripts of the examples share: the layers of a description in PyTorch, and the safetensors format.

Weights are a dictionary under the tensor names that Heddle expects (`heddle inspect MODEL --weights-list`), so that a
checkpoint needs no conversion.
"""
import json
import math
import struct

import torch
import torch.nn.functional as F


class Network:
    """Post-norm layers with ReLU, no bias on queries, keys and values: what the descriptions of the examples ask for."""

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
        """The encoder's output, and which keys are text."""
        mask = (source != padding)[:, None, None, :]
        return self.stack("encoder", self.embed("source", source), mask, drop=drop), mask


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
