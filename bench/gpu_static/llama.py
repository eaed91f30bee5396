# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llama.cpp's Vulkan shaders: which are compared with, how they are compiled, and with which constants a GPU runs them.

Sources are those of PyPI's llama-cpp-python; none of them is kept here. Definitions are those of its vulkan-shaders-gen.cpp, constants and
sizes of subgroups those of its ggml-vulkan.cpp for AMD's GPUs with Mesa's driver. Where that takes a way of its own, it is said here.
"""
from dataclasses import dataclass

PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
ARCHIVE = f"llama_cpp_python-{VERSION}.tar.gz"
SHADERS_IN_ARCHIVE = f"llama_cpp_python-{VERSION}/vendor/llama.cpp/ggml/src/ggml-vulkan/vulkan-shaders/"

F32, F16, Q4_1, Q8_0, BF16 = 0, 1, 3, 8, 30  # numbers of types in constants
RDNA3 = 4  # number of the architecture in a constant


@dataclass(frozen=True)
class Shader:
    """A variant: its source, what is defined, and whether the optimizer runs (it does not for matrices and bf16)."""
    name: str
    source: str
    definitions: dict
    optimized: bool = True


def _types(name, two, four, eight=None):
    types = {"FLOAT_TYPE": name, "FLOAT_TYPEV2": two, "FLOAT_TYPEV4": four}
    return {**types, "FLOAT_TYPEV8": eight} if eight else types


SUMS = {"ACC_TYPE": "float", "ACC_TYPEV2": "vec2", "ACC_TYPE_VEC4": "vec4"}
SINGLE, HALF = _types("float", "vec2", "vec4", "mat2x4"), {"FLOAT16": "1", **_types("float16_t", "f16vec2", "f16vec4", "f16mat2x4")}
ROWS_F32 = {"B_TYPE_SCALAR": "float", "B_TYPEV4": "vec4", "D_TYPE": "float"}
ROWS_F16 = {"B_TYPE": "f16mat2x4", "B_TYPE_SCALAR": "float16_t", "B_TYPEV4": "f16vec4", "D_TYPE": "float"}
MATRICES = {"COOPMAT": "1"}


def _loads(count):
    return {"LOAD_VEC_A": count, "LOAD_VEC_B": count}


def _product_shaders():
    halves = {**SUMS, **HALF, **_loads("8"), **ROWS_F16, "DATA_A_F16": "1"}
    yield Shader("matmul_f32", "mul_mm.comp", {**SUMS, **SINGLE, **_loads("4"), **ROWS_F32, "B_TYPE": "vec4", "DATA_A_F32": "1"})
    yield Shader("matmul_f16", "mul_mm.comp", halves)
    yield Shader("matmul_f16_cm1", "mul_mm.comp", {**halves, **MATRICES}, optimized=False)
    yield Shader("matmul_bf16", "mul_mm.comp", {
        **SUMS, **_types("float", "vec2", "vec4"), **_loads("4"), "TO_FLOAT_TYPE": "bf16_to_fp32", "DATA_A_BF16": "1", "B_TYPE": "u16vec4",
        "B_TYPE_SCALAR": "uint16_t", "B_TYPEV4": "bf16vec4", "D_TYPE": "float", "B_IS_FLOAT": "1", "DATA_B_BF16": "1"}, optimized=False)
    yield Shader("matmul_quant", "mul_mm.comp", {**SUMS, **HALF, **ROWS_F32, "LOAD_VEC_B": "8", "B_TYPE": "mat2x4", "MULMAT_QUANT": "1"})
    for kind in ("q4_1", "q8_0"):
        codes = {**SUMS, **HALF, f"DATA_A_{kind.upper()}": "1", "D_TYPE": "float"}
        yield Shader(f"matmul_{kind}_q8_1", "mul_mmq.comp", codes)
        yield Shader(f"matmul_{kind}_q8_1_cm1", "mul_mmq_cm1.comp", {**codes, **MATRICES, "D_TYPE_VEC4": "vec4"}, optimized=False)


def _one_row_shaders():
    by_subgroup = {"FLOAT_TYPE": "float", "FLOAT_TYPEV2": "vec2", "D_TYPE": "float", "USE_SUBGROUP_ADD_NO_SHMEM": "1"}
    for kind in ("f32", "f16", "bf16", "q4_1", "q8_0"):
        yield Shader(f"mul_mat_vec_{kind}", "mul_mat_vec.comp",
                     {**by_subgroup, f"DATA_A_{kind.upper()}": "1", "B_TYPE": "float", "B_TYPEV2": "vec2", "B_TYPEV4": "vec4"},
                     optimized=kind != "bf16")
    yield Shader("mul_mat_vec_q4_1_q8_1", "mul_mat_vecq.comp", {**by_subgroup, "DATA_A_Q4_1": "1", "ACC_TYPE": "float"})


def _attention_shaders():
    common = {"ACC_TYPE": "float", "ACC_TYPEV2": "vec2", "ACC_TYPEV4": "vec4", "DATA_A_IQ4_NL": "1", "Q_TYPE": "float", "D_TYPE": "float",
              "D_TYPEV4": "vec4"}
    halves = {**common, "FLOAT16": "1", "FLOAT_TYPE_MAX": "float16_t(65504.0)", **_types("float16_t", "f16vec2", "f16vec4")}
    yield Shader("flash_attn_f32", "flash_attn.comp", {**common, **_types("float", "vec2", "vec4")})
    yield Shader("flash_attn_f16", "flash_attn.comp", halves)
    yield Shader("flash_attn_f16_cm1", "flash_attn_cm1.comp", {**halves, **MATRICES}, optimized=False)


SHADERS = [*_product_shaders(), *_one_row_shaders(), *_attention_shaders()]


@dataclass(frozen=True)
class Gpu:
    """What decides constants: the subgroup's size, whether it is asked for, packed dots, matrix units, memory shared with the processor."""
    architecture: str
    lanes: int
    asked: bool = False
    dots: bool = False
    matrices: bool = False
    integrated: bool = False


