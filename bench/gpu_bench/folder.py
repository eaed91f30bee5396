# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the folder: heddle-run with its libraries and the Vulkan loader, the compiled files, the programs that time. No package needed."""
import array
import json
import os
import random
import re
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

from . import models, pack

HERE = Path(__file__).resolve().parent
MOST = 60 << 20  # bytes of a folder
SYSTEM = ("ld-linux", "libc.so", "libm.so", "libpthread", "libdl.so", "librt.so")  # any Linux has them, and one's own do not mix with them
BASE = ("libstdc++", "libgcc_s", "libz.so")  # drivers use them too, so that the machine's own are taken where they will do
START = """#!/bin/sh
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}
export PATH
command -v python3 > /dev/null || { echo "error: expected Python 3, found no python3 in $PATH" >&2; exit 1; }
exec python3 "$(dirname "$0")/{program}" "$@"
"""


class Failure(Exception):
    """What could not be made, in a line."""


def write_weights(path, tensors):
    """Seeded weights that keep the size of rows; a piece of 64 Ki numbers stands for all of a tensor."""
    draw = random.Random(1)
    header, end = {}, 0
    for name, shape in tensors.items():
        size = 4 * shape[0] * shape[1]
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in tensors.values():
            piece = array.array("f", (draw.gauss(0, shape[1] ** -0.5) for _ in range(1 << 16))).tobytes()
            size = 4 * shape[0] * shape[1]
            file.write(piece * (size // len(piece)) + piece[:size % len(piece)])


def compile_file(model, heddle, work, plan=""):
    """The compiled file, with other blocks of products if `plan` names some."""
    source, file = work / f"{model.name}{model.suffix}", work / f"{model.name}.heddle"
    source.write_text(model.text, encoding="utf-8")
    command = [str(heddle), "compile", str(source), "-o", str(file), "--target=vulkan", f"--dtype={model.dtype}"]
    if model.tensors:
        write_weights(work / "weights.safetensors", model.tensors)
        command.append(f"--weights={work / 'weights.safetensors'}")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "HEDDLE_PLAN_ROWS": plan})
    if ran.returncode:
        raise Failure(f"{model.name}{' with ' if plan else ''}{plan}: {ran.stderr.strip().splitlines()[-1]}")
    return file


def cut_model(model, heddle, work, to, plan=""):
    """Writes the cut file `to` and gives what restores it."""
    file = compile_file(model, heddle, work, plan)
    holes = pack.cut(file, to)
    file.unlink()
    return holes


def libraries(program):
    """What the program is linked with and the loader, which it opens by name; each with its folder."""
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    found = [Path(path) for path in re.findall(r"=> (/\S+)", listed) if not Path(path).name.startswith(SYSTEM)]
    cache = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False, env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin"}).stdout
    loader = re.search(r"libvulkan\.so\.1 .*=> (/\S+)", cache)
    if not loader:
        raise Failure("the Vulkan loader: expected libvulkan.so.1, found none")
    return [*((path, "lib/base" if path.name.startswith(BASE) else "lib") for path in found), (Path(loader[1]), "lib/loader")]


def bytes_in(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def begin(folder, programs, folders):
    """Makes the folders in an empty one."""
    for program in programs:
        if not program.exists():
            raise Failure(f"--build: expected {program}, found none")
    if folder.exists() and any(folder.iterdir()):
        raise Failure(f"--pack: expected an empty folder, found files in {folder}")
    for path in folders:
        path.mkdir(parents=True)


def copy_programs(folder, programs, scripts, name):
    """Copies programs with their libraries, and scripts of which `name` starts the first."""
    placed = {path: place for program in programs for path, place in libraries(program)}
    with zipfile.ZipFile(folder / "lib.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, place in placed.items():
            archive.write(path, f"{place}/{path.name}")
    for program in programs:
        shutil.copy(program, folder / program.name)
        subprocess.run(["strip", str(folder / program.name)], check=False)
    for script in scripts:
        shutil.copy(HERE / script, folder / script)
    start = folder / name
    start.write_text(START.replace("{program}", scripts[0]), encoding="utf-8")
    start.chmod(0o755)
    if bytes_in(folder) > MOST:
        most = max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
        raise Failure(f"{folder}: expected at most {MOST >> 20} MiB, found {bytes_in(folder) / 2**20:.1f}, {most.stat().st_size / 2**20:.1f} of them in {most.name}")


def make(folder, build, only):
    """Fills an empty folder; only models whose name contains one of `only`, where any are named."""
    heddle, runner = build / "bin" / "heddle", build / "bin" / "heddle-run"
    to, work = folder / "models", folder / "work"
    begin(folder, (heddle, runner), (to, work))
    chosen = [model for model in models.all_models() if not only or any(part in call.name for part in only for call in model.calls)]
    if not chosen:
        raise Failure(f"--only: expected part of a call's name, found '{','.join(only)}'")
    told = [{**model.told(), "holes": cut_model(model, heddle, work, to / f"{model.name}.cut")} for model in chosen]
    shutil.rmtree(work)
    (folder / "models.json").write_text(json.dumps(told), encoding="utf-8")
    copy_programs(folder, [runner], ("run.py", "peers.py", "pack.py"), "run")
