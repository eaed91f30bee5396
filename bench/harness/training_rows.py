# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folder of a training row: a description, seeded weights, one batch, and the loss of the first step in f64."""
import json
import math

import numpy

from . import training
from .arrays import normal, write_safetensors


def linear(name, rows, columns, bias):
    yield f"{name}.weight", (rows, columns)
    if bias:
        yield f"{name}.bias", (rows,)


def norm(name, n):
    yield f"{name}.weight", (n,)
    yield f"{name}.bias", (n,)


def attention(name, d):
    n, bias = d["size"], d["attention"]["bias"]
    for part in ("query", "key", "value", "output"):
        yield from linear(f"{name}.{part}", n, n, bias.get(part))
    yield from norm(f"{name}.norm", n)


def stack(name, d):
    for layer in range(d[name]["layers"]):
        place = f"{name}.{layer}"
        yield from attention(f"{place}.attention", d)
        if name == "decoder" and "encoder" in d:
            yield from attention(f"{place}.cross", d)
        yield from linear(f"{place}.ffn.in", d["ffn"]["size"], d["size"], True)
        yield from linear(f"{place}.ffn.out", d["size"], d["ffn"]["size"], True)
        yield from norm(f"{place}.ffn.norm", d["size"])
    if d.get("norm", {}).get("after-stack"):
        yield from norm(f"{name}.norm", d["size"])


def shapes_of(d):
    """Shapes of all tensors by name."""
    n, c = d["size"], d["classifier"]
    for side, name in (("source", "encoder"), ("target", "decoder")):
        if side not in d:
            continue
        yield f"{side}.embedding.weight", (d[side]["vocabulary"], n)
        if d.get("position", {}).get("kind") == "learned":
            yield f"{side}.position.weight", (d["position"]["length"], n)
        if "norm" in d.get("embedding", {}):
            yield from norm(f"{side}.embedding.norm", n)
        yield from stack(name, d)
    if "hidden" in c:
        yield from linear("classifier.hidden", n, n, True)
    if c.get("tied"):
        return
    yield from linear("classifier", d["target"]["vocabulary"] if "target" in d else c["size"], n, c.get("bias"))


def weights_of(d):
    """Xavier's normal matrices, tables with rows of about unit length, biases of zero, norms of one."""
    random = numpy.random.default_rng(11)
    for name, shape in shapes_of(d):
        if len(shape) == 1:
            yield name, numpy.full(shape, float(name.endswith("norm.weight")), numpy.float32)
        elif ".embedding." in name or ".position." in name:
            yield name, normal(random, *shape, scale=1 / math.sqrt(shape[1]))
        else:
            yield name, normal(random, *shape, scale=math.sqrt(2 / sum(shape)))


def batch_of(row, d):
    """Ids without padding. A reference begins where the one before ends, so that the references are one text, as llm.c reads it."""
    random = numpy.random.default_rng(12)
    b, s, t = (row.sizes[name] for name in "bst")
    batch = {}
    if s:
        batch["source"] = random.integers(4, d["source"]["vocabulary"], (b, s)).astype(numpy.int32)
    if t:
        batch["reference"] = random.integers(4, d["target"]["vocabulary"], (b, t)).astype(numpy.int32)
        batch["reference"][:-1, -1] = d["target"].get("start", 2)
    else:
        batch["labels"] = random.integers(0, d["classifier"]["size"], b).astype(numpy.int32)
    return batch


def home_of(shape, cache):
    """Description and weights of a shape, made once."""
    folder = cache / f"train-{shape.name}"
    if not (folder / "ready").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_safetensors(folder / "weights.safetensors", dict(weights_of(shape.description())))
        (folder / "ready").touch()
    (folder / "model.json").write_text(json.dumps(shape.description(), indent=1))
    return folder


def make_train(row, folder, cache):
    shape = training.SHAPES[row.sizes["shape"]]
    home = home_of(shape, cache)
    batch = batch_of(row, shape.description())
    for name, values in batch.items():
        numpy.save(folder / f"{name}.npy", values)
    answer = cache / f"{row.name if shape.recipe else row.name.rsplit('.', 1)[0]}.loss.npy"
    if not answer.exists():
        from .peers.trained import loss64
        numpy.save(answer, loss64(home, batch))
    expected = float(numpy.load(answer)[0])
    spec = {"model": str(home / "model.json"), "weights": "", "function": "loss", "inputs": {name: f"{name}.npy" for name in batch},
            "output": "loss", "dropout": training.dropout(row)}
    return spec, lambda found: abs(float(found.reshape(-1)[0]) - expected) / expected
