# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files of a language model's folder: its bf16 weights bit for bit, and what llama.cpp's own tool makes of them."""
import ctypes

import numpy

from . import checkpoints, language

NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
FILE_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 7, "q4_k_m": 15, "bf16": 32}  # llama_ftype


def name_of(tensor):
    stem = tensor.removesuffix(".weight")
    if stem in OUTER:
        return OUTER[stem] + ".weight"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{NAMES[part]}.weight"


def in_pairs(bits, heads):
    """Rows of a head's halves as the pairs that this family of files has."""
    return bits.reshape(heads, 2, -1, bits.shape[1]).swapaxes(1, 2).reshape(bits.shape)


def write_metadata(writer, shape, file_type):
    writer.add_vocab_size(shape.words)
    writer.add_context_length(language.LIMIT)
    writer.add_embedding_length(shape.size)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv)
    writer.add_key_length(shape.head)
    writer.add_value_length(shape.head)
    writer.add_rope_dimension_count(shape.head)
    writer.add_rope_freq_base(checkpoints.BASE)
    writer.add_layer_norm_rms_eps(checkpoints.EPSILON)
    writer.add_tokenizer_model("none")  # ids in, logits out
    writer.add_file_type(file_type)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_bf16(path, shape, home):
    import gguf
    writer = gguf.GGUFWriter(str(path), shape.family)
    write_metadata(writer, shape, FILE_TYPES["bf16"])
    tensors = checkpoints.Tensors(home)
    for name in tensors.names():
        bits = tensors.bits(name)
        if bits.ndim == 1:
            writer.add_tensor(name_of(name), checkpoints.widened(bits))
            continue
        if shape.family == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
            bits = in_pairs(bits, shape.heads if "q_proj" in name else shape.kv)
        writer.add_tensor(name_of(name), numpy.ascontiguousarray(bits).view(numpy.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
    finish(writer)


def quantise(source, path, kind):
    """As llama-quantize does it: what scores the words may get more bits."""
    import llama_cpp
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = FILE_TYPES[kind]
    status = llama_cpp.llama_model_quantize(str(source).encode(), str(path).encode(), ctypes.byref(settings))
    if status:
        raise RuntimeError(f"llama_model_quantize to {kind}: {status}")


def file_of(shape, home, kind, work):
    """The folder's weights as a file of type `kind`, made when it is first asked for; what has four bytes a weight is not kept."""
    path = (work if kind == "f32" else home) / f"{shape.name}.{kind}.gguf"
    if not path.exists():
        made = path.with_suffix(".new")
        if kind == "bf16":
            write_bf16(made, shape, home)
        else:
            quantise(file_of(shape, home, "bf16", work), made, kind)
        made.replace(path)
    return path
