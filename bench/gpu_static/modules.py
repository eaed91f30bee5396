# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The SPIR-V modules of .heddle files, and which of them a family of GPUs runs."""
import json
import math
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

# Families with matrix units, of drivers that know them: for each shape of a variant the operands that the driver multiplies so; and the subgroup's lanes.
_AMD = ({"16x16x16": ("f16", "i8")}, 32)
_NVIDIA = ({"16x16x16": ("f16",), "16x16x32": ("i8",)}, 32)
MATRICES = {"navi31": _AMD, "gfx1150": _AMD, "gfx1201": ({"16x16x16": ("f16", "bf16", "i8")}, 32),
            **{family: _NVIDIA for family in ("turing", "ampere", "ada", "blackwell")}}


@dataclass(frozen=True)
class Module:
    """SPIR-V in a file; of a .heddle, `groups` are those of a launch for one row of one sequence, and `operands` those of its matrices. `rounds`: it rounds rows for matrices."""
    name: str
    file: Path
    groups: int | None = None
    operands: frozenset = frozenset()
    rounds: bool = False


def variants_of(archive):
    """Variants, and their roundings, by member."""
    kernels = json.loads(archive.read("heddle.json"))["program"]["kernels"]
    variants = [variant for kernel in kernels for variant in kernel["vulkan"]]
    roundings = [variant["rounding"] for variant in variants if variant["rounding"]]
    return {code["member"]: code for code in variants + roundings}


def groups_of(variant):
    """Workgroups where all sizes are 1: axes of a grid that go by a size have one then."""
    return math.prod(axis.get("count", 1) for axis in variant["grid"] if axis.get("scalar", -1) < 0)


def modules(path, folder):
    """Each module: of a .heddle those of all levels, named by kernel and, behind level 0, level."""
    if path.suffix != ".heddle":
        yield Module(path.stem, path)
        return
    with zipfile.ZipFile(path) as archive:
        variants = variants_of(archive)
        for member in archive.namelist():
            found = re.fullmatch(r"vulkan/l([^/]+)/(.*)\.spv", member)
            if not found:
                continue
            name = found[2] + (f"@{found[1]}" if found[1] != "0" else "")
            file = Path(folder) / f"{path.stem}.{name}.spv"
            file.write_bytes(archive.read(member))
            variant = variants[member]
            operands = frozenset(matrix["operands"] for matrix in variant.get("matrices", ()))
            yield Module(f"{path.stem}/{name}", file, groups_of(variant), operands, rounds="matrices" not in variant)


def level_of(module):
    """The level in a module's name: `kernel@2-16x16x16`; 0 without one."""
    found = re.search(r"@(\d)", module.name)
    return int(found[1]) if found else 0


def best_of(parts):
    """Of modules by subgroups, as `run_by` gives them, those of each kernel's highest level: a device runs no others."""
    parts = list(parts)
    highest = {}
    for part, _ in parts:
        for module in part:
            name = module.name.split("@")[0]
            highest[name] = max(highest.get(name, 0), level_of(module))
    return [([module for module in part if level_of(module) == highest[module.name.split("@")[0]]], lanes) for part, lanes in parts]


def run_by(family, found, newer, subgroup=None):
    """Of modules by their names those that a family runs in any subgroups, then, by a newer driver, those for its matrices; and subgroups."""
    shapes, lanes = MATRICES.get(family, ({}, None)) if newer else ({}, None)
    yield [module for module in found if "@2-" not in module.name], subgroup
    yield [module for module in found if "@2-" in module.name and (module.rounds and shapes or (
        module.operands <= set(shapes.get(module.name.split("@2-")[1], ())) and module.operands))], lanes
