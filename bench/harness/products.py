# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each product of a layer by itself, inside calls of the whole layer: its launch, beside its type's peak in the same rounds."""
import json
import math

import numpy

from . import gates, rates, shapes
from .arrays import attend64, difference, gelu64, norm64, normal, write_safetensors
from .figures import median

NAMES = ("query", "key", "value", "output")
BLOCK = 0.05  # seconds of calls a round
EPSILON = 1e-12


def weights_of(head, heads, size, ffn, rows):
    random = numpy.random.default_rng([21, head, heads, size, ffn])
    inner = head * heads
    matrices = {f"attention.{name}": (size, inner) if name == "output" else (inner, size) for name in NAMES}
    tensors = {}
    for name, (n, k) in (matrices | {"ffn.in": (ffn, size), "ffn.out": (size, ffn)}).items():
        tensors[f"encoder.0.{name}.weight"] = normal(random, n, k, scale=1 / math.sqrt(k))
        tensors[f"encoder.0.{name}.bias"] = normal(random, n, scale=0.02)
    for name in ("attention", "ffn"):
        tensors[f"encoder.0.{name}.norm.weight"] = 1 + normal(random, size, scale=0.02)
        tensors[f"encoder.0.{name}.norm.bias"] = normal(random, size, scale=0.02)
    return tensors


def description(head, heads, size, ffn, rows):
    return {"heddle": 1, "kind": "encoder", "size": size, "weights": "weights.safetensors", "source": {"vocabulary": None, "padding": 0},
            "position": None, "attention": {"heads": heads, "head-size": head, "bias": dict.fromkeys(NAMES, True)},
            "ffn": {"size": ffn, "activation": "gelu"}, "norm": {"kind": "layer", "epsilon": EPSILON, "place": "post"}, "encoder": {"layers": 1}}


def layer64(weights, x, heads):
    def linear(x, name):
        return x @ weights[f"encoder.0.{name}.weight"].astype(numpy.float64).T + weights[f"encoder.0.{name}.bias"]

    def norm(x, name):
        return norm64(x, *(weights[f"encoder.0.{name}.norm.{part}"] for part in ("weight", "bias")), EPSILON)

    q, k, v = (linear(x, f"attention.{name}").reshape(len(x), heads, -1).transpose(1, 0, 2) for name in NAMES[:3])
    mixed = attend64(q, k, v).transpose(1, 0, 2).reshape(len(x), -1)
    x = norm(x + linear(mixed, "attention.output"), "attention")
    return norm(x + linear(gelu64(linear(x, "ffn.in")), "ffn.out"), "ffn")


def make_products(row, folder, cache):
    sizes = row.sizes
    random = numpy.random.default_rng(22)
    weights = weights_of(**sizes)
    source = normal(random, 1, sizes["rows"], sizes["size"])
    write_safetensors(folder / "weights.safetensors", weights)
    (folder / "model.json").write_text(json.dumps(description(**sizes)))
    numpy.save(folder / "source.npy", source)
    expected = layer64(weights, source[0].astype(numpy.float64), sizes["heads"])
    spec = {"model": "model.json", "weights": "", "function": "encode", "inputs": {"source": "source.npy"}, "output": "output"}
    return spec, lambda found: difference(found.reshape(expected.shape), expected)


def counted(launch):
    """Launches of products with a weight, of a size that a gate asks for."""
    return launch["kernel"].startswith("linear") and launch["flops"] >= 2 * shapes.LARGE


def measure(worker, row, rounds, result):
    """The share of the peak of each product, medians of calls inside a round and of the rounds; the least is the row's figure."""
    def calls(count):
        return worker.ask(do="launches", row=row.name, function="encode", calls=count)

    once = sum(calls(3)["seconds"][-1])
    count = max(5, min(500, math.ceil(BLOCK / once)))
    shares = {}
    for _ in range(rounds):
        rates.measure(worker, row, result)
        answer = calls(count)
        rates.measure_again(worker, row, result)
        rate = gates.peak_rate(row.dtype, result.rates)
        if rate is None:
            return
        result.seconds.setdefault("heddle", []).append(median([sum(times) for times in answer["seconds"]]))
        for place, launch in enumerate(answer["kernels"]):
            if counted(launch):
                seconds = median([times[place] for times in answer["seconds"]])
                shares.setdefault((place, launch["kernel"]), []).append(launch["flops"] / seconds / result.rates[rate][-1])
    if shares:
        found = {name: median(values) for (_, name), values in shares.items()}
        result.facts["products"] = min(found.values())
        listed = ", ".join(f"{name} {share:.2f}" for name, share in sorted(found.items(), key=lambda item: item[1]))
        result.kernels["products"] = "{rows} rows, heads {heads} x {head}, width {size}, inner {ffn}: ".format(**row.sizes) + listed
