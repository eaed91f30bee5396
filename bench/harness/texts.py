# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of seeded lengths to vectors: a whole command of Heddle's beside peers that hold the model ready.

Each contender takes the texts as strings, in their order, and gives a matrix of vectors: tokenizing counts. Peers sort by length, cut
batches of one size and pad each to its longest text; Heddle is `heddle-run embed` with the start of its process, reading and writing.
"""
import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path

import numpy

from .figures import median, ratio, spread
from .main import cpu_name, versions, worker_of
from .worker import Worker, WorkerError

# Contender: module, number format, size of a batch, streams of one thread each (1: one stream of all threads).
PEERS = {
    "sentence-transformers": ("sentence_transformers", "f32", 32, 1),
    "onnxruntime 8": ("onnxruntime", "f32", 8, 1),
    "onnxruntime 32": ("onnxruntime", "f32", 32, 1),
    "openvino 8": ("openvino", "f32", 8, 1),
    "openvino 32": ("openvino", "f32", 32, 1),
    "openvino 8, streams": ("openvino", "f32", 8, 2),
    "openvino 32, streams": ("openvino", "f32", 32, 2),
    "openvino bf16 8": ("openvino", "bf16", 8, 1),
    "openvino bf16 32": ("openvino", "bf16", 32, 1),
    "openvino bf16 32, streams": ("openvino", "bf16", 32, 2),
}
FORMATS = ("f32", "bf16")
LEAST_COSINE = {"f32": 0.99999, "bf16": 0.9995}  # of each vector to Sentence-Transformers': who is wrong is no peer
PEAK_SECONDS = 0.5  # a clock falls under load: the peak is what products on registers keep up for so long


def arguments(argv):
    parser = argparse.ArgumentParser(prog="bench/texts", description="Texts to vectors, Heddle and its peers, interleaved round by round.")
    parser.add_argument("folder", help="a Hugging Face folder of a BERT that Sentence-Transformers reads (scripts/real-models)")
    parser.add_argument("--texts", type=int, default=1000, help="number of texts (default: 1000)")
    parser.add_argument("--longest", type=int, default=256, help="tokens of the longest; the shortest has 3 (default: 256)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="peers whose name contains one of these, by commas")
    parser.add_argument("--build", default=str(Path(__file__).resolve().parents[2] / "build"), help="build folder with HEDDLE_BUILD_BENCH (default: build)")
    return parser.parse_args(argv)


def make_texts(folder, count, longest, seed=1):
    """Texts of 3 to `longest` tokens, lengths drawn evenly; each word is one token of the vocabulary, two tokens are the frame's."""
    words = json.loads((Path(folder) / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(word for word in words if word.isascii() and word.isalpha() and len(word) > 2)
    draw = random.Random(seed)
    lengths = [draw.randint(3, longest) for _ in range(count)]
    return [" ".join(draw.choices(words, k=length - 2)) for length in lengths], lengths


def operations(folder, lengths):
    """Multiplications and additions of the real tokens: products of layers and attention, nothing for padding, norms, activations."""
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    size, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    return sum(2 * layers * (n * (4 * size * size + 2 * size * inner) + 2 * n * n * size) for n in lengths)


class HeddleRun:
    """`heddle-run embed` over a file of texts: a process a pass."""

    def __init__(self, build, folder, dtype, texts, work, threads):
        self.file = work / f"{dtype}.heddle"
        self.vectors = work / f"heddle.{dtype}.npy"
        compiler = build / "bin" / "heddle"
        subprocess.run([compiler, "compile", folder, "-o", self.file, "--target=cpu", "--cpu=native", f"--dtype={dtype}"], check=True, capture_output=True)
        self.command = [build / "bin" / "heddle-run", "embed", self.file, f"--threads={threads}", f"--input={texts}", f"--output={self.vectors}"]

    def seconds(self):
        from .peers.clock import timed
        return timed(lambda: subprocess.run(self.command, check=True, capture_output=True), 1)

    def result(self):
        return numpy.load(self.vectors)

    def stop(self):
        pass  # its process has ended


class PeerProcess:
    def __init__(self, name, folder, texts, work, threads):
        _, self.dtype, self.batch, self.streams = PEERS[name]
        self.vectors = work / f"{name}.npy"
        self.worker = Worker.peer("texts", threads, work / "peers.log")
        self.worker.ask(do="open", name=name, folder=str(folder), texts=str(texts), threads=threads)
        self.seconds()

    def seconds(self):
        return self.worker.ask(do="time", to=str(self.vectors))["seconds"]

    def result(self):
        return numpy.load(self.vectors)

    def stop(self):
        self.worker.stop()


def open_all(options, texts, work):
    build = worker_of("--build", options.build).parent.parent
    contenders = {f"heddle {dtype}": HeddleRun(build, options.folder, dtype, texts, work, options.threads) for dtype in FORMATS}
    for name in PEERS:
        if options.only and not any(part in name for part in [*options.only.split(","), "sentence-transformers"]):
            continue
        try:
            contenders[name] = PeerProcess(name, Path(options.folder).resolve(), texts, work, options.threads)
            contenders[name].stop()
        except WorkerError as error:
            print(f"{name}: {error}")
    return contenders


def cosines(a, b):
    return (a * b).sum(1) / numpy.linalg.norm(a, axis=1) / numpy.linalg.norm(b, axis=1)


def check(contenders):
    """Contenders whose vectors are Sentence-Transformers'; the others are a line each."""
    expected = contenders["sentence-transformers"].result()
    right = {}
    for name, contender in contenders.items():
        if name.startswith("heddle"):
            contender.seconds()
        least = cosines(contender.result(), expected).min()
        needed = LEAST_COSINE["bf16" if "bf16" in name else "f32"]
        if least >= needed:
            right[name] = contender
        else:
            print(f"{name}: wrong: least cosine {least:.6f}, expected at least {needed}")
    return right


def peak(heddle, arithmetic, threads):
    """What `threads` keep up for some time, as products of a whole pass do."""
    rates, spent = [], 0
    while spent < PEAK_SECONDS:
        rates.append(heddle.ask(do="rates", of=[arithmetic], threads=threads)[arithmetic]["rate"])
        spent += 0.015
    heddle.stop()
    return median(rates[len(rates) // 2:])


def table(seconds, peaks, work, options):
    best = {dtype: min((n for n in seconds if "heddle" not in n and ("bf16" in n) == (dtype == "bf16") and "sentence" not in n),
                       key=lambda n: median(seconds[n]), default=None) for dtype in FORMATS}
    print(f"{'':28}{'s':>8}{'texts/s':>9}{'GFLOP/s':>9}{'of f32':>8}{'of bf16':>8}{'heddle x':>9}{'spread':>8}")
    for name in sorted(seconds, key=lambda n: median(seconds[n])):
        own = "heddle bf16" if "bf16" in name else "heddle f32"
        once = median(seconds[name])
        shares = [median([work / s / p for s, p in zip(seconds[name], peaks[dtype])]) if peaks[dtype] else float("nan") for dtype in FORMATS]
        print(f"{name:28}{once:8.3f}{options.texts / once:9.1f}{work / once * 1e-9:9.1f}{shares[0]:8.3f}{shares[1]:8.3f}"
              f"{ratio(seconds[name], seconds[own]):9.3f}{spread(seconds[name]):8.0%}{'  best peer' if name in best.values() else ''}")


def main(argv):
    options = arguments(argv)
    texts, lengths = make_texts(options.folder, options.texts, options.longest)
    flops = operations(options.folder, lengths)
    print(f"machine  {cpu_name()}, {options.threads} threads;  {versions(['openvino', 'onnxruntime', 'torch'])}")
    print(f"texts    {options.texts} of {min(lengths)} to {max(lengths)} tokens, {sum(lengths)} in all, {flops * 1e-9:.0f} GFLOP; medians of {options.rounds} rounds\n")
    with tempfile.TemporaryDirectory(prefix="heddle-texts-") as folder:
        work = Path(folder)
        file = work / "texts.txt"
        file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
        contenders = check(open_all(options, file, work))
        heddle = Worker.heddle(worker_of("--build", options.build), options.threads, work / "rates.log")
        seconds, peaks = {name: [] for name in contenders}, {dtype: [] for dtype in FORMATS}
        for number in range(options.rounds):
            names = list(contenders)
            for dtype in FORMATS:
                if rate := peak(heddle, dtype, options.threads):
                    peaks[dtype].append(rate)
            for name in names[number % len(names):] + names[:number % len(names)]:
                seconds[name].append(contenders[name].seconds())
                contenders[name].stop()
        heddle.close()
        print("peaks, kept up for half a second: " + ", ".join(f"{dtype} {median(rates) * 1e-9:.0f} G/s" for dtype, rates in peaks.items() if rates))
        table(seconds, peaks, flops, options)
        for contender in contenders.values():
            if isinstance(contender, PeerProcess):
                contender.worker.close()
    return 0 if all(f"heddle {dtype}" in seconds for dtype in FORMATS) else 1
