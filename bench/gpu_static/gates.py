# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold of the code that AMD's compiler makes of kernels, as data.

A gate is a figure of some kernels on each family of GPUs: its own limit, and at least NEVER_SLOWER of what llama.cpp's shader for
the same has by its tile with about as many registers. Of several kernels the worst counts.
"""
from dataclasses import dataclass

from .driver import FAMILIES
from .llama import GPUS, PIPELINES

NEVER_SLOWER = 0.97

# Models by name, and the features of their heads.
MODELS = {"base": ("test/data/models/base.json", 64), "decoder-64": ("test/lit/gpu/decoder-64.json", 64),
          "decoder-128": ("test/lit/gpu/decoder-128.json", 128)}

# Kernels by what they do; `columns` of a product are known where its workgroups for one row are asked for.
PRODUCTS = ("base/linear3_heads", "base/linear_add", "base/linear_relu", "decoder-64/linear_add", "decoder-64/linear2_silu_mul")
SINGLE_PRODUCTS = ("base/linear_add", "base/linear_relu", "decoder-64/linear_add")
ONE_ROW = ("base/linear3_heads_few", "base/linear_add_few", "base/linear_relu_few", "decoder-64/linear2_silu_mul_few")
COLUMNS = {"base/linear3_heads_few": 1536, "base/linear_add_few": 512, "base/linear_relu_few": 2048, "decoder-64/linear2_silu_mul_few": 512}
HEADS_OF_64, HEADS_OF_128 = ("base/attention_4", "decoder-64/attention"), ("decoder-128/attention",)
# Attention of base is not for matrix units, since the model returns weights (WithoutMatrices.h).
HEADS_OF_64_BY_MATRICES = ("decoder-64/attention",)

TYPES = ("f32", "bf16", "f16", "int8", "int4")


def runs(dtype, level):
    """Architectures whose devices have a way of running a type's products of a level, as far as a driver compiles them."""
    if level == 2:  # matrices of bf16 need a driver that does not compile without a GPU
        return () if dtype in ("f32", "bf16") else ("RDNA3",)
    return ("RDNA2", "RDNA3") if level == 1 and dtype.startswith("int") else ("GCN", "RDNA2", "RDNA3")


@dataclass(frozen=True)
class Kernels:
    """Of models of a type, the variants of a level."""
    dtype: str
    level: int
    names: tuple


@dataclass(frozen=True)
class Gate:
    """`limits` are by family or architecture, "" for the others, or one for all; `beside` names llama.cpp's pipelines. `either` of both is enough."""
    name: str
    figure: str  # a column of bench/gpu-static, or panels: workgroups for each 16 columns
    kernels: tuple  # of Kernels
    limits: object = None
    at_most: bool = False
    beside: str = ""
    either: bool = False

    def families(self):
        """Those that it holds on."""
        return [family for family in FAMILIES[True] if self.kernels_of(family) and (self.limit(family) is not None or self.pipelines(family))]

    def kernels_of(self, family):
        return [kernels for kernels in self.kernels if GPUS[family].architecture in runs(kernels.dtype, kernels.level)]

    def pipelines(self, family):
        """llama.cpp's on a family: none where it would not run any."""
        return list(PIPELINES[self.beside](GPUS[family])) if self.beside else []

    def limit(self, family):
        by = self.limits if isinstance(self.limits, dict) else {"": self.limits}
        return next((by[key] for key in (family, GPUS[family].architecture, "") if key in by), None)

    def wanted(self):
        by = self.limits if isinstance(self.limits, dict) else {"": self.limits} if self.limits is not None else {}
        limits = ", ".join(f"{where} {limit}".strip() for where, limit in by.items())
        parts = [f"{'<=' if self.at_most else '>='} {limits}"] if limits else []
        return (" or " if self.either else "; ").join([*parts, *([f"ratio {NEVER_SLOWER:g}"] if self.beside else [])])


