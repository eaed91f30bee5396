#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the goldens of this folder with PyTorch. The tests read them and need no Python package.

usage: make.py [CASE ...]      in an environment made by scripts/goldens-setup

A case is a folder: model.json, inputs/NAME.npy, and one folder a function with what it must return. Weights are seeded
(docs/model-description.md) and none are stored, but for a case that names a file: seeded norms are 1 and 0, those of a
file are not. Everything is computed in f64 from f32 weights and stored as f32. Where
torch.nn.Transformer can express a case, both it and the plain functions below are run and must agree.
"""
import json
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
# Input shapes: batch, source length, target length, and the real lengths of each row (None: no such mask).
CASES = {
    "base": dict(B=3, S=53, T=37, source=[53, 20, 41], target=[37, 37, 12]),
    "pre-norm-gelu": dict(B=3, S=9, T=6, source=[9, 4, 1], target=[6, 2, 5]),
    "odd-sizes": dict(B=2, S=5, T=19, source=[3, 5], target=None),
    "keep-and-hide": dict(B=2, S=6, T=5, source=None, target=None),
    "classifier": dict(B=4, S=17, T=0, source=[17, 1, 16, 8], target=None),
    "stored-weights": dict(B=2, S=7, T=5, source=[7, 3], target=[5, 5]),
    "sequence-first": dict(B=3, S=7, T=5, source=[7, 4, 6], target=[5, 5, 2]),
    "long": dict(B=1, S=1100, T=530, source=[1037], target=[530]),
}
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}
EXTRAS = ["source.keep", "target.hide"]


def uniform(seed, name, shape, fan_in):
    """The documented generator: ten lines, the same in lib/Pack."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    z = np.arange(math.prod(shape), dtype=np.uint64) ^ np.uint64(state ^ seed)
    with np.errstate(over="ignore"):
        z += np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    u = ((z ^ z >> np.uint64(31)) >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0
    return (u.astype(np.float32) * np.float32(math.sqrt(3.0 / fan_in))).reshape(shape)


def seeded(seed, name, shape, fan_in):
    if ".norm." in name:
        return np.full(shape, 1.0 if name.endswith("weight") else 0.0, np.float32)
    return uniform(seed, name, shape, fan_in)


class Model:
    """A description with its weights, and the functions that it means."""

    def __init__(self, path):
        self.json = json.load(open(path, encoding="utf-8"))
        j, a = self.json, self.json["attention"]
        self.size, self.heads, self.hidden = j["size"], a["heads"], j["ffn"]["size"]
        self.head = a.get("head-size", self.size // self.heads)
        self.value = a.get("value-size", self.head)
        self.bias = dict({"query": False, "key": False, "value": False, "output": True}, **a.get("bias", {}))
        self.activation = ACTIVATIONS[j["ffn"].get("activation", "relu")]
        norm = j.get("norm", {})
        self.pre, self.after, self.epsilon = norm.get("place") == "pre", norm.get("after-stack", False), norm.get("epsilon", 1e-5)
        self.file = j["weights"] if isinstance(j["weights"], str) else None
        self.stored = {}  # tensors of the file, by name
        self.weights = {}  # attention weights, by result name

    def weight(self, name, *shape, fan_in=None):
        if not self.file:
            return torch.from_numpy(seeded(self.json["weights"]["seed"], name, shape, fan_in or shape[-1])).double()
        if name not in self.stored:
            values = uniform(5, name, shape, 12 if ".norm." in name else fan_in or shape[-1])
            self.stored[name] = values + np.float32(name.endswith("norm.weight"))
        return torch.from_numpy(self.stored[name]).double()

    def linear(self, name, x, rows, bias):
        columns = x.shape[-1]
        b = self.weight(name + ".bias", rows, fan_in=columns) if bias else None
        return F.linear(x, self.weight(name + ".weight", rows, columns), b)

    def attention(self, prefix, x, memory, allowed, result):
        def heads(part, rows, width):
            y = self.linear(f"{prefix}.{part}", rows, self.heads * width, self.bias[part])
            return y.view(*y.shape[:2], self.heads, width).transpose(1, 2)
        q, k = heads("query", x, self.head), heads("key", memory, self.head)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.head)
        p = scores.masked_fill(~allowed[:, None], -math.inf).softmax(-1)
        self.weights[result] = p if self.json["attention"].get("return-weights") == "heads" else p.mean(1)
        y = (p @ heads("value", memory, self.value)).transpose(1, 2).flatten(2)
        return self.linear(f"{prefix}.output", y, self.size, self.bias["output"])

    def normal(self, name, x):
        weight, bias = (self.weight(f"{name}.norm.{part}", self.size) for part in ("weight", "bias"))
        return F.layer_norm(x, (self.size,), weight, bias, self.epsilon)

    def sublayer(self, name, x, f):
        return x + f(self.normal(name, x)) if self.pre else self.normal(name, x + f(x))

    def ffn(self, prefix, x):
        bias = self.json["ffn"].get("bias", True)
        return self.linear(f"{prefix}.out", self.activation(self.linear(f"{prefix}.in", x, self.hidden, bias)), self.size, bias)

    def stack(self, name, x, allowed, memory=None, memory_allowed=None):
        for n in range(self.json[name]["layers"]):
            p = f"{name}.{n}"
            x = self.sublayer(f"{p}.attention", x, lambda y: self.attention(f"{p}.attention", y, y, allowed, f"{p}.weights"))
            if memory is not None:
                x = self.sublayer(f"{p}.cross", x, lambda y: self.attention(f"{p}.cross", y, memory, memory_allowed, f"{p}.cross-weights"))
            x = self.sublayer(f"{p}.ffn", x, lambda y: self.ffn(f"{p}.ffn", y))
        return self.normal(name, x) if self.after else x

    def embed(self, side, x):
        if x.dtype != torch.float64:
            table = self.weight(f"{side}.embedding.weight", self.json[side]["vocabulary"], self.size)
            x = F.embedding(x, table) * self.json.get("embedding", {}).get("scale", 1.0)
        if self.json.get("position", {}) is None:
            return x
        i = torch.arange(self.size, dtype=torch.float64)
        angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] / 10000 ** (2 * (i // 2) / self.size)
        return x + torch.where(i % 2 == 0, angle.sin(), angle.cos())

    def classify(self, x):
        if "classifier" not in self.json:
            return {"output": x}
        side = "target" if "target" in self.json else "source"
        classes = self.json["classifier"].get("size", self.json[side].get("vocabulary"))
        return {"logits": self.linear("classifier", x, classes, self.json["classifier"]["bias"])}


def random_inputs(model, name, shape):
    """The inputs of a case, batch first. Vectors are seeded as well; ids avoid the padding id inside a text."""
    B, inputs = shape["B"], {}
    for side, length in (("source", shape["S"]), ("target", shape["T"])):
        if side not in model.json or not length:
            continue
        size, lengths = model.json[side]["vocabulary"], shape[side]
        u = seeded(99, f"{name}.{side}", (B, length, model.size), 3)
        if size is None:
            inputs[side] = torch.from_numpy(u)
        else:
            inputs[side] = torch.from_numpy(((u[..., 0].astype(np.float64) + 1) / 2 * (size - 1)).astype(np.int32) + 1)
            for b, real in enumerate(lengths or []):
                inputs[side][b, real:] = 0
        if lengths:
            inputs[f"{side}.lengths"] = torch.tensor(lengths, dtype=torch.int32)
    if name == "keep-and-hide":
        inputs["source.keep"] = torch.tensor([[1, 1, 1, 0, 0, 0], [1, 0, 1, 1, 0, 1]], dtype=torch.bool)
        inputs["target.hide"] = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]], dtype=torch.bool)
    return inputs


