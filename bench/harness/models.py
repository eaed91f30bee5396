# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every contender of a row is given: inputs, weights, a model in its own language, and the answer in f64.

A row has a folder: NAME.npy inputs, weights.safetensors and model.mlir or model.json for Heddle, model.onnx where a
graph is needed. Encoders share one set of weights, written once a cache folder.
"""
import json
import math
import struct

import numpy

from . import matrix

SIZE, HEADS, HEAD_SIZE, FFN = matrix.SIZE, matrix.HEADS, matrix.HEAD_SIZE, matrix.FFN_SIZE


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(values.tobytes())


def normal(random, *shape, scale=1.0):
    return (random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(scale)).astype(numpy.float32)


def make(row, folder, cache):
    """Writes the folder of a row; gives what contenders are told and a check of their results."""
    folder.mkdir(parents=True, exist_ok=True)
    return {"gemm": make_gemm, "attention": make_attention, "decode": make_decode, "attend": make_attend, "ffn": make_ffn, "layer": make_encoder, "model": make_encoder}[row.kind](row, folder, cache)


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


def difference(found, expected):
    return float(numpy.abs(found.astype(numpy.float64) - expected).max() / numpy.abs(expected).max())


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
# Attention
#===----------------------------------------------------------------------===#

MASKS = {"full": "", "causal": "  %m = transformer.mask.causal\n",
         "window": "  %c = transformer.mask.causal\n  %w = transformer.mask.window before = 255 after = 0\n  %m = transformer.mask.and %c, %w\n"}


def attention_text(mask):
    shape = f"tensor<?x{HEADS}x?x{HEAD_SIZE}xf32>"
    dims = f'["B", {HEADS}, "T", {HEAD_SIZE}]'
    arguments = ", ".join(f'%{name}: {shape} {{transformer.name = "{name}", transformer.dims = {dims}}}' for name in "qkv")
    clause = " mask(%m)" if MASKS[mask] else ""
    scale = 1 / math.sqrt(HEAD_SIZE)
    return (f"func.func @attend({arguments}) -> ({shape} {{transformer.name = \"o\"}}) {{\n{MASKS[mask]}"
            f"  %o = transformer.attention %q, %k, %v{clause} {{scale = {scale} : f32}} : ({shape}, {shape}, {shape}) -> {shape}\n"
            f"  return %o : {shape}\n}}\n")


def allowed(mask, rows, t):
    """Which keys the query rows may see."""
    i, j = numpy.asarray(rows)[:, None], numpy.arange(t)[None, :]
    return {"full": j >= 0, "causal": j <= i, "window": (j <= i) & (i - j <= 255)}[mask]


def make_attention(row, folder, cache):
    t, mask = row.sizes["t"], row.sizes["mask"]
    random = numpy.random.default_rng(2)
    q, k, v = (normal(random, 1, HEADS, t, HEAD_SIZE) for _ in range(3))
    for name, values in zip("qkv", (q, k, v)):
        numpy.save(folder / f"{name}.npy", values)
    (folder / "model.mlir").write_text(attention_text(mask))
    rows = sorted({*range(min(t, 64)), *range(max(0, t - 64), t)})  # both ends of each head
    wide = [values[0].astype(numpy.float64) for values in (q, k, v)]
    scores = wide[0][:, rows] @ wide[1].transpose(0, 2, 1) / math.sqrt(HEAD_SIZE)
    scores = numpy.where(allowed(mask, rows, t), scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    expected = weights @ wide[2] / weights.sum(-1, keepdims=True)
    spec = {"model": "model.mlir", "weights": "", "function": "attend", "inputs": {n: f"{n}.npy" for n in "qkv"}, "output": "o", "mask": mask}
    return spec, lambda found: difference(found.reshape(HEADS, t, HEAD_SIZE)[:, rows], expected)


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
    normed = (rows - rows.mean(-1, keepdims=True)) / numpy.sqrt(rows.var(-1, keepdims=True) + 1e-12) * wide["norm.weight"] + wide["norm.bias"]
    q, k, v, o = (lambda values, name=name: values @ wide[f"attention.{name}.weight"].T + wide[f"attention.{name}.bias"] for name in PROJECTIONS)
    q, k, v = (part(normed).reshape(t, HEADS, HEAD_SIZE).transpose(1, 0, 2) for part in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(HEAD_SIZE)
    shares = numpy.exp(scores - scores.max(-1, keepdims=True))
    expected = rows + o((shares @ v / shares.sum(-1, keepdims=True)).transpose(1, 0, 2).reshape(t, SIZE))
    spec = {"model": "model.mlir", "weights": "weights.safetensors", "function": "main", "inputs": {"x": "x.npy"}, "output": "y",
            "onnx": str(folder / "attend.onnx"), "arrays": str(folder / "weights.npz")}
    return spec, lambda found: difference(found.reshape(t, SIZE), expected)


#===----------------------------------------------------------------------===#
# A step with caches
#===----------------------------------------------------------------------===#

STEPS = 16  # as many are timed before the caches are as long as they were: their mean is what is printed


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
    scores = arrays["q"].astype(numpy.float64) @ keys.transpose(0, 1, 3, 2) / math.sqrt(HEAD_SIZE)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    expected = weights @ values / weights.sum(-1, keepdims=True)
    spec = {"model": "model.mlir", "weights": "", "function": "step", "inputs": {name: f"{name}.npy" for name in arrays}, "output": "o",
            "before": ["start", "fill"], "every": STEPS}
    return spec, lambda found: difference(found.reshape(expected.shape), expected)


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


def gelu64(x):
    return 0.5 * x * (1 + numpy.vectorize(math.erf, otypes=[numpy.float64])(x / math.sqrt(2)))


def norm64(x, gamma, beta):
    centred = x - x.mean(-1, keepdims=True)
    return centred / numpy.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-12) * gamma + beta


def encoder64(weights, x, layers):
    """One sentence, [s, size], in f64."""
    def linear(x, name):
        return x @ weights[name + ".weight"].astype(numpy.float64).T + weights[name + ".bias"]

    def heads(x):
        return x.reshape(len(x), HEADS, HEAD_SIZE).transpose(1, 0, 2)

    for layer in range(layers):
        place = f"encoder.{layer}."
        q, k, v = (heads(linear(x, f"{place}attention.{name}")) for name in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(HEAD_SIZE)
        p = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(x), SIZE)
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
    answer = cache / f"encoder{layers}.{b}x{s}.answer.npy"  # of the last sentence; 12 layers in f64 take a while
    if not answer.exists():
        numpy.save(answer, encoder64(weights, x, layers))
    expected = numpy.load(answer)
    spec = {"model": str(home / "model.json"), "weights": "", "function": "encode", "inputs": {"source": "source.npy"}, "output": "output",
            "onnx": str(home / "model.onnx"), "arrays": str(home / "weights.npz")}
    return spec, lambda found: difference(found.reshape(b, s, SIZE)[-1], expected)
