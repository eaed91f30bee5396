#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the goldens of this folder with PyTorch. The tests read them and need no Python package.

usage: make.py [CASE ...]      in an environment made by scripts/goldens-setup

A case is a folder: model.json (or model.mlir), inputs/NAME.npy, and one folder a function with what it must return. Weights are seeded
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
    "walk-through": dict(B=3, S=11, T=9, source=[11, 4, 7], target=[9, 5, 9]),
    "step-by-step": dict(B=2, S=10, T=10, source=[8, 10], target=None),
    "learned-rms": dict(B=2, S=8, T=6, source=[8, 3], target=[6, 4]),
    "vision": dict(B=3, S=7, T=0, source=None, target=None),
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
        self.shared = a.get("key-value-heads", self.heads)
        self.head = a.get("head-size", self.size // self.heads)
        self.value = a.get("value-size", self.head)
        self.bias = dict({"query": False, "key": False, "value": False, "output": True}, **a.get("bias", {}))
        self.activation = ACTIVATIONS[j["ffn"].get("activation", "relu")]
        norm = j.get("norm", {})
        self.pre, self.after = norm.get("place") == "pre", norm.get("after-stack", False)
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

    def of(self, stack, key):
        """A shared object as it is for a stack; None where it is null."""
        own, shared = self.json[stack].get(key, {}), self.json.get(key, {})
        return None if own is None or shared is None else {**shared, **own}

    def linear(self, name, x, rows, bias, convolution=False):
        columns = x.shape[-1]
        b = self.weight(name + ".bias", rows, fan_in=1 if convolution else columns) if bias else None
        if convolution:
            return F.conv1d(x.transpose(1, 2), self.weight(name + ".weight", rows, columns, 1), b).transpose(1, 2)
        return F.linear(x, self.weight(name + ".weight", rows, columns), b)

    def project(self, prefix, part, x, width):
        """[B, heads, rows, width]; shared keys and values are repeated."""
        a, count = self.json["attention"], self.heads if part == "query" else self.shared
        y = self.linear(f"{prefix}.{part}", x, count * width, self.bias[part])
        y = ACTIVATIONS[a["activation"]](y) if a.get("activation") else y
        if a.get("per-head-projection"):
            y = torch.einsum("btr,hdr->bhtd", y, self.weight(f"{prefix}.{part}.head.weight", count, width, count * width))
        else:
            y = y.view(*y.shape[:2], count, width).transpose(1, 2)
        return y.repeat_interleave(self.heads // count, 1)

    def attention(self, prefix, x, memory, allowed, result):
        a = self.json["attention"]
        q, k = self.project(prefix, "query", x, self.head), self.project(prefix, "key", memory, self.head)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.head)
        p = scores.masked_fill(~allowed[:, None], a.get("hidden-score", -math.inf)).softmax(-1)
        self.weights[result] = p if a.get("return-weights") == "heads" else p.mean(1)
        y = (p @ self.project(prefix, "value", memory, self.value)).transpose(1, 2).flatten(2)
        if not a.get("output-projection", True):
            return y
        return self.linear(f"{prefix}.output", y, self.size, self.bias["output"])

    def normal(self, name, x, norm):
        weight, epsilon = self.weight(f"{name}.norm.weight", self.size), norm.get("epsilon", 1e-5)
        if norm.get("kind") == "rms":
            return F.rms_norm(x, (self.size,), weight, epsilon)
        bias = self.weight(f"{name}.norm.bias", self.size)
        if norm.get("root", True):
            return F.layer_norm(x, (self.size,), weight, bias, epsilon)
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + epsilon) * weight + bias

    def sublayer(self, name, x, f):
        norm = self.of(name.split(".")[0], "norm")
        return x + f(self.normal(name, x, norm)) if self.pre else self.normal(name, x + f(x), norm)

    def ffn(self, prefix, x):
        bias, convolution = self.json["ffn"].get("bias", True), self.json["ffn"].get("as") == "conv1x1"
        y = self.activation(self.linear(f"{prefix}.in", x, self.hidden, bias, convolution))
        return self.linear(f"{prefix}.out", y, self.size, bias, convolution)

    def stack(self, name, x, allowed, memory=None, memory_allowed=None):
        for n in range(self.json[name]["layers"]):
            p = f"{name}.{n}"
            x = self.sublayer(f"{p}.attention", x, lambda y: self.attention(f"{p}.attention", y, y, allowed, f"{p}.weights"))
            if memory is not None:
                x = self.sublayer(f"{p}.cross", x, lambda y: self.attention(f"{p}.cross", y, memory, memory_allowed, f"{p}.cross-weights"))
            x = self.sublayer(f"{p}.ffn", x, lambda y: self.ffn(f"{p}.ffn", y))
        return self.normal(name, x, self.of(name, "norm")) if self.after else x

    def embed(self, side, x):
        stack = {"source": "encoder", "target": "decoder"}[side]
        if "image" in self.json[side]:
            x = self.patches(x.double())
        embedding, position = self.of(stack, "embedding"), self.of(stack, "position")
        if not x.is_floating_point():
            table = self.weight(f"{side}.embedding.weight", self.json[side]["vocabulary"], self.size).clone()
            if embedding.get("padding-row") == "zero":
                table[0] = 0
            x = F.embedding(x, table) * embedding.get("scale", 1.0)
        x = x.double()
        if position is not None:
            x = x + position.get("scale", 1.0) * self.positions(side, position, x.shape[1])
        norm = embedding.get("norm")
        return x if norm is None else self.normal(f"{side}.embedding", x, norm)

    def patches(self, image):
        """A convolution whose stride is its kernel; the class token before its rows."""
        side, p = self.json["source"], self.json["source"]["patch"]
        weight = self.weight("source.patch.weight", self.size, image.shape[1], p, p)
        x = F.conv2d(image, weight, self.weight("source.patch.bias", self.size, fan_in=p), stride=p).flatten(2).transpose(1, 2)
        if not side.get("class-token"):
            return x
        return torch.cat([self.weight("source.class-token", self.size).expand(len(x), 1, -1), x], 1)

    def positions(self, side, position, rows):
        if position.get("kind") == "learned":
            return self.weight(f"{side}.position.weight", position.get("length", rows), self.size)[:rows]
        i = torch.arange(self.size, dtype=torch.float64)
        angle = torch.arange(rows, dtype=torch.float64)[:, None] / 10000 ** (2 * (i // 2) / self.size)
        return torch.where(i % 2 == 0, angle.sin(), angle.cos())

    def logits(self, x):
        side = "target" if "target" in self.json else "source"
        classes = self.json["classifier"].get("size", self.json[side].get("vocabulary"))
        return self.linear("classifier", x, classes, self.json["classifier"].get("bias", False))

    def classify(self, x):
        if self.json["encoder"].get("pool") == "cls":
            x = x[:, 0]
        if "classifier" not in self.json:
            return {"output": x}
        if self.json["classifier"].get("softmax"):
            return {"probabilities": self.logits(x).softmax(-1)}
        return {"logits": self.logits(x)}


def random_inputs(model, name, shape):
    """The inputs of a case, batch first. Vectors are seeded as well; ids avoid the padding id inside a text."""
    B, inputs = shape["B"], {}
    for side, length in (("source", shape["S"]), ("target", shape["T"])):
        if side not in model.json or not length:
            continue
        if "image" in model.json[side]:
            inputs[side] = torch.from_numpy(seeded(99, f"{name}.{side}", (B, *model.json[side]["image"]), 3))
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
    if model.json.get("classifier", {}).get("loss"): # another text, as long as the target, with padding in it
        inputs["reference"] = inputs["target"].roll(2, 1) % (model.json["target"]["vocabulary"] - 1) + 1
        inputs["reference"][-1, -3:] = 0
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
                             model.hidden, 0.0, batch_first=True, layer_norm_eps=1e-5).double().eval()
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
    source = model.embed("source", inputs["source"])
    memory = model.stack("encoder", source, source_keys[:, None, :].expand(-1, shape["S"], -1))
    encoder_weights = dict(model.weights) if returns else {}
    if model.json["kind"] == "encoder":
        return {"encode": {**model.classify(memory), **encoder_weights}}
    model.weights.clear()
    target_keys = key_mask(inputs, "target", shape["T"], shape["B"])
    causal = torch.ones(shape["T"], shape["T"], dtype=torch.bool).tril()
    target = model.embed("target", inputs["target"])
    memory_keys = source_keys[:, None, :].expand(-1, shape["T"], -1)
    output = model.stack("decoder", target, causal & target_keys[:, None, :], memory, memory_keys)
    if name == "base":
        other = transformer_outputs(model, source, target, source_keys, target_keys)
        difference = ((output - other).abs().max() / other.abs().max()).item()
        print(f"  torch.nn.Transformer differs by {difference:.1e}")
        assert difference < 1e-12
    results = {"encode": {"memory": memory, **encoder_weights},
               "decode": {**model.classify(output), **(model.weights if returns else {})}}
    if "reference" in inputs:
        results["loss"] = {"loss": loss(model, inputs["reference"], memory, memory_keys, causal)}
    return results


def loss(model, reference, memory, memory_keys, causal):
    """The decoder reads the start and the reference without its last id."""
    target = torch.cat([torch.full_like(reference[:, :1], 2), reference[:, :-1]], 1)
    keys = torch.ones_like(reference, dtype=torch.bool)
    if "lengths(target)" in model.json["decoder"]["mask"]:
        keys = torch.arange(reference.shape[1]) < (reference != 0).sum(1)[:, None]
    output = model.stack("decoder", model.embed("target", target), causal & keys[:, None, :], memory, memory_keys)
    return F.cross_entropy(model.logits(output).flatten(0, 1), reference.flatten().long(), ignore_index=0)[None]


def annotated():
    """Multi-head attention of The Annotated Transformer, which is written in the dialect: inputs, results and weights."""
    size, heads, shape = 48, 4, {"source": (2, 5, 48), "key": (2, 7, 48), "value": (2, 7, 48)}
    inputs = {name: torch.from_numpy(uniform(99, f"annotated.{name}", s, 3)) for name, s in shape.items()}
    inputs["mask"] = torch.from_numpy(uniform(99, "annotated.mask", (2, 1, 5, 7), 3)) < 0.5
    inputs["mask"][1, 0, 2] = False  # sees nothing, and so all alike
    weights = {}
    for name in ("query", "key", "value", "output"):
        weights[f"{name}.weight"] = uniform(41, f"{name}.weight", (size, size), size)
        weights[f"{name}.bias"] = uniform(41, f"{name}.bias", (size,), size)
    def linear(name, x):
        return F.linear(x.double(), *(torch.from_numpy(weights[f"{name}.{part}"]).double() for part in ("weight", "bias")))
    def split(name, x):
        return linear(name, x).view(2, -1, heads, size // heads).transpose(1, 2)
    scores = split("query", inputs["source"]) @ split("key", inputs["key"]).transpose(2, 3) / math.sqrt(size // heads)
    p = scores.masked_fill(~inputs["mask"], -1e9).softmax(-1)
    output = linear("output", (p @ split("value", inputs["value"])).transpose(1, 2).flatten(2))
    return inputs, {"encode": {"output": output, "weights": p}}, weights


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
    folder, transposed, total = os.path.join(HERE, name), (), 0
    if name == "annotated":
        inputs, results, weights = annotated()
        write_safetensors(os.path.join(folder, "weights.safetensors"), weights)
    else:
        model = Model(os.path.join(folder, "model.json"))
        inputs = random_inputs(model, name, CASES[name])
        results = compute(model, inputs, CASES[name], name)
        if model.file:
            write_safetensors(os.path.join(folder, model.file), model.stored)
        if model.json.get("layout") == "sequence-first":
            transposed = ("source", "target", "memory", "output", "logits", "probabilities")
    for function, tensors in [("inputs", inputs), *results.items()]:
        os.makedirs(os.path.join(folder, function), exist_ok=True)
        for key, value in tensors.items():
            value = value.transpose(0, 1) if key in transposed else value
            array = value.contiguous().numpy()
            array = array.astype(np.float32) if array.dtype == np.float64 else array
            path = os.path.join(folder, function, key + ".npy")
            np.save(path, array)
            total += os.path.getsize(path)
    print(f"{name}: {sum(map(len, results.values()))} results, {total // 1024} KiB")


if __name__ == "__main__":
    with torch.no_grad():
        for case in sys.argv[1:] or [*CASES, "annotated"]:
            make(case)
