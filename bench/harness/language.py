# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of language models: shapes as data, the work of a token and of a prompt. No package needed."""
from dataclasses import dataclass

from .formats import FORMATS
from .row import Row

LIMIT = 2048  # positions, and rows of the caches
PAST = (128, 1024)  # rows that the caches hold when a token comes
PROMPT = 512
STEPS = 16  # as many tokens are timed before the caches are as long as they were
PEERS = ("llama.cpp", "llama.cpp.2", "onnxruntime", "openvino")
KINDS = ("step", "prompt")
ONLY = ("llama.cpp", "llama.cpp.2")  # peers that have no other rows
LARGE = 2 << 30  # bytes of weights: peers come one by one


@dataclass(frozen=True)
class Shape:
    name: str
    family: str  # the model_type of the folder
    layers: int
    size: int
    ffn: int
    heads: int
    kv: int  # heads of keys and values
    head: int  # their size
    words: int
    tied: bool  # the embedding table scores the words
    norms: bool  # of queries and keys, head by head
    batches: tuple = (1,)
    dtypes: tuple = ("bf16", "int8", "int4")
    repeats: bool = False  # all layers have the weights of the first

    def matrices(self):
        """Rows and columns of the products of a layer, by the names of a folder."""
        inner, shared = self.heads * self.head, self.kv * self.head
        return {"self_attn.q_proj": (inner, self.size), "self_attn.k_proj": (shared, self.size), "self_attn.v_proj": (shared, self.size),
                "self_attn.o_proj": (self.size, inner), "mlp.gate_proj": (self.ffn, self.size), "mlp.up_proj": (self.ffn, self.size),
                "mlp.down_proj": (self.size, self.ffn)}

    def layer_elements(self):
        return sum(n * k for n, k in self.matrices().values())

    def weight_bytes(self, dtype):
        """What a token reads: every matrix of the layers and what scores the words, with their scales."""
        form, classes = FORMATS[dtype], FORMATS[FORMATS[dtype].classes]
        layer = self.layer_elements() * form.bytes + sum(n for n, _ in self.matrices().values()) * form.row_scale
        return self.layers * layer + self.words * (self.size * classes.bytes + classes.row_scale)

    def cache_bytes(self, dtype, rows):
        return self.layers * 2 * self.kv * self.head * rows * FORMATS[dtype].state_bytes

    def product_flops(self, tokens, scored):
        return 2.0 * (tokens * self.layers * self.layer_elements() + scored * self.words * self.size)

    def pair_flops(self, pairs):
        return 4.0 * self.layers * self.heads * self.head * pairs


SHAPES = {shape.name: shape for shape in (
    Shape("llama", "llama", 22, 2048, 5632, 32, 4, 64, 32000, tied=False, norms=False, dtypes=("f32", "bf16", "int8", "int4")),
    Shape("qwen", "qwen3", 28, 1024, 3072, 16, 8, 128, 151936, tied=True, norms=True, batches=(1, 8)),
    Shape("llama7b", "llama", 32, 4096, 11008, 32, 32, 128, 32000, tied=False, norms=False, batches=(), repeats=True),
)}


def common(shape, dtype, b, p):
    return {"sizes": {"shape": shape.name, "b": b, "p": p}, "peers": PEERS, "alone": shape.weight_bytes(dtype) > LARGE}


def step(shape, dtype, b, p, **flags):
    """The next token of each of `b` texts, over caches of `p` rows each."""
    bytes_ = shape.weight_bytes(dtype) + b * shape.cache_bytes(dtype, p + 1)
    flops = shape.product_flops(b, b) + shape.pair_flops(b * (p + 1))
    rows = f"B{b}." if b > 1 else ""
    return Row(f"{shape.name}.token.{dtype}.{rows}P{p}", "step", dtype, flops=flops, bytes=bytes_, **common(shape, dtype, b, p), **flags)


def prompt(shape, dtype, p, **flags):
    """The first `p` tokens of a text at once, of which only the last is scored; attention counts the pairs that are allowed."""
    flops = shape.product_flops(p, 1) + shape.pair_flops(p * (p + 1) / 2)
    return Row(f"{shape.name}.prompt.{dtype}.{p}", "prompt", dtype, flops=flops, **common(shape, dtype, 1, p), **flags)


def rows():
    for shape in SHAPES.values():
        first = shape.name == "llama"
        for dtype in shape.dtypes:
            for b in shape.batches:
                for p in PAST:
                    gated = first and dtype != "f32" or shape.name == "qwen" and dtype == "bf16"
                    yield step(shape, dtype, b, p, gated=gated, quick=first and dtype == "int4" and p == 128)
            if shape.batches:
                yield prompt(shape, dtype, PROMPT, gated=first, quick=first and dtype == "int4")


def system_rows():
    for name in ("llama", "llama7b"):
        for dtype in ("bf16", "int8", "int4") if name == "llama" else ("int4",):
            more = {"gated": True, "threads": (1,), "sizes": {"shape": name}}
            yield Row(f"compile.{name}.{dtype}", "compile-language", dtype, **more)
            if name == "llama":
                yield Row(f"start.{name}.{dtype}", "start-language", dtype, **more)
