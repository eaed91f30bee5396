# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of gates: figures of Heddle's kernels, and beside them those of llama.cpp's shaders, by the same driver and the same counts."""
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import assembly
from .driver import Failure
from .gates import COLUMNS, MODELS, NEVER_SLOWER
from .modules import modules, run_by

ROOT = Path(__file__).resolve().parent.parent.parent
KEEPS_HALVES = "0=1"  # the constant that drivers for AMD get, which keep denormals of f16
KEYS_OF_A_CHUNK = 64


@dataclass
class Cell:
    """A gate on a family: what is printed, and what is missed, or nothing."""
    text: str
    missed: str = ""


def level_of(name):
    """The number of the level in the name of a module."""
    way = name.partition("@")[2]
    return int(way.split("-")[0]) if way else 0


def compile_model(heddle, model, dtype, file):
    """Makes a model's file of a type, with the kernels of all levels."""
    command = [heddle, "compile", ROOT / MODELS[model][0], "-o", file, "--target=vulkan", "--vulkan-level=2", f"--dtype={dtype}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"expected {MODELS[model][0]} to compile, found status {done.returncode}: {done.stderr.strip()}")


class Ours:
    """Figures of Heddle's kernels by family and name, MODEL/KERNEL, of a type and level."""

    def __init__(self, driver, heddle, families):
        self.driver, self.heddle, self.families, self.rows = driver, heddle, families, {}

    def measure(self, gates):
        """Compiles and measures what gates need, a model of a type after the other, whose files are large."""
        needed = {}
        for kernels in (kernels for gate in gates for kernels in gate.kernels):
            for name in kernels.names:
                needed.setdefault((name.split("/")[0], kernels.dtype), set()).add((name.split("/")[1], kernels.level))
        for number, ((model, dtype), kernels) in enumerate(sorted(needed.items()), 1):
            print(f"{number} of {len(needed)}: {model}, {dtype}", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                self._measure_model(model, dtype, kernels, Path(folder))

    def _measure_model(self, model, dtype, kernels, folder):
        file = folder / f"{model}.heddle"
        compile_model(self.heddle, model, dtype, file)
        found = [module for module in modules(file, folder)
                 if (module.name.split("/")[1].split("@")[0], level_of(module.name)) in kernels]
        for family in self.families:
            for part, subgroup in run_by(family, found, newer=True):
                made = self.driver.distinct_pipelines(family, [module.file for module in part], [KEEPS_HALVES], subgroup)
                for module, one in zip(part, made):
                    self._add(family, dtype, model, module, one)

    def _add(self, family, dtype, model, module, made):
        name = module.name.split("@")[0]
        if not made:
            raise Failure(f"expected a pipeline of {module.name} for {family}, found that the driver refuses it")
        products = KEYS_OF_A_CHUNK * MODELS[model][1] if "attention" in name else 0
        row = assembly.measure(family, *made, products=products)
        if name in COLUMNS:
            row["panels"] = 16 * module.groups / COLUMNS[name]
        self.rows[family, dtype, level_of(module.name), name] = row

    def of(self, gate, family):
        """(Kernel in words, figures) of each of a gate's kernels."""
        for kernels in gate.kernels_of(family):
            for name in kernels.names:
                what = f"{name} of {kernels.dtype} at level {kernels.level}"
                row = self.rows.get((family, kernels.dtype, kernels.level, name))
                if not row:
                    raise Failure(f"expected kernel {what} for {family}, found none")
                yield what, row


class Theirs:
    """Figures of llama.cpp's shaders, compiled into a folder."""

    def __init__(self, driver, folder):
        self.driver, self.folder, self.rows = driver, folder, {}

    def row(self, family, pipeline):
        if (family, pipeline) not in self.rows:
            self.rows[family, pipeline] = self._measured(family, pipeline)
        return self.rows[family, pipeline]

    def _measured(self, family, pipeline):
        file = self.folder / f"{pipeline.shader}.spv"
        constants = [f"{number}={value}" for number, value in enumerate(pipeline.constants)]
        made, = self.driver.pipelines(family, [file], constants, pipeline.subgroup)
        if not made:
            raise Failure(f"expected a pipeline of llama.cpp's {pipeline.shader} for {family}, found that the driver refuses it")
        row = assembly.measure(family, *made)
        return {**row, "chunk": row["issue"], "chunk rate": row["rate"]}  # attention's hottest loop is the whole one over keys

    def of(self, gate, family, registers):
        """The pipeline whose registers are nearest, of equally near ones the faster; None where llama.cpp has none."""
        rows = [(self.row(family, pipeline), pipeline.tile) for pipeline in gate.pipelines(family)]
        return min(rows, key=lambda one: (abs(one[0]["registers"] - registers), -one[0][gate.figure]), default=None)


def judged(gate, family, kernel, row, theirs):
    """A kernel's cell, and how far it is from what is wanted: the worst kernel of a gate has the least."""
    value, limit = row[gate.figure], gate.limit(family)
    if value is None:
        raise Failure(f"expected a {gate.figure} of {kernel} on {family}, found none in its code")
    margins, text, wanted = [], f"{value:g}", []
    if limit is not None:
        margins.append((limit + 1) / (value + 1) if gate.at_most else value / limit)
        wanted.append(f"{limit:g}")
    other = theirs.of(gate, family, row["registers"])
    if other:
        figures, tile = other
        ratio = value / figures[gate.figure]
        margins.append(ratio / NEVER_SLOWER)
        text = f"{ratio:.2f} = {value:g}/{figures[gate.figure]:g} {tile}".strip()
        wanted.append(f"{NEVER_SLOWER:g} of {figures[gate.figure]:g}")
    margin = max(margins) if gate.either else min(margins)
    if margin >= 1:
        return margin, Cell(text)
    return margin, Cell(f"{text} MISSED", f"{gate.name}, {family}: {kernel} has {value:g}, wanted {(' or ' if gate.either else ' and ').join(wanted)}")


def cell(gate, family, ours, theirs):
    """The worst of a gate's kernels."""
    if family not in gate.families():
        return Cell("")
    return min((judged(gate, family, kernel, row, theirs) for kernel, row in ours.of(gate, family)), key=lambda one: one[0])[1]


def chosen(pattern, families, gates):
    found = [gate for gate in gates if pattern.search(gate.name) and set(families) & set(gate.families())]
    if not found:
        raise Failure(f"--gates: expected a pattern that fits a gate on {', '.join(families)}, found '{pattern.pattern}'")
    return found


def needed_shaders(folder, gates, families):
    """Fails where one is not there, before anything is compiled."""
    for gate in gates:
        for family in families:
            for pipeline in gate.pipelines(family):
                if not (folder / f"{pipeline.shader}.spv").is_file():
                    raise Failure(f"expected llama.cpp's {pipeline.shader}.spv in {folder}, found none: bench/llama-shaders makes it")


def table(driver, heddle, folder, families, gates):
    """Prints a line a gate, then what is missed; returns how many are."""
    needed_shaders(folder, gates, families)
    ours, theirs = Ours(driver, heddle, families), Theirs(driver, folder)
    ours.measure(gates)
    print(f"| gate | wanted | {' | '.join(families)} | |\n|" + "---|" * (len(families) + 3))
    misses = []
    for gate in gates:
        cells = [cell(gate, family, ours, theirs) for family in families]
        missed = [one.missed for one in cells if one.missed]
        print(f"| {gate.name} | {gate.wanted()} | {' | '.join(one.text for one in cells)} | {'missed' if missed else 'met'} |", flush=True)
        misses.append(missed)
    for line in (line for missed in misses for line in missed):
        print(f"missed: {line}")
    count = sum(map(bool, misses))
    print(f"gates: {len(gates) - count} met, {count} missed")
    return count
