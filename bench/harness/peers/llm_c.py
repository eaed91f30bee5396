# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llm.c's train_gpt2.c, compiled for a row from the source that HEDDLE_BENCH_LLMC names.

The source is edited for the row's sizes and trains without evaluation. A step begins when the program reads a byte.
"""
import os
import re
import subprocess
from pathlib import Path

import numpy

from . import memory
from .serve import NotHere, serve

FLAGS = ["-Ofast", "-fno-finite-math-only", "-march=native", "-fopenmp", "-DOMP", "-w"]
BEGIN = """#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static int beginStep(clockid_t clock, struct timespec *now) {
  static int begins;
  begins = !begins;
  fflush(stdout);
  if (begins && getchar() == EOF)
    exit(0);
  return clock_gettime(clock, now);
}
#define clock_gettime beginStep
"""
MAGIC, DATA_MAGIC = 20240326, 20240520
LAYER = [f"{name}.{part}" for name in ("attention.norm", "attention.qkv", "attention.output", "ffn.norm", "ffn.in", "ffn.out")
         for part in ("weight", "bias")]


def source_path():
    return os.environ.get("HEDDLE_BENCH_LLMC", "")


def edited(text, b, t):
    for before, after in (("int B = 4;", f"int B = {b};"), ("int T = 64;", f"int T = {t};"), ("step <= 40", "step >= 0"),
                          ("step % 10 == 0", "0"), ("step % 20 == 0", "0")):
        if text.count(before) != 1:
            raise ValueError(f"{source_path()}: expected '{before}' once, found it {text.count(before)} times")
        text = text.replace(before, after)
    return text


def write_model(path, version, tensors, layers):
    """A checkpoint. Its third version pads the table to a multiple of 128 rows."""
    table, positions = tensors["target.embedding.weight"], tensors["target.position.weight"]
    words, size = table.shape
    padded = words if version == 1 else -(-words // 128) * 128
    header = numpy.zeros(256, numpy.int32)
    header[:8] = MAGIC, version, len(positions), words, layers, 12, size, padded
    with open(path, "wb") as file:
        header.tofile(file)
        table.tofile(file)
        numpy.zeros((padded - words, size), numpy.float32).tofile(file)
        positions.tofile(file)
        for name in LAYER:
            for layer in range(layers):
                parts = [name.replace("qkv", part) for part in ("query", "key", "value")] if "qkv" in name else [name]
                for part in parts:
                    tensors[f"decoder.{layer}.{part}"].tofile(file)
        for part in ("weight", "bias"):
            tensors[f"decoder.norm.{part}"].tofile(file)


def write_text(path, version, reference, start):
    """The one text that all references are; each batch of it is the row's."""
    ids = numpy.concatenate([[start], reference.reshape(-1)])
    path.parent.mkdir(parents=True, exist_ok=True)
    if version == 1:
        ids.astype(numpy.int32).tofile(path)
        return
    header = numpy.zeros(256, numpy.int32)
    header[:3] = DATA_MAGIC, 1, len(ids)
    path.write_bytes(header.tobytes() + ids.astype(numpy.uint16).tobytes())


class Peer:
    def __init__(self, threads):
        self.program = None

    def empty(self):
        return lambda: None

    def open(self, row, folder):
        if row["kind"] != "train" or row["sizes"]["shape"] != "gpt2" or row["sizes"]["dropout"]:
            raise NotHere("it trains GPT-2 without dropout")
        from .trained import read_tensors
        home = folder / "llm.c"
        home.mkdir(exist_ok=True)
        text = Path(source_path()).read_text(encoding="utf-8")
        version = int(re.search(r"model_header\[1\] != (\d)", text)[1])
        (home / "begin.h").write_text(BEGIN)
        (home / "train.c").write_text(edited(text, row["sizes"]["b"], row["sizes"]["t"]))
        subprocess.run(["cc", *FLAGS, "-I", str(Path(source_path()).resolve().parent), "-include", "begin.h", "train.c", "-o", "train", "-lm"],
                       cwd=home, check=True)
        tensors = {name: values.numpy() for name, values in read_tensors(Path(row["model"]).parent / "weights.safetensors").items()}
        write_model(home / "gpt2_124M.bin", version, tensors, 12)
        reference = numpy.load(folder / "reference.npy")
        for path in re.findall(r'tiny_shakespeare_\w+ = "([^"]+)"', text):
            write_text(home / path, version, reference, 50256)
        self.program = subprocess.Popen([str(home / "train")], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = self.step()
        return self.step, lambda: numpy.array([first]), f"train_gpt2.c of version {version}, cc {' '.join(FLAGS[:4])}"

    def step(self):
        """The loss of a step."""
        self.program.stdin.write("\n")
        self.program.stdin.flush()
        for line in self.program.stdout:
            if found := re.match(r"step \d+: train loss (\S+)", line):
                return float(found[1])
        raise RuntimeError(f"train_gpt2 ended with status {self.program.wait()}")

    def memory(self):
        return memory.peak(self.program.pid)


if __name__ == "__main__":
    serve(Peer)
