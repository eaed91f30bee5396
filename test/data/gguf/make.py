# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes test/data/gguf/blocks.gguf: tensors of each type that is read, and what the package `gguf` makes of them; and seeds
of the fuzzer `gguf`: a tokenizer of each kind, and a small block.

usage: python test/data/gguf/make.py     needs the packages gguf and numpy

A tensor NAME of seeded bytes stands beside "NAME decoded", of f32. Scales are small, negative, denormal and zero.
"""

import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize

PATH = pathlib.Path(__file__).parent / "blocks.gguf"
# Offsets of the f16 numbers in a block, whose random bytes could be no numbers.
HALVES = {Type.Q8_0: [0], Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
          Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.IQ4_NL: [0], Type.IQ4_XS: [0],
          Type.MXFP4: []}

random = np.random.default_rng(7)


def blocks(kind, rows, columns):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    data = random.integers(0, 256, (rows, columns // elements, size), dtype=np.uint8)
    for offset in HALVES[kind]:
        scales = (random.standard_normal(data.shape[:2]) * 2.0 ** random.integers(-20, 3, data.shape[:2])).astype("<f2")
        scales.flat[0] = np.float16(6e-8)  # denormal
        data[..., offset : offset + 2] = scales[..., None].view(np.uint8)
    for offset in HALVES[kind][:1]:
        data[-1, -1, offset : offset + 2] = 0
    if kind == Type.MXFP4:  # exponents of denormals, of the largest scales and of some between
        data[..., 0].flat = np.resize([0, 1, 2, 255, 120, 127], data[..., 0].size)
    return data.reshape(rows, -1)


writer = gguf.GGUFWriter(PATH, "none")
for kind in HALVES:
    wide = gguf.GGML_QUANT_SIZES[kind][0] == 256
    data = blocks(kind, *((2, 256) if wide else (3, 64)))
    writer.add_tensor(kind.name.lower(), data, raw_dtype=kind)
    writer.add_tensor(kind.name.lower() + " decoded", dequantize(data, kind).astype("<f4"))
numbers = np.array([[1.5, -2.25e-6, 65504.0], [0.0, 3.1e-5, -7.0]], "<f4")
for kind, data in [(Type.F32, numbers), (Type.F16, numbers.astype("<f2"))]:
    writer.add_tensor(kind.name.lower(), data)
    writer.add_tensor(kind.name.lower() + " decoded", data.astype("<f4"))
rounded = gguf.quants.quantize(numbers, Type.BF16)
writer.add_tensor("bf16", rounded, raw_dtype=Type.BF16)
writer.add_tensor("bf16 decoded", dequantize(rounded, Type.BF16).astype("<f4"))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()

# Seeds for test/fuzz: a value of each kind, and a tokenizer of each model.
SEEDS = pathlib.Path(__file__).parents[2] / "fuzz/corpus/gguf"
SEEDS.mkdir(parents=True, exist_ok=True)


def seed(name, model, tokens, kinds, **rest):
    writer = gguf.GGUFWriter(SEEDS / name, "bert")
    writer.add_embedding_length(8)
    writer.add_layer_norm_eps(1e-12)
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    for key, value in rest.items():
        getattr(writer, "add_" + key)(value)
    data = blocks(Type.Q4_1, 1, 32)
    writer.add_tensor("token_embd.weight", data, raw_dtype=Type.Q4_1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


seed("wordpiece", "bert", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "b", "c"], [3, 3, 3, 3, 1, 1, 1], unk_token_id=1)
seed("pieces", "llama", ["<unk>", "<s>", "▁", "a", "▁a", "<0x0A>", "é"], [2, 3, 1, 1, 1, 6, 1],
     token_scores=[0.0, 0.0, -1.0, -2.0, -3.0, 0.0, -4.0], bos_token_id=1, add_bos_token=True)
seed("bytes", "gpt2", ["a", "b", "ab", "Ġ", "<|end|>", "<x>"], [1, 1, 1, 1, 3, 4], tokenizer_pre="llama-bpe",
     token_merges=["a b"], bos_token_id=4, eos_token_id=4, add_eos_token=True, chat_template="{{ messages[0].content }}")
seed("unigram", "t5", ["<pad>", "</s>", "<unk>", "▁", "a", "▁a", "[PAD6]"], [3, 3, 2, 1, 1, 1, 5],
     token_scores=[0.0, 0.0, 0.0, -1.0, -2.0, -1.5, -10000.0], precompiled_charsmap=bytes(8), add_space_prefix=True,
     remove_extra_whitespaces=True, eos_token_id=1, add_eos_token=True)
