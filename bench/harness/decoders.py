# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps with caches: attention alone, and the next token of a whole decoder. Caches are filled outside the clock."""
import json
import math
import subprocess

import numpy

from . import matrix
from .arrays import attend64, difference, gelu_tanh64, norm64, normal, write_safetensors

SIZE, HEADS, HEAD_SIZE, FFN, LAYERS = matrix.SIZE, matrix.HEADS, matrix.HEAD_SIZE, matrix.FFN_SIZE, matrix.LAYERS
STEPS = 16  # as many are timed before the caches are as long as they were: their mean is what is printed
POSITIONS = 1024 + STEPS  # rows of the table, and of the caches
EPSILON = 1e-5

#===----------------------------------------------------------------------===#
# Attention alone
#===----------------------------------------------------------------------===#


def decode_text(p):
    def argument(name, rows):
        size = "?" if rows == "S" else "1"
        rows = '"S"' if rows == "S" else rows
        return f'%{name}: tensor<?x{HEADS}x{size}x{HEAD_SIZE}xf32> {{transformer.name = "{name}", transformer.dims = ["B", {HEADS}, {rows}, {HEAD_SIZE}]}}'

    one, many = f"tensor<?x{HEADS}x1x{HEAD_SIZE}xf32>", f"tensor<?x{HEADS}x?x{HEAD_SIZE}xf32>"
    state = f'{{dims = ["B", {HEADS}, "P", {HEAD_SIZE}], capacity = {p + STEPS} : i64}} : {many}'
    return f"""transformer.state @keys {state}
transformer.state @values {state}
func.func @start() {{
  transformer.cache.clear "P"
  return
}}
func.func @fill({argument("keys", "S")}, {argument("values", "S")}) {{
  %0 = transformer.cache.append @keys, %keys : {many} -> {many}
  %1 = transformer.cache.append @values, %values : {many} -> {many}
  return
}}
func.func @step({argument("q", 1)}, {argument("k", 1)}, {argument("v", 1)}) -> ({one} {{transformer.name = "o"}}) {{
  %0 = transformer.cache.append @keys, %k : {one} -> {many}
  %1 = transformer.cache.append @values, %v : {one} -> {many}
  %o = transformer.attention %q, %0, %1 {{scale = {1 / math.sqrt(HEAD_SIZE)} : f32}} : ({one}, {many}, {many}) -> {one}
  return %o : {one}
}}
"""


def make_decode(row, folder, cache):
    b, p = row.sizes["b"], row.sizes["p"]
    random = numpy.random.default_rng(7)
    arrays = {name: normal(random, b, HEADS, 1, HEAD_SIZE) for name in "qkv"}
    arrays |= {name: normal(random, b, HEADS, p, HEAD_SIZE) for name in ("keys", "values")}
    for name, values in arrays.items():
        numpy.save(folder / f"{name}.npy", values)
    (folder / "model.mlir").write_text(decode_text(p))
    keys, values = (numpy.concatenate([arrays[past], arrays[new]], 2).astype(numpy.float64) for past, new in (("keys", "k"), ("values", "v")))
    expected = attend64(arrays["q"].astype(numpy.float64), keys, values)
    spec = {"model": "model.mlir", "weights": "", "function": "step", "inputs": {name: f"{name}.npy" for name in arrays}, "output": "o",
            "before": ["start", "fill"], "every": STEPS}
    return spec, lambda found: difference(found.reshape(expected.shape), expected)


#===----------------------------------------------------------------------===#
# A whole decoder
#===----------------------------------------------------------------------===#


def description():
    """GPT-2's shape: learned positions, norms before each half of a layer and behind the last, classes by the embedding table."""
    return {"heddle": 1, "kind": "decoder", "size": SIZE, "weights": "weights.safetensors",
            "target": {"vocabulary": matrix.TOKENS, "limit": POSITIONS},
            "position": {"kind": "learned", "length": POSITIONS},
            "attention": {"heads": HEADS, "bias": {"query": True, "key": True, "value": True, "output": True}},
            "ffn": {"size": FFN, "activation": "gelu-tanh"},
            "norm": {"kind": "layer", "epsilon": EPSILON, "place": "pre", "after-stack": True},
            "decoder": {"layers": LAYERS, "mask": "causal"}, "classifier": {"tied": True}}


def decoder_weights():
    random = numpy.random.default_rng(9)
    tensors = {"target.embedding.weight": normal(random, matrix.TOKENS, SIZE, scale=1 / math.sqrt(SIZE)),
               "target.position.weight": normal(random, POSITIONS, SIZE, scale=1 / math.sqrt(SIZE))}
    norms = ["decoder.norm"]
    for layer in range(LAYERS):
        place = f"decoder.{layer}."
        shapes = {f"attention.{name}": (SIZE, SIZE) for name in ("query", "key", "value", "output")}
        for name, shape in (shapes | {"ffn.in": (FFN, SIZE), "ffn.out": (SIZE, FFN)}).items():
            tensors[f"{place}{name}.weight"] = normal(random, *shape, scale=1 / math.sqrt(shape[1]))
            tensors[f"{place}{name}.bias"] = normal(random, shape[0], scale=0.02)
        norms += [place + "attention.norm", place + "ffn.norm"]
    for name in norms:
        tensors[name + ".weight"] = 1 + normal(random, SIZE, scale=0.02)
        tensors[name + ".bias"] = normal(random, SIZE, scale=0.02)
    return tensors