def key_mask(inputs, side, length, batch):
    """[B, keys]: which keys of a side may be seen."""
    if f"{side}.lengths" in inputs:
        return torch.arange(length) < inputs[f"{side}.lengths"][:, None]
    if f"{side}.keep" in inputs:
        return inputs[f"{side}.keep"]
    if f"{side}.hide" in inputs:
        return ~inputs[f"{side}.hide"]
    return torch.ones(batch, length, dtype=torch.bool)


def transformer_outputs(model, source, target, source_keys, target_keys):
    """The same by torch.nn.Transformer, in-projection biases at zero."""
    t = torch.nn.Transformer(model.size, model.heads, model.json["encoder"]["layers"], model.json["decoder"]["layers"],
                             model.hidden, 0.0, batch_first=True, layer_norm_eps=model.epsilon).double().eval()
    state = {}
    for name, value in t.state_dict().items():
        ours = name.replace(".layers", "").replace("self_attn", "attention").replace("multihead_attn", "cross")
        ours = ours.replace("linear1", "ffn.in").replace("linear2", "ffn.out").replace("out_proj", "output")
        prefix = ours.rsplit(".", 1)[0]
        if "in_proj_weight" in name:
            value = torch.cat([model.weight(f"{prefix}.{part}.weight", model.size, model.size) for part in ("query", "key", "value")])
        elif "in_proj_bias" in name:
            value = torch.zeros_like(value)
        elif "norm" not in name:
            value = model.weight(ours, *value.shape, fan_in=model.hidden if ours.endswith("ffn.out.bias") else model.size if ours.endswith("bias") else None)
        state[name] = value
    t.load_state_dict(state)
    causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
    masks = dict(src_key_padding_mask=~source_keys, memory_key_padding_mask=~source_keys)
    return t(source, target, tgt_mask=causal, tgt_key_padding_mask=~target_keys, **masks)


