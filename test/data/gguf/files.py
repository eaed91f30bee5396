# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes GGUF files; needs no package."""

import pathlib
import struct

U32, I32, F32, BOOL, TEXT, LIST = 4, 5, 6, 7, 8, 9


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(data):
    """The type of a value, and its bytes."""
    if isinstance(data, bool):
        return BOOL, struct.pack("<B", data)
    if isinstance(data, str):
        return TEXT, text(data)
    return (U32, struct.pack("<I", data)) if isinstance(data, int) else (F32, struct.pack("<f", data))


def value(key, data):
    if not isinstance(data, list):
        kind, bytes_ = scalar(data)
        return text(key) + struct.pack("<I", kind) + bytes_
    parts = [scalar(element) for element in data]
    return text(key) + struct.pack("<IIQ", LIST, parts[0][0], len(data)) + b"".join(part for _, part in parts)


def write(path, metadata, tensors):
    """`tensors`: a name, a shape, rows first, the bytes of each, and the number of its type if that is not f32."""
    infos, body, count = b"", b"", 0
    for name, shape, data, *kind in tensors:
        infos += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], *kind or [0], len(body))
        body += data + bytes(-len(data) % 32)
        count += 1
    head = b"GGUF" + struct.pack("<IQQ", 3, count, len(metadata)) + b"".join(map(value, metadata, metadata.values())) + infos
    pathlib.Path(path).write_bytes(head + bytes(-len(head) % 32) + body)


def write_parts(stem, count, metadata, tensors):
    """Writes a model in parts, STEM-00001-of-00003.gguf and so on; the first has the metadata."""
    for part in range(count):
        split = {"split.no": part, "split.count": count, "split.tensors.count": len(tensors)}
        write(f"{stem}-{part + 1:05}-of-{count:05}.gguf", {**(metadata if part == 0 else {}), **split}, tensors[part::count])
