# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renames the tensors of a DETR's residual network as timm names them, which the published folders have.

usage: timm_names.py FOLDER     rewrites FOLDER/model.safetensors
"""
import json
import os
import struct
import sys


def timm_name(name):
    head, at, rest = name.partition("conv_encoder.model.")
    if not at:
        return name
    parts = rest.split(".")
    leaf = parts[-1]
    if parts[0] == "embedder":
        return head + at + {"convolution": "conv1.", "normalization": "bn1."}[parts[2]] + leaf
    block = f"layer{int(parts[2]) + 1}.{parts[4]}."
    if parts[5] == "shortcut":
        return head + at + block + {"convolution": "downsample.0.", "normalization": "downsample.1."}[parts[6]] + leaf
    return head + at + block + {"convolution": "conv", "normalization": "bn"}[parts[7]] + f"{int(parts[6]) + 1}." + leaf


path = os.path.join(sys.argv[1], "model.safetensors")
data = open(path, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = {timm_name(name): entry for name, entry in json.loads(data[8 : 8 + size]).items()}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(path, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size :])
