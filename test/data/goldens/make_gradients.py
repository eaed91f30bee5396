#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of a description's loss by PyTorch's autograd: the goldens of test/data/goldens/training, and those of any other description.

usage: make_gradients.py [CASE …]              writes the goldens, in an environment made by scripts/goldens-setup
       make_gradients.py --model=FILE -o DIR [--inputs=DIR | --shape=B,S,T] [--seed=N --step=N] [--type=f32|f64] [--check=DIR]
       make_gradients.py --random=N -o DIR     writes a random description to DIR/model.json and its gradients, see random_description

A function of a case is a folder with loss.sum.npy [1], tokens.npy [1] and gradients.safetensors, which has the names of the description.
`gradients` is computed without dropout, `gradients-dropout` with it. Everything is computed in f64 from f32 weights and stored as f32.

--inputs  .npy files: source, and reference or labels; lengths and flags of masks as the description names them
--shape   draws inputs and writes them to DIR/inputs
--seed    applies dropout; the key of its generator is (seed, step)
--check   compares DIR/gradients.safetensors with the gradients of this script; the status is 1 if they differ

The loss is a sum over the ids of the reference that are not padding, or over the labels of an encoder with classes; it is not divided.
With the smoothing s, the id y has the probability 1 - s, and other words share s equally. `training.loss.over` names these words: `all` V
(y gets its share too), the V - 1 `others`, or the V - 2 `others-but-padding`. The loss is the cross entropy with this distribution. A
Kullback-Leibler divergence differs from it by a constant and has the same gradient.

