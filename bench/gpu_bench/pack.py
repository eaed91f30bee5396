# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled files without most of their weights, and back. No package needed.

Of a large weight, the first part is kept and stands for all of it; layers share it. A kernel takes as
long on repeated numbers as on others, and numbers stay as large as they were. Halves and thirds of a weight are taken, so that
rows, scales and groups are whole. What remains, code of kernels for the most part, is compressed.
"""
import io
import json
import re
import zipfile
import zlib
from pathlib import Path

LARGE = 256 << 10  # bytes of a weight that is cut
PART = 128 << 10  # what is kept of it, at least


def weights_of(path):
    """Where the weights begin in the file, and the program's list of them."""
    with zipfile.ZipFile(path) as file:
        program = json.loads(file.read("heddle.json"))["program"]
        member = file.getinfo("weights.bin")
    with open(path, "rb") as file:
        file.seek(member.header_offset + 26)
        name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
    return member.header_offset + 30 + name + extra, program["weights"]


def part_of(size):
    for factor in (2, 3):
        while size % factor == 0 and size // factor >= PART and size // factor % 64 == 0:
            size //= factor
    return size


def cut(path, to):
    """Writes `to` (a skeleton and the kept parts, compressed) and gives the list of what `restore` puts back."""
    start, weights = weights_of(path)
    holes, kept = [], {}
    out, at = io.BytesIO(), 0
    with open(path, "rb") as file:
        for weight in sorted(weights, key=lambda one: one["offset"]):
            if 4 * weight["elements"] < LARGE:
                continue
            begin, size = start + weight["offset"], 4 * weight["elements"]
            file.seek(at)
            out.write(file.read(begin - at))
            key, part = (re.sub(r"\d+", "", weight["name"]), size), part_of(size)
            if key not in kept:
                file.seek(begin)
                kept[key] = out.tell()
                out.write(file.read(part))
                holes.append([begin, size, kept[key], part, True])
            else:
                holes.append([begin, size, kept[key], part, False])
            at = begin + size
        file.seek(at)
        out.write(file.read())
    Path(to).write_bytes(zlib.compress(out.getvalue(), 9))
    return holes


def restore(path, to, holes):
    """The whole file again, from what `cut` wrote."""
    beside = Path(str(to) + ".new")
    file = io.BytesIO(zlib.decompress(Path(path).read_bytes()))
    with open(beside, "wb") as out:
        for begin, size, kept, part, here in holes:
            out.write(file.read(begin - out.tell()))
            at = file.tell() + (part if here else 0)
            file.seek(kept)
            piece = file.read(part)
            for _ in range(size // part):
                out.write(piece)
            file.seek(at)
        out.write(file.read())
    beside.replace(to)
