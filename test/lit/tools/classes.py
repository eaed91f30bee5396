# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""classes.py FOLDER: the classifier of FOLDER keeps its first two classes, which config.json does not name."""
import json
import os
import struct
import sys

path = os.path.join(sys.argv[1], "config.json")
with open(path) as file:
    config = json.load(file)
with open(path, "w") as file:
    json.dump({key: value for key, value in config.items() if key not in ("id2label", "label2id")}, file)

path = os.path.join(sys.argv[1], "model.safetensors")
with open(path, "rb") as file:
    data = file.read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + size])
body = b""
for name, entry in header.items():
    if name == "__metadata__":
        continue
    first, last = entry["data_offsets"]
    if name.startswith("classifier."):
        last = first + (last - first) * 2 // entry["shape"][0]
        entry["shape"][0] = 2
    piece = data[8 + size + first : 8 + size + last]
    entry["data_offsets"] = [len(body), len(body) + len(piece)]
    body += piece
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + body)
