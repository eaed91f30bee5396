# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of safetensors files, as arrays of f32."""
import array
import json
import struct


def tensors(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    assert all(entry["dtype"] == "F32" for entry in header.values()), path
    return {name: array.array("f", data[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def greatest(values):
    return max(map(abs, values), default=0.0)
