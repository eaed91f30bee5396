# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows: what is computed, at which sizes, with how much work. A row is chosen by its name. No package needed."""
import fnmatch

from . import language, sequences, shapes, training
from .formats import FORMATS
from .row import Row

HEADS, HEAD_SIZE = 12, 64
WINDOW = 256  # keys that a query of `window` sees, itself among them
GROUPED = (32, 8)  # heads of queries, and of keys and values
SIZE, FFN_SIZE, LAYERS, VOCABULARY = 768, 3072, 12, 30522
TOKENS = 50257  # of the decoder
GEMM_SHAPES = [(768, 768), (3072, 768), (768, 3072), (4096, 4096)]
WIDE_SHAPES = [(2304, 768), (11008, 4096), (32000, 2048)]


def gemm(dtype, m, n, k, **flags):
    # One row is a matter of reading; more are one of multiplying.
    name = f"gemv.{dtype}.{n}x{k}" if m == 1 else f"gemm.{dtype}.{m}x{n}x{k}"
    return Row(name, "gemm", dtype, {"m": m, "n": n, "k": k}, 2.0 * m * n * k, n * k * FORMATS[dtype].bytes + n * FORMATS[dtype].row_scale, **flags)


def allowed(form, t):
    """Pairs of a query and a key."""
    if form == "window":  # causal too
        return t * WINDOW - WINDOW * (WINDOW - 1) // 2
    return t * (t + 1) // 2 if form in ("causal", "gqa", "alibi") else t * t


def attention(dtype, form, t, b=1, **flags):
    """Work counts the pairs that a rule of the mask's own allows; padding counts as sentences do, in whole squares."""
    heads, kv = GROUPED if form == "gqa" else (HEADS, HEADS)
    sizes = {"b": b, "t": t, "form": form, "heads": heads, "kv": kv, "d": HEAD_SIZE}
    shape = f"T{t}" if b == 1 else f"B{b}T{t}"
    return Row(f"attention.{dtype}.{form}.{shape}", "attention", dtype, sizes, 4.0 * b * heads * HEAD_SIZE * allowed(form, t), **flags)


def layer_flops(b, s):
    return b * s * (2.0 * SIZE * SIZE * 4 + 4.0 * SIZE * FFN_SIZE) + 4.0 * b * s * s * SIZE


def encoder(prefix, dtype, layers, b, s, **flags):
    return Row(f"{prefix}.{dtype}.{b}x{s}", "layer" if layers == 1 else "model", dtype,
               {"b": b, "s": s, "layers": layers}, layers * layer_flops(b, s), **flags)


def gemm_rows():
    for dtype in FORMATS:
        for n, k in GEMM_SHAPES:
            quick = (n, k) == (3072, 768)
            yield gemm(dtype, 1, n, k, gated=not dtype.startswith("f16"), quick=quick and dtype == "f32")
            for m in (4, 16, 32, 64, 128, 512, 2048):
                gated = m == 512 if dtype == "int4" else m >= (32 if dtype == "f32" else 64) and dtype != "f16"
                yield gemm(dtype, m, n, k, gated=gated, quick=quick and m == 128)
        for n, k in WIDE_SHAPES:
            for m in (1, 16, 128):
                yield gemm(dtype, m, n, k)


def attention_rows():
    for t in (16, 32, 64, 128, 512, 2048, 4096):
        gated = t < 4096
        yield attention("f32", "full", t, gated=gated, quick=t in (128, 512), threads=(1, 2))
        yield attention("f32", "causal", t, gated=t == 2048, quick=t == 512)
        yield attention("bf16", "full", t, gated=t in (512, 2048), quick=t == 512)
        yield attention("f16", "full", t)
    yield attention("f32", "window", 4096, gated=True)
    for t in (512, 2048):
        yield attention("f32", "gqa", t)
        yield attention("f32", "alibi", t)
    for t in (128, 512):
        yield attention("f32", "padding", t, b=8)


