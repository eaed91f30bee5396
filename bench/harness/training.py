# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of training steps: the descriptions of their models, their sizes and their work. No package needed.

A step is the forward pass, the backward pass and Adam's update of all weights, on one batch without padding.
"""
import functools
import json
from dataclasses import dataclass
from pathlib import Path

from .row import Row

KIND = "train"
PEERS = ("torch", "inductor", "llm.c")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BIASES = {"query": True, "key": True, "value": True, "output": True}
RATE = 0.1  # of dropout, in the rows that have it


def gpt2():
    return {"heddle": 1, "kind": "decoder", "size": 768, "weights": "weights.safetensors",
            "target": {"vocabulary": 50257, "start": 50256, "limit": 1024}, "position": {"kind": "learned", "length": 1024}, "attention": {"heads": 12, "bias": BIASES},
            "ffn": {"size": 3072, "activation": "gelu-tanh"}, "norm": {"place": "pre", "after-stack": True},
            "decoder": {"layers": 12, "mask": "causal"}, "classifier": {"tied": True, "loss": True}}


def base():
    return {"heddle": 1, "kind": "encoder-decoder", "size": 512, "weights": "weights.safetensors",
            "source": {"vocabulary": 10000}, "target": {"vocabulary": 10000}, "embedding": {"scale": 512**0.5},
            "attention": {"heads": 8, "bias": BIASES}, "ffn": {"size": 2048}, "encoder": {"layers": 6},
            "decoder": {"layers": 6, "mask": "causal"}, "classifier": {"bias": True, "loss": True}}


def bert():
    return {"heddle": 1, "kind": "encoder", "size": 768, "weights": "weights.safetensors", "source": {"vocabulary": 30522},
            "embedding": {"norm": {"epsilon": 1e-12}}, "position": {"kind": "learned", "length": 512},
            "attention": {"heads": 12, "bias": BIASES}, "ffn": {"size": 3072, "activation": "gelu"}, "norm": {"epsilon": 1e-12},
            "encoder": {"layers": 12, "pool": "cls"}, "classifier": {"size": 2, "bias": True, "hidden": {"activation": "tanh"}}}


def example(name):
    """The description of an example, with the sizes of its vocabularies in place of their files."""
    def lines(file):
        return len((EXAMPLES / name / file).read_text(encoding="utf-8").split("\n")) - 1

    found = json.loads((EXAMPLES / name / "model.json").read_text(encoding="utf-8")) | {"weights": "weights.safetensors"}
    for side in ("source", "target"):
        if side in found:
            found[side] = {"vocabulary": lines(found[side]["vocabulary"])}
    if "target" not in found:
        found["classifier"]["size"] = lines(found["classifier"].pop("labels"))
    else:
        found["classifier"]["loss"] = True
    return found


@dataclass(frozen=True)
class Shape:
    """A model and its optimizer. `describe` makes the description."""
    name: str
    describe: object
    smoothing: float = 0
    clip: float = 0  # largest norm of the gradients; 0: any
    places: tuple = ()  # of dropout at RATE, in rows that have it
    recipe: dict = None  # the dropout of an example, which has one row

    def description(self):
        found = self.describe()
        optimizer = {"kind": "adam", "betas": [0.9, 0.98], "epsilon": 1e-9, "clip": self.clip}
        found["training"] = {"loss": {"smoothing": self.smoothing}, "optimizer": optimizer}
        return found


SHAPES = {shape.name: shape for shape in (
    Shape("gpt2", gpt2, places=("embedding", "attention", "sublayer")),
    Shape("base", base, smoothing=0.1, places=("embedding", "attention", "ffn", "sublayer")),
    Shape("bert", bert, places=("embedding", "attention", "sublayer", "classifier")),
    *(Shape(name, functools.partial(example, name), clip=1, recipe={"sublayer": 0.05}) for name in ("classify", "couplet", "translate")),
)}
# Batch, tokens of the source and of the reference. An example has the batch of its recipe and texts of the median length.
SIZES = {"gpt2": [(4, 0, 64), (4, 0, 256), (4, 0, 1024)], "base": [(32, 32, 32)], "bert": [(8, 128, 0)],
         "classify": [(128, 12, 0)], "couplet": [(128, 7, 8)], "translate": [(128, 6, 7)]}


def dropout(row):
    """The rate of each place."""
    shape = SHAPES[row.sizes["shape"]]
    return dict.fromkeys(shape.places, row.sizes["dropout"]) if shape.recipe is None else shape.recipe


def forward_flops(d, b, s, t):
    """Products of the forward pass. A classifier of pooled rows reads one row a text."""
    n, f, flops = d["size"], d["ffn"]["size"], 0.0
    if "encoder" in d:
        flops += d["encoder"]["layers"] * (2.0 * b * s * (4 * n * n + 2 * n * f) + 4.0 * b * s * s * n)
    if "decoder" in d:
        layer = 2.0 * b * t * (4 * n * n + 2 * n * f) + 4.0 * b * t * (t + 1) / 2 * n
        if "encoder" in d:
            layer += 2.0 * b * (2 * t + 2 * s) * n * n + 4.0 * b * t * s * n
        flops += d["decoder"]["layers"] * layer + 2.0 * b * t * n * d["target"]["vocabulary"]
    return flops


def row(shape, b, s, t, rate):
    """A product of the forward pass has two in the backward pass, each with the same work."""
    flops = 3 * forward_flops(shape.description(), b, s, t)
    sizes = "x".join(str(size) for size in (b, s, t) if size)
    suffix = "" if shape.recipe else ".dropout" if rate else ".plain"
    return Row(f"train.{shape.name}.{sizes}{suffix}", KIND, "f32", {"shape": shape.name, "b": b, "s": s, "t": t, "dropout": rate},
               flops, threads=(2,), peers=PEERS, alone=True, renewed=True)


def rows():
    for shape in SHAPES.values():
        for b, s, t in SIZES[shape.name]:
            for rate in (0,) if shape.recipe else (0, RATE):
                yield row(shape, b, s, t, rate)


def tokens(row):
    """Tokens that enter the model in a step, on both sides."""
    return row.sizes["b"] * (row.sizes["s"] + row.sizes["t"])


def heddle_timer(worker, request):
    """The call that times a step of Heddle. The rows of a shape share a description, so a copy of it has the dropout of the row."""
    folder, model = Path(request["folder"]), Path(request["model"])
    description = json.loads(model.read_text())
    description["training"]["dropout"] = request["dropout"]
    if not description["training"]["optimizer"]["clip"]:
        del description["training"]["optimizer"]["clip"]
    copy = model.with_name(f"{request['row']}.json")
    copy.write_text(json.dumps(description))
    inputs = {name: str(folder / file) for name, file in request["inputs"].items()}
    worker.ask(do="train", row=request["row"], model=str(copy), threads=request["threads"], inputs=inputs)
    return lambda calls: worker.ask(do="step", row=request["row"], calls=calls)["seconds"]
