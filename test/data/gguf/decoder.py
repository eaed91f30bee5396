# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a GGUF file of a decoder that says one token after every token, and "x" after that one; needs no package.

usage: python3 test/data/gguf/decoder.py OUT TOKEN [KEY=VALUE ...]     KEY=VALUE: more metadata, a number, true, false or a text;
    type=q4_1 or type=q8_0: that of its matrices, f32 unless said; head=… and table=…: that of the last one and of the first;
    parts=N: writes N parts, OUT-00001-of-0000N.gguf and so on
"""

import struct
import sys

import files

said = sys.argv[2]
TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "▁", "x", "▁x", "a", "▁a", said, "<|user|>"]
KINDS = [2, 3, 3] + [6] * 256 + [1] * 5 + [3, 3]
SIZE, COUNT = 64, len(TOKENS)

metadata = {
    "general.architecture": "llama", "llama.context_length": 128, "llama.embedding_length": SIZE, "llama.block_count": 1,
    "llama.feed_forward_length": 96, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 4,
    "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.dimension_count": 16, "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": TOKENS, "tokenizer.ggml.scores": [0.0] * 259 + [-float(i) for i in range(COUNT - 259)],
    "tokenizer.ggml.token_type": KINDS, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.chat_template": "{% for m in messages %}{{ '<|user|>' + m['content'] }}{% endfor %}"}
kind, head, table, parts = "f32", None, None, 0
for word in sys.argv[3:]:
    key, data = word.split("=", 1)
    if key == "type":
        kind = data
        continue
    if key == "head":
        head = data
        continue
    if key == "table":
        table = data
        continue
    if key == "parts":
        parts = int(data)
        continue
    metadata[key] = int(data) if data.isdigit() else {"true": True, "false": False}.get(data, data)


def matrix(rows, columns, ones=(), kind=kind):
    """Zeros, and numbers at some places."""
    numbers = [0.0] * (rows * columns)
    for row, column, number in ones:
        numbers[row * columns + column] = number
    if kind == "f32":
        return [rows, columns], struct.pack(f"<{len(numbers)}f", *numbers)
    # Blocks of 32 numbers, each 0 or the scale.
    data = b""
    for start in range(0, len(numbers), 32):
        block = numbers[start : start + 32]
        scale, codes = struct.pack("<e", max(block)), [int(number > 0) for number in block]
        if kind == "q4_1":
            data += scale + bytes(2) + bytes(codes[i] | codes[16 + i] << 4 for i in range(16))
        else:
            data += scale + bytes(codes)
    return [rows, columns], data, {"q4_1": 3, "q8_0": 8}[kind]


def norm():
    return [SIZE], struct.pack(f"<{SIZE}f", *[1.0] * SIZE)


end, x = TOKENS.index(said), TOKENS.index("x")
tensors = {
    "token_embd": matrix(COUNT, SIZE, [(i, int(i == end), 10.0) for i in range(COUNT)], table or kind),
    "output": matrix(COUNT, SIZE, [(end, 0, 5.0), (x, 1, 5.0)], head or kind), "output_norm": norm(), "blk.0.attn_norm": norm(), "blk.0.ffn_norm": norm(),
    "blk.0.ffn_gate": matrix(96, SIZE), "blk.0.ffn_up": matrix(96, SIZE), "blk.0.ffn_down": matrix(SIZE, 96)}
for part in ("q", "k", "v", "output"):
    tensors[f"blk.0.attn_{part}"] = matrix(SIZE, SIZE)
named = [(name + ".weight", *tensor) for name, tensor in tensors.items()]
if parts:
    files.write_parts(sys.argv[1], parts, metadata, named)
else:
    files.write(sys.argv[1], metadata, named)
