#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the goldens of this folder with PyTorch. The tests read them and need no Python package.

usage: make.py [CASE ...]      in an environment made by scripts/goldens-setup

A case is a folder: model.json (or model.mlir), inputs/NAME.npy, and one folder a function with its results. Weights are seeded
(docs/model-description.md), or stored in the file that a description names; seeded norms are 1 and 0. twin.py computes everything in f64
from f32 weights, and results are stored as f32. torch.nn.Transformer and twin.py must agree on the case `base`.
"""
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

from twin import Model, seeded, uniform, write_safetensors

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


def transformer_outputs(model, source, target, source_keys, target_keys):
    """The decoder's rows by torch.nn.Transformer, whose in-projection biases are zero."""
    heads, hidden = model.json["attention"]["heads"], model.json["ffn"]["size"]
    t = torch.nn.Transformer(model.size, heads, model.json["encoder"]["layers"], model.json["decoder"]["layers"],
                             hidden, 0.0, batch_first=True, layer_norm_eps=1e-5).double().eval()
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
            value = model.weight(ours, *value.shape, fan_in=hidden if ours.endswith("ffn.out.bias") else model.size if ours.endswith("bias") else None)
        state[name] = value
    t.load_state_dict(state)
    causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
    masks = dict(src_key_padding_mask=~source_keys, memory_key_padding_mask=~source_keys)
    return t(source, target, tgt_mask=causal, tgt_key_padding_mask=~target_keys, **masks)


def compute(model, inputs, shape, name):
    """{function: {result: tensor}}, batch first."""
    returns = "return-weights" in model.json["attention"]
    memory, lengths = model.encode(inputs)
    encoder_weights = dict(model.weights) if returns else {}
    if model.json["kind"] == "encoder":
        return {"encode": {**model.classify(memory, lengths["source"]), **encoder_weights}}
    model.weights.clear()
    lengths["target"] = model.lengths("target", inputs, "target")
    output = model.decode(inputs["target"], inputs, lengths, memory)
    if name == "base":
        source, target = inputs["source"].double(), inputs["target"].double()
        keys = (torch.arange(shape[rows]) < lengths[side][:, None] for side, rows in (("source", "S"), ("target", "T")))
        other = transformer_outputs(model, source, target, *keys)
        difference = ((output - other).abs().max() / other.abs().max()).item()
        print(f"  torch.nn.Transformer differs by {difference:.1e}")
        assert difference < 1e-12
    results = {"encode": {"memory": memory, **encoder_weights},
               "decode": {**model.classify(output), **(model.weights if returns else {})}}
    if "reference" in inputs:
        results["loss"] = {"loss": loss(model, inputs, memory, lengths)}
    return results


def loss(model, inputs, memory, lengths):
    """The decoder reads the start and the reference without its last id."""
    reference = inputs["reference"]
    target = torch.cat([torch.full_like(reference[:, :1], 2), reference[:, :-1]], 1)
    lengths = {**lengths, "target": model.lengths("target", inputs, "reference")}
    output = model.decode(target, inputs, lengths, memory)
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


def make(name):
    folder, transposed, total = os.path.join(HERE, name), (), 0
    if name == "annotated":
        inputs, results, weights = annotated()
        write_safetensors(os.path.join(folder, "weights.safetensors"), weights)
    else:
        model = Model(os.path.join(folder, "model.json"), creates=True)
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