GPUS = {
    "polaris10": Gpu("GCN", 64),
    "vega10": Gpu("GCN", 64),
    "navi21": Gpu("RDNA2", 32, asked=True, dots=True),
    "navi31": Gpu("RDNA3", 64, dots=True, matrices=True),
    "gfx1150": Gpu("RDNA3", 64, dots=True, matrices=True, integrated=True),
}


@dataclass(frozen=True)
class Pipeline:
    shader: str
    tile: str  # as the table names it, empty where there is one
    constants: tuple
    subgroup: int | None


def _tiles(shader, gpu, middle, large, behind=()):
    """By both tiles, of 64 x 64 and of 128 x 128; llama.cpp takes the large one on AMD only for matrices, yet it may be the faster."""
    subgroup = gpu.lanes if gpu.asked else None
    return [Pipeline(shader, tile, (*constants, *behind), subgroup) for tile, constants in (("m", middle), ("l", large))]


def _product(shader):
    """By multiply-adds. On GPUs with matrices llama.cpp would take f16's, but for bf16, which has these constants there too."""
    def made(gpu):
        lanes = gpu.lanes
        return _tiles(shader, gpu, (128, 64, 64, 16, lanes, 32, 2, 4, 2, 1, lanes), (128, 128, 128, 16, 2 * lanes, 64, 2, 4, 4, 1, lanes), (1,))
    return made


def _product_by_matrices(gpu):
    lanes = gpu.lanes
    middle, large = (128, 64, 64, 16, lanes, 32, 2, 16, 16, 16, lanes, 1), (256, 128, 128, 16, lanes, 64, 2, 16, 16, 16, lanes, 1)
    return [Pipeline("matmul_f16_cm1", "m", middle, lanes), Pipeline("matmul_f16_cm1", "l", large, lanes)] if gpu.matrices else []


def _codes_by_dots(shader):
    def made(gpu):
        lanes = gpu.lanes
        return _tiles(shader, gpu, (128, 64, 64, 32, lanes, 32, 2, 2, 2, 1, lanes),
                      (128, 128, 128, 32, 2 * lanes, 64, 2, 4, 4, 1, lanes)) if gpu.dots else []
    return made