def products():
    def gate(dtype, level, figure, limits=None, beside="", **more):
        kernels = Kernels(dtype, level, PRODUCTS)
        return Gate(f"product {dtype}, level {level}: {figure}", figure, (kernels,), limits, beside=f"product {dtype}{beside}", **more)

    yield gate("f32", 0, "issue", {"": 93, "RDNA3": 90})
    yield gate("f32", 0, "rate")
    yield gate("f32", 1, "rate", {"RDNA2": 30, "RDNA3": 58})
    yield gate("bf16", 0, "rate")
    yield gate("bf16", 1, "rate", {"RDNA2": 24, "RDNA3": 49})
    yield gate("f16", 0, "rate", {"RDNA2": 30})
    yield gate("f16", 1, "rate")
    yield gate("f16", 2, "rate", 113, ", matrices")
    yield gate("int8", 0, "rate", {"RDNA2": 24, "RDNA3": 30}, ", no dots")
    yield gate("int8", 1, "rate", 120, ", dots")
    yield gate("int8", 2, "rate", 120, ", matrices")
    yield gate("int4", 0, "rate", None, ", no dots")
    yield gate("int4", 1, "rate", {"RDNA2": 70, "RDNA3": 74}, ", dots", either=True)
    yield gate("int4", 2, "rate", None, ", matrices")


def all_types(level, names, types=TYPES):
    return tuple(Kernels(dtype, level, names) for dtype in types if runs(dtype, level))


def resources():
    """What a linear layer's product may take of a device. Registers of level 2 go with waves: where fewer fit, a lane gets more."""
    narrow = all_types(1, SINGLE_PRODUCTS, [dtype for dtype in TYPES if dtype != "bf16"])
    single = {level: all_types(level, SINGLE_PRODUCTS) for level in (1, 2)}
    yield Gate("product, level 1: registers", "registers", narrow, 128, at_most=True)
    yield Gate("product bf16, level 1: registers", "registers", (Kernels("bf16", 1, SINGLE_PRODUCTS),), 144, at_most=True)
    yield Gate("product, level 1: waves", "waves", single[1], {"navi21": 8, "navi31": 10})
    yield Gate("product, level 1: shared bytes", "shared", single[1], 17920, at_most=True)
    yield Gate("product, level 2: registers", "registers", single[2], {"navi31": 168}, at_most=True)
    yield Gate("product, level 2: waves", "waves", single[2], {"navi31": 9})
    everything = [kernels for level in (0, 1, 2) for kernels in all_types(level, PRODUCTS)]
    yield Gate("product, all levels: loop spills", "loop spills", tuple(everything), 0, at_most=True)


def one_row():
    for dtype in TYPES:
        yield Gate(f"one row {dtype}: rate", "rate", (Kernels(dtype, 0, ONE_ROW),), beside=f"one row {dtype}")
    yield Gate("one row: workgroups for 16 columns", "panels", all_types(0, ONE_ROW), 1)
    yield Gate("one row: registers", "registers", all_types(0, ONE_ROW), 64, at_most=True)
    yield Gate("one row, level 2: registers", "registers", all_types(2, ONE_ROW), 96, at_most=True)


def attention():
    """Of a whole chunk of keys: the share of its multiply-adds, and where matrices are beside, whose share is of more, the rate too."""
    def gate(dtype, heads, level, limits=None, beside="", figure="chunk"):
        of_64 = HEADS_OF_64_BY_MATRICES if level == 2 else HEADS_OF_64
        names, what = of_64 if heads == 64 else HEADS_OF_128, f"attention {dtype}, heads of {heads}"
        return Gate(f"{what}, level {level}: {figure}{beside}", figure, (Kernels(dtype, level, names),), limits, beside=f"{what}{beside}")

    yield gate("f32", 64, 0)
    yield gate("f32", 64, 1, {"": 90, "RDNA3": 88})
    yield gate("f32", 128, 0, 87)
    for dtype in ("bf16", "f16"):
        yield gate(dtype, 64, 1 if dtype == "bf16" else 0)
        yield gate(dtype, 128, 0)
    yield gate("f16", 64, 2, 75, ", matrices")
    yield gate("f16", 64, 2, None, ", matrices", "chunk rate")
    yield gate("f16", 128, 2, None, ", matrices", "chunk rate")


def all_gates():
    return [*products(), *resources(), *one_row(), *attention()]