Dropout (`training.dropout`) is applied to the rows that enter the first layer (`embedding`), to attention weights (`attention`), to
hidden features (`ffn`), to what a residual connection adds (`sublayer`) and to the rows that the classifier reads (`classifier`). A place
with a rate above 0 is a site; sites are counted from 0 in the order in which the loss computes them. A number is dropped if its word of
Philox4x32-10 is below round(2^32 p), else it is multiplied by f32(1 / (1 - p)). The counter is (column block, position, example, site),
in attention (key block, query, example * heads + head, site). The four words of a counter belong to the columns c, c + 16, c + 32 and
c + 48 of a block of 64 columns, where c is the counter's first word modulo 16.
"""
import argparse
import json
import os
import random
import sys

import numpy as np
import torch
import torch.nn.functional as F

from philox import check as check_philox
from philox import philox
from twin import Model, read_safetensors, seeded, write_safetensors

HERE = os.path.dirname(os.path.abspath(__file__))
# Batch, source length, target length, real lengths of the sources.
CASES = {
    "couplet": (3, 9, 7, [9, 5, 7]),         # post-norm, scaled tables, Moon Hotel's translation
    "classify": (4, 70, 0, [70, 1, 66, 33]), # the sum of the rows, a hidden layer before the classes
    "annotated": (3, 8, 9, [8, 3, 6]),       # pre-norm, a norm after each stack, smoothing without padding
    "one-table": (2, 7, 8, [4, 7]),          # one table for both sides and the classes, a factor of the logits
    "lecture": (3, 6, 0, [6, 2, 4]),         # a single head and layer, the mean of the rows
    "kyubyong": (2, 7, 7, [7, 5]),           # activated projections, no output projection, smoothing over all words
    "causal": (2, 0, 67, None),              # GPT-2's decoder: pre-norm, learned positions, tied classes
    "rotary": (2, 0, 11, None),              # Llama's decoder: RMS norms, rotary positions, shared heads, gates
}
SEED, STEP = 20170612, 3
TOLERANCE = 1e-5  # of the largest gradient of a tensor


class Dropout:
    """Dropout of one step, a site a call."""

    def __init__(self, rates, seed, step):
        self.rates, self.key, self.site = rates, (seed % 2**32, step % 2**32), 0

    def words(self, columns, positions, examples):
        """[examples' shape, columns]; positions and examples broadcast."""
        blocks = -(-columns // 64)
        counter = np.broadcast_arrays(np.arange(16 * blocks), positions[..., None], examples[..., None], self.site)
        words = np.stack(philox([part.astype(np.uint64) for part in counter], self.key), -1)
        words = words.reshape(*words.shape[:-2], blocks, 16, 4).swapaxes(-1, -2)
        return words.reshape(*words.shape[:-3], 64 * blocks)[..., :columns]

    def __call__(self, place, x):
        rate = self.rates.get(place, 0)
        if rate == 0:
            return x
        if x.dim() == 4:  # [B, heads, queries, keys]
            words = self.words(x.shape[3], np.arange(x.shape[2]), np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1))
        elif x.dim() == 3:  # [B, rows, columns]
            words = self.words(x.shape[2], np.arange(x.shape[1]), np.arange(len(x))[:, None])
        else:  # one row a text
            words = self.words(x.shape[1], np.zeros(1, int), np.arange(len(x)))
        self.site += 1
        kept = torch.from_numpy(words >= round(2**32 * rate))
        return x * kept * float(np.float32(1 / (1 - rate)))


def cross_entropy(model, logits, ids, padding):
    """The sum over rows of logits [N, V] with the smoothed distribution of ids [N]."""
    loss = model.json.get("training", {}).get("loss", {})
    smoothing, over, words = loss.get("smoothing", 0), loss.get("over", "all"), logits.shape[1]
    others = {"all": words, "others": words - 1, "others-but-padding": words - 2}[over]
    if over == "others-but-padding" and padding is None:
        raise ValueError("training.loss.over: expected all or others without padding, found others-but-padding")
    goal = torch.full_like(logits, smoothing / others)
    if over == "others-but-padding":
        goal[:, padding] = 0
    share = 1 - smoothing + (smoothing / others if over == "all" else 0)
    goal[torch.arange(len(ids)), ids] = share
    return -(goal * F.log_softmax(logits, -1)).sum()


def loss_of(model, inputs):
    """The sum of the loss, and the number of tokens in it."""
    memory = lengths = None
    if "encoder" in model.json:
        memory, lengths = model.encode(inputs)
    if "target" not in model.json:
        labels = inputs["labels"].long()
        return cross_entropy(model, model.logits(model.pool(memory, lengths["source"])), labels, None), len(labels)
    reference, side = inputs["reference"].long(), model.json["target"]
    target = torch.cat([torch.full_like(reference[:, :1], side.get("start", 2)), reference[:, :-1]], 1)
    lengths = {**(lengths or {}), "target": model.lengths("target", inputs, "reference")}
    logits = model.logits(model.decode(target, inputs, lengths, memory)).flatten(0, 1)
    padding = side.get("padding", 0)
    real = reference.flatten() != padding
    return cross_entropy(model, logits[real], reference.flatten()[real], padding), int(real.sum())


def gradients_of(path, inputs, dtype, dropout=None, creates=False):
    """The model after its backward pass, the loss and the number of tokens. `dropout`: (seed, step)."""
    model = Model(path, dtype, creates)
    if model.json.get("layout", "batch-first") != "batch-first":
        raise ValueError(f"{path}: layout: expected batch-first, found {model.json['layout']}")
    if dropout:
        model.dropout = Dropout(model.json.get("training", {}).get("dropout", {}), *dropout)
    loss, tokens = loss_of(model, inputs)
    loss.backward()
    return model, loss.item(), tokens


def arrays(model):
    return {name: leaf.grad.numpy() for name, leaf in model.leaves.items()}


def scale_of(name, gradients):
    """The largest gradient that a difference is compared with: the tensor's, of a key's bias, whose gradient is zero, its projections'."""
    names = [name]
    if name.endswith(".key.bias"):
        prefix = name[:-len("key.bias")]
        names = [other for other in gradients if other.startswith(tuple(prefix + part + "." for part in ("query", "key", "value")))]
    return max(np.abs(gradients[other]).max() for other in names)


def difference(found, expected):
    """The largest difference over its scale, and its tensor."""
    return max((np.abs(found[name] - expected[name]).max() / (scale_of(name, expected) or 1), name) for name in expected)


def write(folder, model, loss, tokens):
    os.makedirs(folder, exist_ok=True)
    np.save(os.path.join(folder, "loss.sum.npy"), np.array([loss], np.float32))
    np.save(os.path.join(folder, "tokens.npy"), np.array([tokens], np.int32))
    write_safetensors(os.path.join(folder, "gradients.safetensors"),
                      {name: np.ascontiguousarray(value, np.float32) for name, value in arrays(model).items()})


def draw_inputs(description, batch, source, target, lengths):
    """Ids with padding after each text, labels; seeded by the names of the inputs."""
    def ids(name, side, rows):
        u = seeded(99, name, (batch, rows), 3).astype(np.float64)
        return ((u + 1) / 2 * (description[side]["vocabulary"] - 1)).astype(np.int32) + 1

    inputs = {}
    if "source" in description:
        inputs["source"] = ids("source", "source", source)
        for row, real in enumerate(lengths or []):
            inputs["source"][row, real:] = 0
    if "target" in description:
        inputs["reference"] = ids("reference", "target", target)
        inputs["reference"][-1, -(target // 3):] = 0
    else:
        inputs["labels"] = (np.arange(batch) * 7 % description["classifier"]["size"]).astype(np.int32)
    return inputs


def read_inputs(folder):
    return {name[:-4]: np.load(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".npy")}


def write_inputs(folder, inputs):
    os.makedirs(folder, exist_ok=True)
    for name, value in inputs.items():
        np.save(os.path.join(folder, name + ".npy"), value)


def tensors(inputs):
    return {name: torch.from_numpy(value) for name, value in inputs.items()}


def make(name):
    """Both functions of a case; prints how far gradients in f32 are from those in f64."""
    folder = os.path.join(HERE, "training", name)
    path = os.path.join(folder, "model.json")
    with open(path, encoding="utf-8") as file:
        inputs = draw_inputs(json.load(file), *CASES[name])
    write_inputs(os.path.join(folder, "inputs"), inputs)
    for function, dropout in (("gradients", None), ("gradients-dropout", (SEED, STEP))):
        wide, loss, tokens = gradients_of(path, tensors(inputs), torch.float64, dropout, creates=True)
        write(os.path.join(folder, function), wide, loss, tokens)
        if wide.file:
            write_safetensors(os.path.join(folder, wide.file), wide.stored)
        narrow, _, _ = gradients_of(path, tensors(inputs), torch.float32, dropout)
        error, tensor = difference(arrays(narrow), arrays(wide))
        sites = wide.dropout.site if dropout else 0
        print(f"{name} {function}: loss {loss:.6f} of {tokens} tokens, {len(wide.leaves)} tensors, {sites} sites; "
              f"f32 differs by {error:.1e} ({tensor})")


def random_description(seed):
    """A small description with random sizes, norms, activations, positions, smoothing and dropout."""
    r = random.Random(seed)
    kind, heads, shared = r.choice(("encoder", "decoder", "encoder-decoder")), r.choice((1, 2, 3, 4)), r.random() < 0.3
    size = heads * r.randrange(4, 24, 2)
    words, place = r.randrange(11, 90), r.choice(("post", "pre", "both", "output"))
    attention = {"heads": heads, "bias": {part: r.random() < 0.5 for part in ("query", "key", "value", "output")}}
    attention |= {"key-value-heads": 1} if shared else {}
    attention |= {"head-size": 2 * r.randrange(3, 20)} if r.random() < 0.3 else {}
    attention |= {"softcap": 20.0} if r.random() < 0.2 else {}
    position = r.choice(({"kind": "sinusoidal"}, {"kind": "learned", "length": 80}, {"kind": "rotary"}, None))
    position = None if position == {"kind": "rotary"} and attention.get("head-size", size // heads) % 2 else position
    rate = lambda: r.choice((0, 0.1, 0.3))  # noqa: E731: a word for each draw
    description = {
        "heddle": 1, "kind": kind, "size": size, "weights": {"seed": seed}, "position": position, "attention": attention,
        "ffn": {"size": r.randrange(5, 150), "activation": r.choice(("relu", "gelu", "gelu-tanh", "silu")), "gated": r.random() < 0.3},
        "norm": {"kind": r.choice(("layer", "rms")), "place": place, "after-stack": r.random() < 0.5},
        "training": {"loss": {"smoothing": rate(), "over": r.choice(("all", "others"))},
                     "dropout": {place: rate() for place in ("embedding", "attention", "ffn", "sublayer", "classifier")}},
    }
    if kind != "decoder":
        description |= {"source": {"vocabulary": words}, "encoder": {"layers": r.randrange(1, 4), "mask": "lengths(source)"}}
    if kind == "encoder":
        description["encoder"]["pool"] = r.choice(("mean", "cls", "max", "mean-sqrt"))
        return description | {"classifier": {"size": r.randrange(2, 70), "bias": r.random() < 0.5}}
    description |= {"target": {"vocabulary": words, "limit": 80}, "decoder": {"layers": r.randrange(1, 4), "mask": "causal"}}
    description["decoder"] |= {"cross-mask": "lengths(source)"} if kind == "encoder-decoder" else {}
    return description | {"classifier": {"bias": r.random() < 0.5, "tied": r.random() < 0.5, "loss": True}}


def options():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--model")
    parser.add_argument("--random", type=int)
    parser.add_argument("-o", dest="output")
    parser.add_argument("--inputs")
    parser.add_argument("--shape", default="3,9,7")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--step", type=int, default=0)
    parser.add_argument("--type", choices=("f32", "f64"), default="f64")
    parser.add_argument("--check")
    parser.add_argument("cases", nargs="*")
    return parser.parse_args()


def of_any(flags):
    """Gradients of one description; the status of the program."""
    if flags.random is not None:
        os.makedirs(flags.output, exist_ok=True)
        flags.model = os.path.join(flags.output, "model.json")
        with open(flags.model, "w", encoding="utf-8") as file:
            json.dump(random_description(flags.random), file, indent=2)
    with open(flags.model, encoding="utf-8") as file:
        description = json.load(file)
    if flags.inputs:
        inputs = read_inputs(flags.inputs)
    else:
        batch, source, target = map(int, flags.shape.split(","))
        inputs = draw_inputs(description, batch, source, target, [max(1, source - 2 * row) for row in range(batch)])
        write_inputs(os.path.join(flags.output, "inputs"), inputs)
    dropout = None if flags.seed is None else (flags.seed, flags.step)
    model, loss, tokens = gradients_of(flags.model, tensors(inputs), torch.float32 if flags.type == "f32" else torch.float64, dropout)
    if flags.output:
        write(flags.output, model, loss, tokens)
    print(f"loss {loss:.6f} of {tokens} tokens, {len(model.leaves)} tensors")
    if not flags.check:
        return 0
    found = read_safetensors(os.path.join(flags.check, "gradients.safetensors"))
    if missing := set(found) ^ set(model.leaves):
        print(f"expected gradients of the same tensors, found in one alone: {', '.join(sorted(missing))}")
        return 1
    error, tensor = difference(found, arrays(model))
    narrow, _, _ = gradients_of(flags.model, tensors(inputs), torch.float32, dropout)
    own, own_tensor = difference(arrays(narrow), arrays(model))
    print(f"{flags.check} differs by {error:.1e} of the largest gradient ({tensor}), PyTorch in f32 by {own:.1e} ({own_tensor})")
    return int(error > TOLERANCE)


if __name__ == "__main__":
    check_philox()
    given = options()
    if given.model or given.random is not None:
        sys.exit(of_any(given))
    for case in given.cases or CASES:
        make(case)
