# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models of seeded weights as Hugging Face folders, bf16 in shards, written once and mapped when they are read."""
import json
import math
import struct

import numpy

from . import language

EPSILON, BASE = 1e-5, 10000.0
SHARD = 4 << 30  # bytes of tensors that a file holds, about
CLASSES = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}


def rounded(values):
    """f32 as the bits of bf16, ties to even."""
    bits = values.view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def widened(bits, dtype=numpy.float32):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32).astype(dtype, copy=False)


def shapes_of(shape):
    """Shapes of all tensors by name, in the order of a text's way through them."""
    tensors = {"model.embed_tokens.weight": (shape.words, shape.size)}
    for layer in range(shape.layers):
        place = f"model.layers.{layer}."
        tensors[place + "input_layernorm.weight"] = (shape.size,)
        tensors |= {f"{place}{name}.weight": sizes for name, sizes in shape.matrices().items()}
        if shape.norms:
            tensors |= {f"{place}self_attn.{name}.weight": (shape.head,) for name in ("q_norm", "k_norm")}
        tensors[place + "post_attention_layernorm.weight"] = (shape.size,)
    tensors["model.norm.weight"] = (shape.size,)
    if not shape.tied:
        tensors["lm_head.weight"] = (shape.words, shape.size)
    return tensors


def values_of(name, sizes):
    """Weights that keep the size of rows, those of norms about 1, by the tensor's name."""
    random = numpy.random.default_rng(list(name.encode()))
    values = random.standard_normal(sizes, dtype=numpy.float32)
    if len(sizes) == 1:
        return 1 + values * numpy.float32(0.02)
    return values if "embed" in name else values * numpy.float32(1 / math.sqrt(sizes[1]))


def shards(tensors):
    """The tensors in files of about SHARD bytes."""
    files, bytes_ = [{}], 0
    for name, sizes in tensors.items():
        size = 2 * math.prod(sizes)
        if bytes_ and bytes_ + size > SHARD:
            files.append({})
            bytes_ = 0
        files[-1][name] = sizes
        bytes_ += size
    return files


def write_shard(path, tensors, values):
    header, end = {}, 0
    for name, sizes in tensors.items():
        begin, end = end, end + 2 * math.prod(sizes)
        header[name] = {"dtype": "BF16", "shape": list(sizes), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, sizes in tensors.items():
            values(name, sizes).tofile(file)


def config(shape):
    return {"architectures": [CLASSES[shape.family]], "model_type": shape.family, "dtype": "bfloat16", "vocab_size": shape.words,
            "hidden_size": shape.size, "intermediate_size": shape.ffn, "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads, "num_key_value_heads": shape.kv, "head_dim": shape.head, "hidden_act": "silu",
            "rms_norm_eps": EPSILON, "rope_theta": BASE, "max_position_embeddings": language.LIMIT, "tie_word_embeddings": shape.tied,
            "attention_bias": False, "bos_token_id": 1, "eos_token_id": 2}


def written(folder, settings, shapes, values):
    """A folder of a model, made where there is none: `values` gives the bits of a tensor by its name and shape."""
    if (folder / "ready").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings, indent=1))
    files = shards(shapes)
    names = ["model.safetensors"] if len(files) == 1 else [f"model-{n:05}-of-{len(files):05}.safetensors" for n in range(1, len(files) + 1)]
    for name, tensors in zip(names, files):
        write_shard(folder / name, tensors, values)
    if len(files) > 1:
        places = {tensor: name for name, tensors in zip(names, files) for tensor in tensors}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (folder / "ready").touch()
    return folder


def folder_of(shape, cache):
    kept = {}

    def values(name, sizes):
        if not shape.repeats:
            return rounded(values_of(name, sizes))
        name = ".".join("0" if part.isdigit() else part for part in name.split("."))
        if name not in kept:
            kept[name] = rounded(values_of(name, sizes))
        return kept[name]

    return written(cache / f"language-{shape.name}", config(shape), shapes_of(shape), values)


def bytes_of(folder):
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))


class Tensors:
    """The bits of a folder's tensors by name, mapped."""

    def __init__(self, folder):
        self.places = {}
        for path in sorted(folder.glob("*.safetensors")):
            with open(path, "rb") as file:
                length = struct.unpack("<Q", file.read(8))[0]
                header = json.loads(file.read(length))
            self.places |= {name: (path, 8 + length + entry["data_offsets"][0], tuple(entry["shape"])) for name, entry in header.items()}

    def names(self):
        return list(self.places)

    def bits(self, name):
        path, offset, sizes = self.places[name]
        return numpy.memmap(path, numpy.uint16, "r", offset, sizes)

    def wide(self, name, dtype=numpy.float32):
        return widened(self.bits(name), dtype)
