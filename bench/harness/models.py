# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every contender of a row is given: inputs, weights, a model in its own language, and the answer in f64.

A row has a folder: NAME.npy inputs, weights.safetensors and model.mlir or model.json for Heddle, model.onnx where a
graph is needed. Encoders share one set of weights, written once a cache folder; so do decoders.
"""
import json
import math

import numpy

from . import matrix
from .arrays import attend64, difference, gelu64, norm64, normal, write_safetensors
from .attentions import make_attention
from .decoders import make_decode, make_token
from .language_rows import make_language
from .products import make_products
from .sequence_rows import make_sound, make_speech, make_texts
from .training_rows import make_train

SIZE, HEADS, HEAD_SIZE, FFN = matrix.SIZE, matrix.HEADS, matrix.HEAD_SIZE, matrix.FFN_SIZE


def make(row, folder, cache, tools):
    """Writes the folder of a row; gives what contenders are told and a check of their results. `tools` is where heddle is."""
    folder.mkdir(parents=True, exist_ok=True)
    if row.kind == "token":
        return make_token(row, folder, cache, tools)
    makers = {"gemm": make_gemm, "attention": make_attention, "decode": make_decode, "attend": make_attend, "ffn": make_ffn,
              "step": make_language, "prompt": make_language, "products": make_products,
              "texts": make_texts, "sound": make_sound, "speech": make_speech, "train": make_train,
              "layer": make_encoder, "model": make_encoder}
    return makers[row.kind](row, folder, cache)


#===----------------------------------------------------------------------===#
# A product
#===----------------------------------------------------------------------===#

GEMM = """func.func @main(%x: tensor<?x{k}xf32> {{transformer.name = "x", transformer.dims = ["M", {k}]}}) -> (tensor<?x{n}xf32> {{transformer.name = "y"}}) {{
  %w = transformer.weight "w" : tensor<{n}x{k}xf32>
  %y = transformer.linear %x, %w : (tensor<?x{k}xf32>, tensor<{n}x{k}xf32>) -> tensor<?x{n}xf32>
  return %y : tensor<?x{n}xf32>
}}
"""


def make_gemm(row, folder, cache):
    m, n, k = (row.sizes[name] for name in "mnk")
    random = numpy.random.default_rng(1)
    x, w = normal(random, m, k), normal(random, n, k, scale=1 / math.sqrt(k))
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "w.npy", w)
    write_safetensors(folder / "weights.safetensors", {"w": w})
    (folder / "model.mlir").write_text(GEMM.format(n=n, k=k))
    rows = slice(0, min(m, 256))  # the rest is the same code
    expected = x[rows].astype(numpy.float64) @ w.T.astype(numpy.float64)
    spec = {"model": "model.mlir", "weights": "weights.safetensors", "function": "main", "inputs": {"x": "x.npy"}, "output": "y"}
    return spec, lambda found: difference(found.reshape(m, n)[rows], expected)


#===----------------------------------------------------------------------===#
# A feed-forward block
#===----------------------------------------------------------------------===#

FFN_TEXT = """func.func @main(%x: tensor<?x{n}xf32> {{transformer.name = "x", transformer.dims = ["T", {n}]}}) -> (tensor<?x{n}xf32> {{transformer.name = "y"}}) {{
  %wi = transformer.weight "ffn.in.weight" : tensor<{h}x{n}xf32>
  %bi = transformer.weight "ffn.in.bias" : tensor<{h}xf32>
  %wo = transformer.weight "ffn.out.weight" : tensor<{n}x{h}xf32>
  %bo = transformer.weight "ffn.out.bias" : tensor<{n}xf32>
  %y = transformer.ffn %x in(%wi, %bi) out(%wo, %bo) {{activation = #transformer.activation<gelu>}}
     : (tensor<?x{n}xf32>, tensor<{h}x{n}xf32>, tensor<{h}xf32>, tensor<{n}x{h}xf32>, tensor<{n}xf32>) -> tensor<?x{n}xf32>
  return %y : tensor<?x{n}xf32>
}}
"""


def make_ffn(row, folder, cache):
    from .graphs import write_ffn
    t = row.sizes["t"]
    random = numpy.random.default_rng(6)
    x = normal(random, t, SIZE)
    weights = {"ffn.in.weight": normal(random, FFN, SIZE, scale=1 / math.sqrt(SIZE)), "ffn.in.bias": normal(random, FFN, scale=0.02),
               "ffn.out.weight": normal(random, SIZE, FFN, scale=1 / math.sqrt(FFN)), "ffn.out.bias": normal(random, SIZE, scale=0.02)}
    numpy.save(folder / "x.npy", x)
    numpy.savez(folder / "weights.npz", **weights)
    write_safetensors(folder / "weights.safetensors", weights)
    write_ffn(folder / "ffn.onnx", weights, t)
    (folder / "model.mlir").write_text(FFN_TEXT.format(n=SIZE, h=FFN))
    inner = x.astype(numpy.float64) @ weights["ffn.in.weight"].astype(numpy.float64).T + weights["ffn.in.bias"]
    expected = gelu64(inner) @ weights["ffn.out.weight"].astype(numpy.float64).T + weights["ffn.out.bias"]
    spec = {"model": "model.mlir", "weights": "weights.safetensors", "function": "main", "inputs": {"x": "x.npy"}, "output": "y",
            "onnx": str(folder / "ffn.onnx"), "arrays": str(folder / "weights.npz")}
    return spec, lambda found: difference(found.reshape(t, SIZE), expected)


#===----------------------------------------------------------------------===#
# The first half of a layer
#===----------------------------------------------------------------------===#

PROJECTIONS = ("query", "key", "value", "output")


def attend_text():
    x, square, vector = f"tensor<1x?x{SIZE}xf32>", f"tensor<{SIZE}x{SIZE}xf32>", f"tensor<{SIZE}xf32>"
    heads = f"tensor<1x{HEADS}x?x{HEAD_SIZE}xf32>"

    def linear(result, of, name):
        return (f'  %w{result} = transformer.weight "attention.{name}.weight" : {square}\n'
                f'  %b{result} = transformer.weight "attention.{name}.bias" : {vector}\n'
                f"  %{result} = transformer.linear %{of}, %w{result} bias(%b{result}) : ({x}, {square}, {vector}) -> {x}\n")

    text = f'func.func @main(%x: {x} {{transformer.name = "x", transformer.dims = [1, "T", {SIZE}]}}) -> ({x} {{transformer.name = "y"}}) {{\n'
    text += "".join(f'  %{name} = transformer.weight "norm.{part}" : {vector}\n' for name, part in (("g", "weight"), ("b", "bias")))
    text += f"  %n = transformer.layer_norm %x, %g, %b {{epsilon = 1.0e-12 : f32}} : ({x}, {vector}, {vector}) -> {x}\n"
    for name in PROJECTIONS[:3]:
        text += linear(name, "n", name) + f"  %h{name} = transformer.split_heads %{name} {{heads = {HEADS} : i64}} : {x} -> {heads}\n"
    text += f"  %a = transformer.attention %hquery, %hkey, %hvalue {{scale = {1 / math.sqrt(HEAD_SIZE)} : f32}} : ({heads}, {heads}, {heads}) -> {heads}\n"
    text += f"  %m = transformer.merge_heads %a : {heads} -> {x}\n" + linear("o", "m", "output")
    return text + f"  %y = arith.addf %x, %o : {x}\n  return %y : {x}\n}}\n"


def make_attend(row, folder, cache):
    from .graphs import write_attend
    t = row.sizes["t"]
    random = numpy.random.default_rng(8)
    x = normal(random, 1, t, SIZE)
    weights = {"norm.weight": 1 + normal(random, SIZE, scale=0.02), "norm.bias": normal(random, SIZE, scale=0.02)}
    for name in PROJECTIONS:
        weights[f"attention.{name}.weight"] = normal(random, SIZE, SIZE, scale=1 / math.sqrt(SIZE))
        weights[f"attention.{name}.bias"] = normal(random, SIZE, scale=0.02)
    numpy.save(folder / "x.npy", x)
    numpy.savez(folder / "weights.npz", **weights)
    write_safetensors(folder / "weights.safetensors", weights)
    write_attend(folder / "attend.onnx", weights, t)
    (folder / "model.mlir").write_text(attend_text())
    wide = {name: values.astype(numpy.float64) for name, values in weights.items()}
    rows = x[0].astype(numpy.float64)
    normed = norm64(rows, wide["norm.weight"], wide["norm.bias"])
    q, k, v, o = (lambda values, name=name: values @ wide[f"attention.{name}.weight"].T + wide[f"attention.{name}.bias"] for name in PROJECTIONS)
    q, k, v = (part(normed).reshape(t, HEADS, HEAD_SIZE).transpose(1, 0, 2) for part in (q, k, v))
    expected = rows + o(attend64(q, k, v).transpose(1, 0, 2).reshape(t, SIZE))
    spec = {"model": "model.mlir", "weights": "weights.safetensors", "function": "main", "inputs": {"x": "x.npy"}, "output": "y",
            "onnx": str(folder / "attend.onnx"), "arrays": str(folder / "weights.npz")}
    return spec, lambda found: difference(found.reshape(t, SIZE), expected)


#===----------------------------------------------------------------------===#
# Encoders
#===----------------------------------------------------------------------===#


def description(layers):
    """BERT's layers; learned positions and the norm of embeddings wait until descriptions have them, for everyone."""
    whole = layers > 1
    side = {"vocabulary": matrix.VOCABULARY if whole else None, "padding": 0}
    return {"heddle": 1, "kind": "encoder", "size": SIZE, "weights": "weights.safetensors", "source": side,
            "position": None,
            "attention": {"heads": HEADS, "bias": {"query": True, "key": True, "value": True, "output": True}},
            "ffn": {"size": FFN, "activation": "gelu"}, "norm": {"kind": "layer", "epsilon": 1e-12, "place": "post"},
            "encoder": {"layers": layers}}


def encoder_weights(layers):
    random = numpy.random.default_rng(3)
    tensors = {}
    if layers > 1:
        tensors["source.embedding.weight"] = normal(random, matrix.VOCABULARY, SIZE)
    for layer in range(layers):
        shapes = {f"attention.{name}": (SIZE, SIZE) for name in ("query", "key", "value", "output")}
        shapes |= {"ffn.in": (FFN, SIZE), "ffn.out": (SIZE, FFN)}
        for name, shape in shapes.items():
            tensors[f"encoder.{layer}.{name}.weight"] = normal(random, *shape, scale=1 / math.sqrt(shape[1]))
            tensors[f"encoder.{layer}.{name}.bias"] = normal(random, shape[0], scale=0.02)
        for name in ("attention", "ffn"):
            tensors[f"encoder.{layer}.{name}.norm.weight"] = 1 + normal(random, SIZE, scale=0.02)
            tensors[f"encoder.{layer}.{name}.norm.bias"] = normal(random, SIZE, scale=0.02)
    return tensors


def encoder_folder(layers, cache):
    """Description, weights and ONNX graph of an encoder, made once."""
    folder = cache / f"encoder{layers}"
    if not (folder / "ready").exists():
        from .graphs import write_encoder
        folder.mkdir(parents=True, exist_ok=True)
        tensors = encoder_weights(layers)
        write_safetensors(folder / "weights.safetensors", tensors)
        (folder / "model.json").write_text(json.dumps(description(layers), indent=1))
        numpy.savez(folder / "weights.npz", **tensors)
        write_encoder(folder / "model.onnx", tensors, layers)
        (folder / "ready").touch()
    return folder


def encoder64(weights, x, layers):
    """One sequence, [s, size], in f64."""
    def linear(x, name):
        return x @ weights[name + ".weight"].astype(numpy.float64).T + weights[name + ".bias"]

    def heads(x):
        return x.reshape(len(x), HEADS, HEAD_SIZE).transpose(1, 0, 2)

    for layer in range(layers):
        place = f"encoder.{layer}."
        q, k, v = (heads(linear(x, f"{place}attention.{name}")) for name in ("query", "key", "value"))
        mixed = attend64(q, k, v).transpose(1, 0, 2).reshape(len(x), SIZE)
        x = norm64(x + linear(mixed, place + "attention.output"), *(weights[f"{place}attention.norm.{n}"] for n in ("weight", "bias")))
        h = gelu64(linear(x, place + "ffn.in"))
        x = norm64(x + linear(h, place + "ffn.out"), *(weights[f"{place}ffn.norm.{n}"] for n in ("weight", "bias")))
    return x


def make_encoder(row, folder, cache):
    b, s, layers = (row.sizes[name] for name in ("b", "s", "layers"))
    home = encoder_folder(layers, cache)
    random = numpy.random.default_rng(4)
    weights = numpy.load(home / "weights.npz")
    if layers > 1:
        source = random.integers(1, matrix.VOCABULARY, (b, s)).astype(numpy.int32)
        x = weights["source.embedding.weight"][source[-1]].astype(numpy.float64)
    else:
        source = normal(random, b, s, SIZE)
        x = source[-1].astype(numpy.float64)
    numpy.save(folder / "source.npy", source)
    answer = cache / f"encoder{layers}.{b}x{s}.answer.npy"  # of the last sequence; 12 layers in f64 take a while
    if not answer.exists():
        numpy.save(answer, encoder64(weights, x, layers))
    expected = numpy.load(answer)
    spec = {"model": str(home / "model.json"), "weights": "", "function": "encode", "inputs": {"source": "source.npy"}, "output": "output",
            "onnx": str(home / "model.onnx"), "arrays": str(home / "weights.npz")}
    return spec, lambda found: difference(found.reshape(b, s, SIZE)[-1], expected)
