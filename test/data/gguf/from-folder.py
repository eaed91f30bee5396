# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a folder of the type `bert` or `qwen3` with a WordPiece tokenizer as a GGUF file of f32; needs no package.

usage: python3 test/data/gguf/from-folder.py FOLDER OUT [KEY=VALUE ...]     KEY=VALUE: more metadata, a number or a text

As in llama.cpp's converter, classes are tensors `cls`, and a folder with a LogitScore becomes a reranker of two rows of its table.
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
    "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
    "embed_tokens": "token_embd", "norm": "output_norm", "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def piece(token):
    if token.startswith("[") and token.endswith("]"):
        return token
    return token[2:] if token.startswith("##") else "▁" + token


def name(tensor):
    stem, leaf = tensor.removeprefix("bert.").removeprefix("model.").rsplit(".", 1)
    if not stem.startswith(("encoder.layer.", "layers.")):
        return f"{NAMES[stem]}.{leaf}" if stem in NAMES else None
    layer, rest = stem.removeprefix("encoder.layer.").removeprefix("layers.").split(".", 1)
    return f"blk.{layer}.{NAMES[rest]}.{leaf}"


folder = pathlib.Path(sys.argv[1])
config = json.loads((folder / "config.json").read_text())
vocab = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
kind = config["model_type"]
keys = {"embedding_length": config["hidden_size"], "block_count": config["num_hidden_layers"],
        "attention.head_count": config["num_attention_heads"], "feed_forward_length": config["intermediate_size"],
        "context_length": config["max_position_embeddings"]}
if kind == "bert":
    keys["attention.layer_norm_epsilon"] = float(config["layer_norm_eps"])
else:
    keys |= {"attention.head_count_kv": config["num_key_value_heads"], "attention.key_length": config["head_dim"],
             "attention.value_length": config["head_dim"], "attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
             "rope.freq_base": config["rope_theta"]}
if "ForSequenceClassification" in config["architectures"][0]:
    keys["classifier.output_labels"] = list(config["id2label"].values())
    NAMES |= {"pooler.dense": "cls", "classifier": "cls.output"}
metadata = {
    "general.architecture": kind, **{f"{kind}.{key}": value for key, value in keys.items()}, "tokenizer.ggml.model": "bert",
    "tokenizer.ggml.tokens": [piece(token) for token in sorted(vocab, key=vocab.get)]}
for word in sys.argv[3:]:
    key, data = word.split("=", 1)
    metadata[key] = int(data) if data.isdigit() else data

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
score = folder / "1_LogitScore/config.json"
if score.exists():
    tokens = json.loads(score.read_text())
    size = 4 * config["hidden_size"]
    table = next(data for name, _, data in wanted if name == "token_embd.weight")
    rows = [table[id * size : (id + 1) * size] for id in (tokens["true_token_id"], tokens["false_token_id"])]
    wanted.append(("cls.output.weight", [2, config["hidden_size"]], b"".join(rows)))
    metadata |= {f"{kind}.pooling_type": 4, f"{kind}.classifier.output_labels": ["yes", "no"]}
files.write(sys.argv[2], metadata, wanted)
