# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a folder of the type `bert` with a WordPiece tokenizer as a GGUF file of f32; needs no package.

usage: python3 test/gguf/from-folder.py FOLDER OUT [KEY=VALUE ...]     KEY=VALUE: more metadata, a number or a text
"""

import json
import pathlib
import struct
import sys

import files

NAMES = {
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}


def piece(token):
    if token.startswith("[") and token.endswith("]"):
        return token
    return token[2:] if token.startswith("##") else "▁" + token


def name(tensor):
    stem, leaf = tensor.removeprefix("bert.").rsplit(".", 1)
    if not stem.startswith("encoder.layer."):
        return f"{NAMES[stem]}.{leaf}" if stem in NAMES else None
    layer, rest = stem.removeprefix("encoder.layer.").split(".", 1)
    return f"blk.{layer}.{NAMES[rest]}.{leaf}"


folder = pathlib.Path(sys.argv[1])
config = json.loads((folder / "config.json").read_text())
vocab = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
metadata = {
    "general.architecture": "bert", "bert.embedding_length": config["hidden_size"],
    "bert.block_count": config["num_hidden_layers"], "bert.attention.head_count": config["num_attention_heads"],
    "bert.feed_forward_length": config["intermediate_size"], "bert.context_length": config["max_position_embeddings"],
    "bert.attention.layer_norm_epsilon": float(config["layer_norm_eps"]), "tokenizer.ggml.model": "bert",
    "tokenizer.ggml.tokens": [piece(token) for token in sorted(vocab, key=vocab.get)]}
for word in sys.argv[3:]:
    key, data = word.split("=", 1)
    metadata[key] = int(data) if data.isdigit() else data

if metadata.get("bert.pooling_type") == 4:  # a classifier
    NAMES |= {"pooler.dense": "cls", "classifier": "cls.output"}
weights = (folder / "model.safetensors").read_bytes()
length = struct.unpack("<Q", weights[:8])[0]
tensors = json.loads(weights[8 : 8 + length])
wanted = []
for key, info in tensors.items():
    if key == "__metadata__" or name(key) is None:
        continue
    assert info["dtype"] == "F32", key
    begin, end = info["data_offsets"]
    wanted.append((name(key), info["shape"], weights[8 + length + begin : 8 + length + end]))
files.write(sys.argv[2], metadata, wanted)