def compute(model, inputs, shape, name):
    """{function: {result: tensor}}, batch first."""
    returns = "return-weights" in model.json["attention"]
    source_keys = key_mask(inputs, "source", shape["S"], shape["B"])
    source = model.embed("source", inputs["source"].double() if inputs["source"].is_floating_point() else inputs["source"])
    memory = model.stack("encoder", source, source_keys[:, None, :].expand(-1, shape["S"], -1))
    encoder_weights = dict(model.weights) if returns else {}
    if model.json["kind"] == "encoder":
        return {"encode": {**model.classify(memory), **encoder_weights}}
    model.weights.clear()
    target_keys = key_mask(inputs, "target", shape["T"], shape["B"])
    causal = torch.ones(shape["T"], shape["T"], dtype=torch.bool).tril()
    target = model.embed("target", inputs["target"].double() if inputs["target"].is_floating_point() else inputs["target"])
    output = model.stack("decoder", target, causal & target_keys[:, None, :], memory, source_keys[:, None, :].expand(-1, shape["T"], -1))
    if name == "base":
        other = transformer_outputs(model, source, target, source_keys, target_keys)
        difference = ((output - other).abs().max() / other.abs().max()).item()
        print(f"  torch.nn.Transformer differs by {difference:.1e}")
        assert difference < 1e-12
    return {"encode": {"memory": memory, **encoder_weights},
            "decode": {**model.classify(output), **(model.weights if returns else {})}}


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, value in sorted(tensors.items()):
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(value.tobytes() for _, value in sorted(tensors.items())))


def make(name):
    folder, shape = os.path.join(HERE, name), CASES[name]
    model = Model(os.path.join(folder, "model.json"))
    inputs = random_inputs(model, name, shape)
    results = compute(model, inputs, shape, name)
    if model.file:
        write_safetensors(os.path.join(folder, model.file), model.stored)
    exchanged = ("source", "target", "memory", "output", "logits") if model.json.get("layout") == "sequence-first" else ()
    total = 0
    for function, tensors in [("inputs", inputs), *results.items()]:
        os.makedirs(os.path.join(folder, function), exist_ok=True)
        for key, value in tensors.items():
            value = value.transpose(0, 1) if key in exchanged else value
            array = value.contiguous().numpy()
            array = array.astype(np.float32) if array.dtype == np.float64 else array
            path = os.path.join(folder, function, key + ".npy")
            np.save(path, array)
            total += os.path.getsize(path)
    print(f"{name}: {sum(map(len, results.values()))} results, {total // 1024} KiB")


if __name__ == "__main__":
    with torch.no_grad():
        for case in sys.argv[1:] or CASES:
            make(case)
