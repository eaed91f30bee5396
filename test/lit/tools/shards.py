# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splits model.safetensors of a folder into two shards, of every second tensor each.

usage: shards.py FOLDER"""
import json
import os
import struct
import sys

folder = sys.argv[1]
path = os.path.join(folder, "model.safetensors")
with open(path, "rb") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    header, data = json.loads(file.read(size)), file.read()
header.pop("__metadata__", None)
names, places = sorted(header), {}
for shard in range(2):
    own, contents = {}, b""
    for name in names[shard::2]:
        piece = data[slice(*header[name]["data_offsets"])]
        own[name] = header[name] | {"data_offsets": [len(contents), len(contents) + len(piece)]}
        contents += piece
        places[name] = f"model-{shard + 1}.safetensors"
    text = json.dumps(own).encode()
    with open(os.path.join(folder, f"model-{shard + 1}.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + contents)
with open(path + ".index.json", "w") as file:
    json.dump({"weight_map": places}, file)
os.remove(path)