def merged(weights):
    """As GPT-2 stores them and peers are given them: one projection `qkv` a layer."""
    given = {name: weights[name] for name in weights}
    for layer in range(LAYERS):
        for part in ("weight", "bias"):
            parts = [given.pop(f"decoder.{layer}.attention.{name}.{part}") for name in ("query", "key", "value")]
            given[f"decoder.{layer}.attention.qkv.{part}"] = numpy.concatenate(parts)
    return given


def cache_names():
    return [f"decoder.{layer}.self.{part}" for layer in range(LAYERS) for part in ("key", "value")]


def fill_text():
    """A function that the description does not have: caches as inputs, not computed from as many tokens."""
    many = f"tensor<?x{HEADS}x?x{HEAD_SIZE}xf32>"
    dims = f'["B", {HEADS}, "S", {HEAD_SIZE}]'
    arguments = ", ".join(f'%a{n}: {many} {{transformer.name = "{name}", transformer.dims = {dims}}}' for n, name in enumerate(cache_names()))
    appends = "".join(f"  %{n} = transformer.cache.append @{name}, %a{n} : {many} -> {many}\n" for n, name in enumerate(cache_names()))
    return f"func.func @fill({arguments}) {{\n{appends}  return\n}}\n"


def decoder_folder(cache):
    """Description, weights and ONNX graph of the decoder, made once."""
    folder = cache / f"decoder{LAYERS}"
    if not (folder / "ready").exists():
        from .decoder_graph import write_decoder
        folder.mkdir(parents=True, exist_ok=True)
        tensors = decoder_weights()
        write_safetensors(folder / "weights.safetensors", tensors)
        (folder / "model.json").write_text(json.dumps(description(), indent=1))
        numpy.savez(folder / "weights.npz", **tensors)
        write_decoder(folder / "model.onnx", merged(tensors))
        (folder / "ready").touch()
    return folder


def decoder64(weights, caches, token, p):
    """Logits of a token at place `p` in f64."""
    def linear(x, name):
        return x @ weights[name + ".weight"].astype(numpy.float64).T + weights[name + ".bias"]

    def norm(x, name):
        return norm64(x, weights[name + ".weight"], weights[name + ".bias"], EPSILON)

    x = weights["target.embedding.weight"][token].astype(numpy.float64) + weights["target.position.weight"][p]
    for layer in range(LAYERS):
        place = f"decoder.{layer}."
        n = norm(x, place + "attention.norm")
        q, k, v = (linear(n, f"{place}attention.{name}").reshape(HEADS, 1, HEAD_SIZE) for name in ("query", "key", "value"))
        keys, values = (numpy.concatenate([caches[f"{place}self.{part}"][0], new], 1) for part, new in (("key", k), ("value", v)))
        x = x + linear(attend64(q, keys, values).reshape(SIZE), place + "attention.output")
        x = x + linear(gelu_tanh64(linear(norm(x, place + "ffn.norm"), place + "ffn.in")), place + "ffn.out")
    return norm(x, "decoder.norm") @ weights["target.embedding.weight"].astype(numpy.float64).T


def make_token(row, folder, cache, tools):
    p = row.sizes["p"]
    home = decoder_folder(cache)
    random = numpy.random.default_rng(10)
    arrays = {"target": random.integers(1, matrix.TOKENS, (1, 1)).astype(numpy.int32)}
    arrays |= {name: normal(random, 1, HEADS, p, HEAD_SIZE) for name in cache_names()}
    for name, values in arrays.items():
        numpy.save(folder / f"{name}.npy", values)
    heddle = tools / "heddle"
    if not heddle.exists():
        raise ValueError(f"{row.name}: expected {heddle}, found none: ninja heddle")
    # The description's own functions, and one more before the brace that ends the module.
    written = subprocess.run([str(heddle), "compile", str(home / "model.json"), "--emit=transformer", "-o", str(folder / "model.mlir")],
                             capture_output=True, text=True, check=False)
    if written.returncode:
        raise ValueError(f"{home / 'model.json'}: {written.stderr.strip()}")
    text = (folder / "model.mlir").read_text()
    (folder / "model.mlir").write_text(text[:text.rindex("}")] + fill_text() + "}\n")
    weights = numpy.load(home / "weights.npz")
    expected = decoder64({name: weights[name] for name in weights.files}, arrays, int(arrays["target"][0, 0]), p)
    spec = {"model": "model.mlir", "weights": str(home / "weights.safetensors"), "function": "decode_step", "inputs": {name: f"{name}.npy" for name in arrays},
            "output": "logits", "before": ["decode_start", "fill"], "every": STEPS, "onnx": str(home / "model.onnx"), "arrays": str(home / "weights.npz")}
    return spec, lambda found: difference(found.reshape(-1), expected)