def decode(dtype, b, p, **flags):
    """One step of attention over `p` keys that the caches hold: new rows are appended, one query a head reads all."""
    elements = 2 * b * HEADS * HEAD_SIZE * (p + 1)
    return Row(f"decode.{dtype}.B{b}.P{p}", "decode", dtype, {"b": b, "p": p}, 2.0 * elements, elements * FORMATS[dtype].bytes, **flags)


def decode_rows():
    for dtype in ("f32", "bf16", "f16"):
        for b in (1, 4, 16):
            for p in (128, 512, 2048, 8192):
                if b * p <= 8 * 8192:  # more does not fit into what a test machine has
                    yield decode(dtype, b, p, quick=dtype == "f32" and (b, p) == (1, 2048), gated=dtype != "f16" and p == 8192 and b <= 4)


def token(dtype, p):
    """The next token of a decoder of GPT-2's shape over caches of `p` rows; the bytes are those of the weights alone."""
    weights = LAYERS * (4 * SIZE * SIZE + 2 * SIZE * FFN_SIZE) + TOKENS * SIZE
    flops = 2.0 * weights + LAYERS * 4.0 * SIZE * (p + 1)
    return Row(f"model.decode.{dtype}.P{p}", "token", dtype, {"b": 1, "p": p, "layers": LAYERS}, flops, weights * FORMATS[dtype].bytes)


def token_rows():
    for dtype in ("f32", "bf16", "int8"):
        for p in (128, 1024):
            yield token(dtype, p)


def ffn(dtype, t, **flags):
    return Row(f"ffn.{dtype}.{t}", "ffn", dtype, {"t": t}, 4.0 * t * SIZE * FFN_SIZE, **flags)


def attend(dtype, t, **flags):
    """A norm, three projections to heads, attention, a projection back and the residual: the first half of a layer."""
    return Row(f"attend.{dtype}.{t}", "attend", dtype, {"t": t}, t * 8.0 * SIZE * SIZE + 4.0 * t * t * SIZE, **flags)


def encoder_rows():
    for dtype in ("f32", "bf16", "int8", "f16"):
        for s in (1, 16, 128, 512):
            yield ffn(dtype, s)
            yield attend(dtype, s)
            yield encoder("layer", dtype, 1, 1, s, quick=s == 128)
        for b in (1, 8):
            for s in (16, 128, 384):
                yield encoder("bert", dtype, LAYERS, b, s, gated=dtype != "f16", quick=(b, s) == (1, 128) and dtype == "f32")


def all_rows():
    rows = [*gemm_rows(), *attention_rows(), *decode_rows(), *encoder_rows(), *token_rows(), *language.rows(), *sequences.rows(), *shapes.rows(),
            *training.rows()]
    sizes = {"b": 1, "s": 16, "layers": LAYERS}
    rows.append(Row("compile.bert", "compile", "f32", sizes, gated=True, threads=(1,)))
    rows.append(Row("start.bert", "start", "f32", sizes, gated=True, threads=(1,)))
    rows += language.system_rows()
    rows.append(Row("bits", "bits", "f32", {}, gated=True, threads=(1,)))
    return rows


def reads(row):
    """Whether the row is a matter of reading: its rate is one of bytes."""
    return row.name.startswith("gemv.") or row.kind in ("decode", "token", "step") or row.kind == "texts" and row.bytes > 0


def select(rows, patterns):
    """Rows whose name fits a pattern (`gemm.f32.*`) or begins with it (`shapes`), each once, in their order; a pattern without any is an error."""
    chosen = set()
    for pattern in patterns:
        names = [row.name for row in rows if fnmatch.fnmatchcase(row.name, pattern) or row.name.startswith(pattern + ".")]
        if not names:
            raise ValueError(f"--rows: expected a pattern that fits a row, found '{pattern}'")
        chosen.update(names)
    return [row for row in rows if row.name in chosen]


# A run whose best peer is weak here is void: a comparison with a crippled peer flatters.
WITNESS = "gemm.f32.128x3072x768"
