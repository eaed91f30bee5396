# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling a language model's folder, and the way from a command on it to the first result."""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import numpy

from . import language
from .checkpoints import bytes_of, folder_of
from .figures import Result, median
from .worker import Worker, WorkerError

AFRESH = 3  # at most so many compilations: they write gigabytes
ALLOWED = 64e6  # bytes of anonymous memory beside a tenth of the weights and the caches
ROOM = 2.5  # times the checkpoint's bytes that the disk must have: the folder, once more in bf16, and some


def shape_of(row):
    return language.SHAPES[row.sizes["shape"]]


def into_page_cache(folder):
    for path in folder.glob("*.safetensors"):
        with open(path, "rb") as file:
            while file.read(1 << 24):
                pass


def missing_room(shape, cache):
    """Why a shape cannot be measured here; empty if it can."""
    if (cache / f"language-{shape.name}" / "ready").exists():
        return ""
    wanted = ROOM * 2 * (shape.layers * shape.layer_elements() + 2 * shape.words * shape.size)
    free = shutil.disk_usage(cache).free
    return f"not measured: expected {wanted * 1e-9:.0f} GB of free disk, found {free * 1e-9:.0f}" if free < wanted else ""


def compile_row(row, heddle, work, cache, rounds):
    """A process each, its code cache empty; what was written before is gone, so that nothing waits for the disk of the last one."""
    result = Result(row, 1)
    if why := missing_room(shape_of(row), cache):
        result.notes["disk"] = why
        return result
    folder = folder_of(shape_of(row), cache)
    figures = {}
    output = work / "language.heddle"
    try:
        for _ in range(min(AFRESH, max(1, rounds // 5))):
            into_page_cache(folder)
            shutil.rmtree(work / "compile-cache", ignore_errors=True)
            worker = Worker.heddle(heddle, os.cpu_count(), work / "compile.log", {"XDG_CACHE_HOME": str(work / "compile-cache")})
            try:
                answer = worker.ask(do="compile", model=str(folder), output=str(output), dtype=row.dtype, cpu="native")
            finally:
                worker.close()
            facts = {"beyond-packing": answer["seconds"] - answer["pack"], "packing": bytes_of(folder) / answer["pack"] * 1e-9,
                     "code": answer["code"], "seconds": answer["seconds"], "stored GB": output.stat().st_size * 1e-9}
            output.unlink()
            for name, value in facts.items():
                figures.setdefault(name, []).append(value)
    except WorkerError as error:
        result.notes["heddle"] = str(error)
    result.facts = {name: median(values) for name, values in figures.items()}
    return result


class Run:
    """A process that is watched until it ends: its seconds, its status and the most anonymous memory that it had."""

    def __init__(self, command, environment):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **environment}, text=True)
        self.anonymous = 0
        while process.poll() is None:
            self.look(process.pid)
            time.sleep(0.0005)
        self.seconds = time.perf_counter() - start
        self.status, self.error = process.returncode, process.stderr.read().strip()

    def look(self, pid):
        try:
            found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        except OSError:  # it has just ended
            return
        if found:
            self.anonymous = max(self.anonymous, int(found[1]) * 1024)


def start_row(row, heddle, work, cache, rounds):
    """`heddle run FOLDER` on a folder that was compiled before: the first token's logits; memory with a prompt too."""
    result = Result(row, 1)
    shape = shape_of(row)
    folder = folder_of(shape, cache)
    home = work / "start-cache"
    for name, tokens in (("one", 1), ("prompt", language.PROMPT)):
        numpy.save(work / f"{name}.npy", numpy.arange(3, 3 + tokens, dtype=numpy.int32)[None])
    numpy.save(work / "lengths.npy", numpy.array([language.PROMPT], numpy.int32))
    command = [str(heddle.parent / "heddle"), "run", str(folder), f"--dtype={row.dtype}", "--threads=2"]
    first = [*command, "--function=decode_start,decode_step", f"--input=target={work / 'one.npy'}"]
    long = [*command, "--function=decode_start,decode_prompt", f"--input=target={work / 'prompt.npy'}", f"--input=target.lengths={work / 'lengths.npy'}"]
    environment = {"XDG_CACHE_HOME": str(home), "HEDDLE_MODEL_CACHE_LIMIT": str(1 << 16)}
    compiled, *timed = [Run(first, environment) for _ in range(rounds + 1)]
    memory = Run(long, environment)
    for run in (compiled, *timed, memory):
        if run.status:
            result.notes["heddle"] = f"heddle ended with status {run.status}: {run.error[-200:]}"
            return result
    stored = max(path.stat().st_size for path in home.rglob("*.heddle"))
    allowed = 0.1 * stored + shape.cache_bytes(row.dtype, language.LIMIT) + ALLOWED
    most = max(run.anonymous for run in (*timed, memory))
    result.facts = {"first-result": median([run.seconds for run in timed]), "anonymous": most / allowed, "anonymous MB": most * 1e-6,
                    "when compiled": compiled.seconds}
    shutil.rmtree(home, ignore_errors=True)
    return result


ROWS = {"compile-language": compile_row, "start-language": start_row}
