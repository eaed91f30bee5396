# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that are no rounds of calls: compiling, and the way from a command to its first result."""
import os
import re
import shutil
import subprocess
import time

import numpy

from . import language_systems, models
from .figures import Result, median
from .worker import Worker, WorkerError


def compile_row(row, heddle, work, cache, rounds):
    """Seconds for code alone, cold and with what the first compilation left in its cache; packing and writing apart."""
    result = Result(row, 1)
    model = models.encoder_folder(row.sizes["layers"], cache) / "model.json"
    home = work / "compile-cache"
    figures = {}
    try:
        for cpu, label in (("native", ""), ("", "default targets, ")):
            for _ in range(max(1, rounds // 5)):
                shutil.rmtree(home, ignore_errors=True)
                for state in ("cold", "cached"):
                    # A process each: what is warm is on disk.
                    worker = Worker.heddle(heddle, 1, work / "compile.log", {"XDG_CACHE_HOME": str(home)})
                    try:
                        answer = worker.ask(do="compile", model=str(model), output=str(work / "model.heddle"), dtype="f32", cpu=cpu)
                    finally:
                        worker.close()
                    figures.setdefault(label + state, []).append(answer["code"])
                    figures.setdefault(f"{label}packing and writing", []).append(answer["seconds"] - answer["code"])
    except WorkerError as error:
        result.notes["heddle"] = str(error)
    result.facts = {name: median(values) for name, values in figures.items()}
    return result


def start_row(row, heddle, work, cache, rounds):
    """From heddle-run to the first result of one short sequence, the file in the page cache; memory against weights."""
    result = Result(row, 1)
    home = models.encoder_folder(row.sizes["layers"], cache)
    source = work / "start.source.npy"
    numpy.save(source, numpy.arange(1, 1 + row.sizes["s"], dtype=numpy.int32)[None])
    file = work / "start.heddle"
    worker = Worker.heddle(heddle, 1, work / "start.log")
    try:
        worker.ask(do="compile", model=str(home / "model.json"), output=str(file), dtype="f32", cpu="native")
    except WorkerError as error:
        result.notes["heddle"] = str(error)
        return result
    finally:
        worker.close()
    command = [str(heddle.parent / "heddle-run"), "run", str(file), "--function=encode", "--input", f"source={source}", "--threads=1"]
    seconds, memory = [], []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        seconds.append(time.perf_counter() - start)
        memory.append(usage.ru_maxrss * 1024)
        if status:
            result.notes["heddle"] = f"heddle-run ended with status {os.waitstatus_to_exitcode(status)}"
            return result
    weights = (home / "weights.safetensors").stat().st_size
    result.facts = {"first-result": median(seconds[1:]), "memory": median(memory[1:]) / weights}
    return result


def bits_row(row, heddle, work, cache, rounds):
    """The tests of the build that compare bits; without them the gate is not measured."""
    result = Result(row, 1)
    build = heddle.parent.parent
    ran = subprocess.run(["ctest", "--test-dir", str(build), "-R", "Bits"], capture_output=True, text=True, check=False)
    counted = re.search(r"(\d+) tests failed out of (\d+)", ran.stdout)
    if not counted or "NOT_BUILT" in ran.stdout:
        result.notes["tests"] = f"expected the built tests in {build}, found none or not all"
        return result
    result.facts = {"equal": float(counted[1] == "0"), "tests of bits": int(counted[2])}
    return result


ROWS = {"compile": compile_row, "start": start_row, "bits": bits_row, **language_systems.ROWS}
