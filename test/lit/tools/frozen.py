# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that exactly the tensors with one of the given beginnings are equal in two safetensors files.

  frozen.py BEFORE AFTER BEGINNING ...
"""
import json
import struct
import sys


def tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


before, after, beginnings = tensors(sys.argv[1]), tensors(sys.argv[2]), tuple(sys.argv[3:])
for name, values in before.items():
    expected = name.startswith(beginnings)
    if (values == after[name]) != expected:
        sys.exit(f"{name}: expected {'equal' if expected else 'other'} values")
