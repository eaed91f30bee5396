# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The SPIR-V modules of .heddle files, and which of them a family of GPUs runs."""
import json
import math
import re
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

# Families with matrix units, of drivers that know them: the shape whose variants they run, in subgroups of so many lanes.
MATRICES = {"navi31": ("16x16x16", 32), "gfx1150": ("16x16x16", 32)}


@dataclass(frozen=True)
class Module:
    """SPIR-V in a file; of a .heddle, `groups` are those of a launch for one row of one sequence."""
    name: str
    file: Path
    groups: int | None = None


def groups_of(archive):
    """Workgroups by member, all sizes being 1: axes of a grid that go by a size have one then."""
    kernels = json.loads(archive.read("heddle.json"))["program"]["kernels"]
    return {variant["member"]: math.prod(axis.get("count", 1) for axis in variant["grid"] if axis.get("scalar", -1) < 0)
            for kernel in kernels for variant in kernel["vulkan"]}


def modules(path, folder):
    """Each module: of a .heddle those of all levels, named by kernel and, behind level 0, level."""
    if path.suffix != ".heddle":
        yield Module(path.stem, path)
        return
    with zipfile.ZipFile(path) as archive:
        groups = groups_of(archive)
        for member in archive.namelist():
            found = re.fullmatch(r"vulkan/l([^/]+)/(.*)\.spv", member)
            if not found:
                continue
            name = found[2] + (f"@{found[1]}" if found[1] != "0" else "")
            file = Path(folder) / f"{path.stem}.{name}.spv"
            file.write_bytes(archive.read(member))
            yield Module(f"{path.stem}/{name}", file, groups[member])


def needs_bf16_matrices(file):
    """Whether a module declares BFloat16CooperativeMatrixKHR: the drivers that compile without a GPU do not know it, and die."""
    words = struct.unpack(f"<{file.stat().st_size // 4}I", file.read_bytes())
    place = 5  # behind the header; capabilities come first
    while place < len(words) and words[place] & 0xffff == 17:
        if words[place + 1] == 5118:
            return True
        place += words[place] >> 16
    return False


def run_by(family, found, newer, subgroup=None):
    """Of modules by their names those that a family runs in any subgroups, then, by a newer driver, those for its matrices; and subgroups."""
    shape, lanes = MATRICES.get(family, (None, None)) if newer else (None, None)
    yield [module for module in found if "@2-" not in module.name], subgroup
    yield [module for module in found if shape and module.name.endswith(f"@2-{shape}") and not needs_bf16_matrices(module.file)], lanes