def _codes_by_matrices(shader):
    def made(gpu):
        return [Pipeline(shader, tile, (size * size // 32, size, size, 32, 32, 32, 2, 16, 16, 16, 32, RDNA3), 32)
                for tile, size in (("m", 64), ("l", 128))] if gpu.matrices else []
    return made


def _codes_as_halves(kind):
    """Where packed dots are no instruction: codes become f16 as they are staged."""
    def made(gpu):
        lanes = gpu.lanes
        middle = (256, 64, 64, 32, 16, 16, 2, 2, 2, 1, 16)
        return _tiles("matmul_quant", gpu, middle, (128, 128, 128, 32, 2 * lanes, 64, 2, 4, 4, 1, lanes), (1, kind)) if not gpu.dots else []
    return made


def _one_row(kind, columns, by_dots=False):
    """`columns` of a subgroup; GCN has twice as many of codes. Dots are for k of 2,048 or more: both are compared with."""
    def made(gpu):
        own = columns * (2 if kind.startswith("q") and gpu.architecture == "GCN" else 1)
        yield Pipeline(f"mul_mat_vec_{kind}", "", (gpu.lanes, own, 1), gpu.lanes)
        if by_dots and gpu.dots:
            yield Pipeline(f"mul_mat_vec_{kind}_q8_1", "dots", (gpu.lanes, 1, 1), gpu.lanes)
    return made


def _attention(shader, kind, bytes_of_block, head):
    """For many queries and keys without a mask, since whole chunks are compared, in which Heddle has none either."""
    def made(gpu):
        split = 4 if head > 64 and (gpu.architecture == "GCN" or gpu.integrated) else 1
        few = gpu.lanes > 32 and head < (128 if split == 1 else 64)
        unused = 0 if gpu.architecture == "GCN" else (26 if head <= 64 else 30) * 1024 // 16  # shared memory that limits subgroups
        rows = 8 if split == 1 else 16
        yield Pipeline(shader, "", (gpu.lanes * (2 if few else 4), rows, 32, head, head, 0, 8, split, gpu.lanes, 0, 0, unused,
                                                kind, kind, bytes_of_block, bytes_of_block), gpu.lanes)
    return made


def _attention_by_matrices(head):
    def made(gpu):
        constants = (4 * gpu.lanes, 16, 64, head, head, 0, 8, 4, gpu.lanes, 0, 0, 0, F16, F16, 2, 2)
        return [Pipeline("flash_attn_f16_cm1", "", constants, gpu.lanes)] if gpu.matrices else []
    return made


# Pipelines for a GPU by what they do, as gates.py names it.
PIPELINES = {
    "product f32": _product("matmul_f32"),
    "product bf16": _product("matmul_bf16"),
    "product f16": _product("matmul_f16"),
    "product f16, matrices": _product_by_matrices,
    "product int8, dots": _codes_by_dots("matmul_q8_0_q8_1"),
    "product int8, matrices": _codes_by_matrices("matmul_q8_0_q8_1_cm1"),
    "product int8, no dots": _codes_as_halves(Q8_0),
    "product int4, dots": _codes_by_dots("matmul_q4_1_q8_1"),
    "product int4, matrices": _codes_by_matrices("matmul_q4_1_q8_1_cm1"),
    "product int4, no dots": _codes_as_halves(Q4_1),
    "one row f32": _one_row("f32", 1),
    "one row bf16": _one_row("bf16", 2),
    "one row f16": _one_row("f16", 2),
    "one row int8": _one_row("q8_0", 1),
    "one row int4": _one_row("q4_1", 2, by_dots=True),
    "attention f32, heads of 64": _attention("flash_attn_f32", F32, 16, 64),
    "attention f32, heads of 128": _attention("flash_attn_f32", F32, 16, 128),
    "attention bf16, heads of 64": _attention("flash_attn_f32", BF16, 2, 64),
    "attention bf16, heads of 128": _attention("flash_attn_f32", BF16, 2, 128),
    "attention f16, heads of 64": _attention("flash_attn_f16", F16, 2, 64),
    "attention f16, heads of 128": _attention("flash_attn_f16", F16, 2, 128),
    "attention f16, heads of 64, matrices": _attention_by_matrices(64),
    "attention f16, heads of 128, matrices": _attention_by_matrices(128),
}
