# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention alone: its forms (who sees whom, what is added to scores, how many heads share keys) and the answer in f64."""
import math

import numpy

from .arrays import attend64, difference, normal

ENDS = 64  # queries at both ends of a sequence that are compared with f64

CAUSAL = "  %m = transformer.mask.causal\n"
MASKS = {"full": "", "causal": CAUSAL, "gqa": CAUSAL, "alibi": CAUSAL + "  %r = transformer.bias.alibi\n",
         "window": "  %c = transformer.mask.causal\n  %w = transformer.mask.window before = 255 after = 0\n  %m = transformer.mask.and %c, %w\n",
         "padding": "  %m = transformer.mask.lengths %lengths : tensor<?xi32>\n"}


def attention_text(sizes):
    masks, d = MASKS[sizes["form"]], sizes["d"]

    def of(heads):
        return f"tensor<?x{heads}x?x{d}xf32>"

    q, k = of(sizes["heads"]), of(sizes["kv"])
    arguments = [f'%{name}: {of(heads)} {{transformer.name = "{name}", transformer.dims = ["B", {heads}, "T", {d}]}}'
                 for name, heads in (("q", sizes["heads"]), ("k", sizes["kv"]), ("v", sizes["kv"]))]
    if "%lengths" in masks:
        arguments.append('%lengths: tensor<?xi32> {transformer.name = "lengths", transformer.dims = ["B"]}')
    clauses = (" mask(%m)" if "%m" in masks else "") + (" bias(%r)" if "%r" in masks else "")
    return (f"func.func @attend({', '.join(arguments)}) -> ({q} {{transformer.name = \"o\"}}) {{\n{masks}"
            f"  %o = transformer.attention %q, %k, %v{clauses} {{scale = {1 / math.sqrt(d)} : f32}} : ({q}, {k}, {k}) -> {q}\n"
            f"  return %o : {q}\n}}\n")


def allowed(form, rows, t):
    """Which keys the query rows may see, where no sequence is padded."""
    i, j = numpy.asarray(rows)[:, None], numpy.arange(t)[None, :]
    if form in ("full", "padding"):
        return j >= 0
    return (j <= i) & (i - j <= 255) if form == "window" else j <= i


def slopes(heads):
    """ALiBi's: 2^(-8 (h + 1) / H) for a power of two, else those of the power below and every second one of the power above."""
    below = 2 ** int(math.log2(heads))
    steps = [8 * (h + 1) / below for h in range(below)] + [4 * (2 * h + 1) / below for h in range(heads - below)]
    return numpy.exp2(-numpy.array(steps, numpy.float32))


def bias(sizes, rows):
    """What f64 adds to the scores [heads, rows, keys] of a sequence without padding: 0, -inf, or ALiBi's penalty."""
    t = sizes["t"]
    hidden = numpy.where(allowed(sizes["form"], rows, t), 0, -numpy.inf)[None]
    if sizes["form"] != "alibi":
        return hidden
    distances = numpy.abs(numpy.asarray(rows)[:, None] - numpy.arange(t))
    return hidden - slopes(sizes["heads"]).astype(numpy.float64)[:, None, None] * distances


def dense(sizes, folder):
    """What a peer without a word for the form is given, [B|1, heads|1, queries|1, keys]: who is seen, or numbers for the
    scores. None: a flag of every peer says it."""
    t, form = sizes["t"], sizes["form"]
    if form == "window":
        return allowed(form, range(t), t)[None, None]
    if form == "padding":
        return numpy.arange(t) < numpy.load(folder / "lengths.npy")[:, None, None, None]
    return bias(sizes, range(t)).astype(numpy.float32)[None] if form == "alibi" else None


def spelt(sizes):
    """What a contender's line says where it was given `dense`."""
    return {"alibi": "; distances and mask as a table of numbers", "window": "; the mask as a table"}.get(sizes["form"], "")


def answer64(sizes, q, k, v, lengths):
    """(sequence, rows, their outputs [heads, rows, d]) for both ends of each sequence; rows behind a length are no results."""
    shared = sizes["heads"] // sizes["kv"]
    for sequence, n in enumerate(lengths):
        rows = sorted({*range(min(n, ENDS)), *range(max(0, n - ENDS), n)})
        wide = [values[sequence].astype(numpy.float64) for values in (q, k, v)]
        keys, values = (part[:, :n].repeat(shared, 0) for part in wide[1:])
        yield sequence, rows, attend64(wide[0][:, rows], keys, values, bias(sizes, rows)[:, :, :n])


def make_attention(row, folder, cache):
    sizes = row.sizes
    b, t, heads, kv, d = (sizes[name] for name in ("b", "t", "heads", "kv", "d"))
    random = numpy.random.default_rng(2)
    arrays = {"q": normal(random, b, heads, t, d)} | {name: normal(random, b, kv, t, d) for name in "kv"}
    lengths = numpy.full(b, t, numpy.int32)
    if sizes["form"] == "padding":
        lengths = random.integers(t // 4, t + 1, b).astype(numpy.int32)
        arrays["lengths"] = lengths
    for name, values in arrays.items():
        numpy.save(folder / f"{name}.npy", values)
    (folder / "model.mlir").write_text(attention_text(sizes))
    answers = list(answer64(sizes, arrays["q"], arrays["k"], arrays["v"], lengths.tolist()))
    expected = numpy.concatenate([values.ravel() for _, _, values in answers])

    def check(found):
        found = found.reshape(b, heads, t, d)
        return difference(numpy.concatenate([found[sequence][:, rows].ravel() for sequence, rows, _ in answers]), expected)

    spec = {"model": "model.mlir", "weights": "", "function": "attend", "inputs": {name: f"{name}.npy" for name in arrays}, "output": "o"}
    return spec, check
