# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold, as data. No package needed.

A gate belongs to one row on one number of threads. It names numbers of which each is enough: a ratio to a peer, or a
share of the machine's own limit, since a peer that is at the limit cannot be beaten by much. Its identifier is the
row's and the first number's, `gemm.f32.64x768x768.t1.peak`.
"""
from dataclasses import dataclass

from . import language, matrix, shapes

NEVER_SLOWER = 0.97


@dataclass(frozen=True)
class Gate:
    row: str
    threads: int
    what: str  # peak, read, best-peer, dense-peer, a peer's name or the first part of several, tokens-of ROW, or a fact
    limit: float
    text: str
    at_most: bool = False
    others: tuple = ()  # further (what, limit)

    @property
    def id(self):
        return f"{self.row}.t{self.threads}.{self.what.split()[0]}"

    @property
    def choices(self):
        return ((self.what, self.limit), *self.others)


def least(row, threads, what, limit, *others):
    """`others` are pairs of what and a limit."""
    text = " or ".join(f"{at:g} {name}" if others else f"{at:g}" for name, at in ((what, limit), *others))
    return Gate(row, threads, what, limit, f">= {text}", others=others)


def gemm_gates():
    for n, k in matrix.GEMM_SHAPES:
        for m in (32, 64, 128, 512, 2048):
            row = f"gemm.f32.{m}x{n}x{k}"
            for threads in (1, 2):
                yield least(row, threads, "peak", 0.90 if m > 32 and threads == 1 else 0.88, ("best-peer", NEVER_SLOWER))
        for m in (64, 128, 512, 2048):
            yield least(f"gemm.bf16.{m}x{n}x{k}", 1, "peak", 0.85)
            yield least(f"gemm.int8.{m}x{n}x{k}", 1, "peak", 0.88)
            yield least(f"gemm.f16-sum.{m}x{n}x{k}", 1, "peak", 1.6)
        yield least(f"gemm.int4.512x{n}x{k}", 1, "peak", 0.48)
        for threads in (1, 2):
            for dtype, limit in (("f32", 0.9), ("int8", 0.9), ("bf16", 0.82)):
                if (dtype, n * k, threads) != ("int8", 768 * 768, 2):
                    yield least(f"gemv.{dtype}.{n}x{k}", threads, "read", limit)
            # int4 multiplies so many weights a byte that caches are faster than it.
            yield least(f"gemv.int4.{n}x{k}", threads, "read", 0.80 if n * k >= 4096 * 4096 else 0.55)


def attention_gates():
    for t in (16, 32, 64, 128):
        yield least(f"attention.f32.full.T{t}", 1, "best-peer", NEVER_SLOWER)
    for t, share in ((512, 0.77), (2048, 0.82)):
        yield least(f"attention.f32.full.T{t}", 1, "peak", share, ("best-peer", 1.15))
        yield least(f"attention.bf16.full.T{t}", 1, "best-peer", 1.15)
    yield least("attention.f32.causal.T2048", 1, "torch", 1.6)
    yield least("attention.f32.window.T4096", 1, "flex", 2)
    yield least("attention.f32.window.T4096", 1, "dense-peer", 8)
    for dtype in ("f32", "bf16"):
        for b in (1, 4):
            for threads in (1, 2):
                yield least(f"decode.{dtype}.B{b}.P8192", threads, "read", 0.75)


def model_gates():
    for b in (1, 8):
        for s in (16, 128, 384):
            few = b * s <= 32
            for threads in (1, 2):
                for dtype, share in (("f32", 0.85 if few else 0.88), ("bf16", 0.82)):
                    ratio = NEVER_SLOWER if not few else 1.25 if dtype == "f32" else 1.4
                    yield least(f"bert.{dtype}.{b}x{s}", threads, "best-peer", ratio, ("peak", share))
                row = f"bert.int8.{b}x{s}"
                yield least(row, threads, "openvino", 1.15 if few else 1.05)
                yield least(row, threads, "onnxruntime", 1.4)


def token_gates(row, dtype):
    """Of llama.cpp's types for int4, the faster counts."""
    peer, one, two = ("llama.cpp", 0.70, 0.80) if dtype == "int4" else ("best-peer", 0.80, 0.82)
    yield least(row, 1, "read", one, *([(peer, 1.2)] if dtype == "int4" else []))
    yield least(row, 2, "read", two, (peer, 1.2))


def language_gates():
    for dtype in ("bf16", "int8", "int4"):
        for p in language.PAST:
            yield from token_gates(f"llama.token.{dtype}.P{p}", dtype)
    for dtype, share, ratio in (("f32", 0.85, 1.3), ("bf16", 0.85, 1.3), ("int8", 0.75, 1.5), ("int4", 0.48, 1.5)):
        for threads in (1, 2):
            yield least(f"llama.prompt.{dtype}.{language.PROMPT}", threads, "peak", share, ("best-peer", ratio))
    for p in language.PAST:
        for threads in (1, 2):
            yield Gate(f"qwen.token.bf16.B8.P{p}", threads, f"tokens-of qwen.token.bf16.P{p}", 4, ">= 4 times the tokens of one row")
    for dtype in ("bf16", "int8", "int4"):
        yield Gate(f"compile.llama.{dtype}", 1, "beyond-packing", 2, "<= 2 s beyond packing", at_most=True)
        yield Gate(f"compile.llama.{dtype}", 1, "packing", 1, ">= 1 GB/s of the checkpoint")
        yield Gate(f"start.llama.{dtype}", 1, "first-result", 0.3, "<= 0.3 s from the cache", at_most=True)
        yield Gate(f"start.llama.{dtype}", 1, "anonymous", 1, "<= 0.1 x weights + caches + 64 MB", at_most=True)
    yield Gate("compile.llama7b.int4", 1, "beyond-packing", 10, "<= 10 s beyond packing", at_most=True)


def sequence_gates():
    for threads in (1, 2):
        for dtype, ratio, share in (("f32", 1.2, 0.80), ("int8", 1.5, 0.75)):
            yield least(f"translate.greedy.{dtype}", threads, "best-peer", ratio, ("read", share))
            yield least(f"translate.beam4x32.{dtype}", threads, "best-peer", 1.5)
            for shape in ("whisper-tiny", "whisper-small"):
                yield least(f"{shape}.encode.{dtype}", threads, "best-peer", 1.3, ("peak", 0.85))


def shapes_gates():
    for row in shapes.rows():
        yield least(row.name, 1, "products", 0.80 if row.sizes["rows"] >= 32 else 0.70)


def other_gates():
    for row, what, limit, text in (
            ("compile.bert", "cold", 1.5, "s, cold"), ("compile.bert", "cached", 0.1, "s, from the cache"),
            ("start.bert", "first-result", 0.1, "s to the first result"), ("start.bert", "memory", 1.15, "times the weights")):
        yield Gate(row, 1, what, limit, f"<= {limit:g} {text}", at_most=True)
    yield Gate("bits", 1, "equal", 1, ">= 1: every equality of bits")


def all_gates():
    return [*gemm_gates(), *attention_gates(), *model_gates(), *language_gates(), *sequence_gates(), *shapes_gates(), *other_gates()]
