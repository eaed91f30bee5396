# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `heddle` reads in a folder, and whether it is what is expected. Standard library only.

A case is a dict: its kind (model, tokens, sentences), its folder, and of a model a place with inputs, of the others a file of texts.
"""
import json
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy

BOUND = 1e-4  # as a share of the largest value
LONGEST = 300  # seconds for one command


def arrays(folder):
    """Results by name; lengths are not numbers that are compared."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".npy") and not name.endswith(".lengths.npy"))
    return {name[:-4]: npy.read_floats(os.path.join(folder, name)) for name in names}


def far_apart(found, expected):
    """Why two results are not the same; empty where they are. Rows of zeros lie after a text's end."""
    for name, (shape, values) in expected.items():
        if name not in found:
            return f"expected {name}, found {', '.join(found) or 'nothing'}"
        if found[name][0] != shape:
            return f"{name}: expected shape {shape}, found {found[name][0]}"
        width = shape[-1]
        kept = [at for at in range(0, len(values), width) if any(values[at:at + width])]
        largest = npy.largest_share([v for at in kept for v in found[name][1][at:at + width]], [v for at in kept for v in values[at:at + width]])
        if not largest <= BOUND:
            return f"{name}: expected a difference of at most {BOUND:g} of the largest value, found {largest:.2g}"
    return ""


def same_results(case, found, expected):
    """Why they differ."""
    if case["kind"] != "tokens":
        return far_apart(found, expected)
    for key in ("ids", "pairs", "texts"):
        if len(found[key]) != len(expected[key]):
            return f"{key}: expected {len(expected[key])} lines, found {len(found[key])}"
        for number, (mine, right) in enumerate(zip(found[key], expected[key])):
            if mine != right:
                return f"{key} of text {number}: expected {right!r}, found {mine!r}"
    return ""


class Heddle:
    """Runs the command; what it prints on standard error is kept."""

    def __init__(self, program, scratch):
        self.program = program
        # heddle-run uses the same tokenizers and starts faster.
        self.reader = program + "-run" if os.path.exists(program + "-run") else program
        self.environment = dict(os.environ, HEDDLE_MODEL_CACHE_LIMIT="0", XDG_CACHE_HOME=os.path.join(scratch, "cache"))
        self.errors = []

    def run(self, *arguments, text=None, program=None):
        """Standard output, or None after an error."""
        try:
            run = subprocess.run([program or self.program, *arguments], input=text and text.encode(), capture_output=True, env=self.environment,
                                 timeout=LONGEST)
        except subprocess.TimeoutExpired:
            self.status, self.errors = None, self.errors + [f"no end within {LONGEST} seconds"]
            return None
        self.errors += run.stderr.decode(errors="replace").splitlines()
        self.status = run.returncode
        return run.stdout.decode(errors="replace") if run.returncode == 0 else None

    def model(self, case):
        out, inputs = case["folder"] + ".heddle", os.path.join(case["place"], "inputs")
        names = sorted(os.listdir(inputs))
        function = ",".join(["encode"] * ("source.npy" in names) + ["decode"] * ("target.npy" in names))
        flags = [f"--input={name[:-4]}={os.path.join(inputs, name)}" for name in names if name != "target.lengths.npy"]
        if self.run("run", case["folder"], f"--function={function}", f"--output-dir={out}", *flags) is None:
            return None
        return arrays(out)

    def tokens(self, case):
        texts = json.load(open(case["texts"]))
        lines = self.run("tokenize", case["folder"], text="".join(text + "\n" for text in texts["texts"]), program=self.reader)
        if lines is None:
            return None
        ids = [[int(id) for id in line.split()] for line in lines.split("\n")[:-1]]
        pairs = []
        for first, second in texts["pairs"]:
            line = self.run("tokenize", case["folder"], f"--pair={second}", text=first + "\n", program=self.reader)
            if line is None:
                return None
            pairs.append([int(id) for id in line.split()])
        written = self.run("tokenize", case["folder"], "--decode", text=lines, program=self.reader)
        return None if written is None else {"ids": ids, "pairs": pairs, "texts": written.split("\n")[:-1]}

    def sentences(self, case):
        out = case["folder"] + ".heddle.npy"
        if self.run("embed", case["folder"], "--truncate", f"--input={case['texts']}", f"--output={out}", *case.get("flags", [])) is None:
            return None
        return {"output": npy.read_floats(out)}

