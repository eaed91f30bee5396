# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a queue of experiments on a GPU, by priority, until the time is over. No package needed; nothing is compiled but pipelines.

usage: lab [--device=vulkan:N] [--vulkan-level=N] [--seconds=N] [--rounds=N] [--only=TEXT,…] [--with=COMMAND]

An experiment is a call of a model whose products have the blocks of a plan (HEDDLE_PLAN_ROWS). A small model with the same plan runs first, on 1 and on
33 rows: its results must have the bits of the plan that Heddle chooses. Then the call is timed, and the driver's statistics of each
pipeline are kept. Each line of results/results.jsonl is written at once, so that a run that is cut short loses nothing. results.tar.gz
holds it all, with the driver's cache of shaders.
"""
import argparse
import array
import json
import os
import struct
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import pack  # noqa: E402: the path comes first
import run  # noqa: E402: the path comes first

MOST = 16 << 20  # bytes of what goes home
RESULTS = HERE / "results"
SMALL = 1040  # features of a small model: several blocks, and a rest


def arguments():
    parser = argparse.ArgumentParser(prog="lab", description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default="vulkan", help="vulkan or vulkan:N, see heddle-run devices (default: %(default)s)")
    parser.add_argument("--vulkan-level", help="a lower level of kernels than the device's own")
    parser.add_argument("--seconds", type=float, default=480, help="after which no experiment begins (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="of each call (default: %(default)s)")
    parser.add_argument("--only", default="", help="experiments whose name contains one of these, by commas")
    parser.add_argument("--with", dest="command", type=str.split, default=[], help="a command that runs the programs with another driver")
    return parser.parse_args()


def write_rows(path, rows):
    """A .npy file of small whole numbers."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {SMALL}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    numbers = array.array("f", ((7 * at + at // SMALL) % 17 - 8 for at in range(rows * SMALL)))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers.tobytes())


def on_device(options, *words):
    level = [f"--vulkan-level={options.vulkan_level}"] if options.vulkan_level else []
    return [*options.command, str(HERE / "heddle-run"), *words, f"--device={options.device}", *level]


def small_results(file, options, variables):
    """The results of a small model for 1 and for 33 rows, and why there are none."""
    found = []
    for rows in (1, 33):
        source, to = RESULTS / f"rows{rows}.npy", RESULTS / "small"
        write_rows(source, rows)
        ran = subprocess.run(on_device(options, "run", str(file), f"--input=x={source}", f"--output-dir={to}"), capture_output=True, text=True, env=variables,
                             check=False)
        if ran.returncode:
            return None, run.last_line(ran.stderr, f"status {ran.returncode}")
        found.append((to / "y.npy").read_bytes())
    return found, ""


class Lab:
    def __init__(self, options, variables, holes):
        self.options, self.variables, self.holes, self.known = options, variables, holes, {}

    def restored(self, name):
        """The compiled file, whose weights are put back; the caller deletes it."""
        file = HERE / "models" / f"{name}.heddle"
        pack.restore(HERE / "models" / f"{name}.cut", file, self.holes[name])
        return file

    def check(self, experiment):
        """"equal", or what is wrong with a small model's results."""
        if not experiment.get("small"):
            return "not checked"
        for name in (experiment["reference"], experiment["small"]):
            if name not in self.known:
                file = self.restored(name)
                self.known[name] = small_results(file, self.options, self.variables)
                file.unlink()
        (expected, missing), (found, why) = (self.known[experiment[name]] for name in ("reference", "small"))
        if missing or why:
            return f"expected results, found: {missing or why}"
        return "equal" if expected == found else "expected the bits of Heddle's own plan, found others"

    def statistics(self, experiment, file):
        """What the driver says of the pipelines, in a file of the experiment's name."""
        folder = RESULTS / "modules"
        with zipfile.ZipFile(file) as archive:
            members = [name for name in archive.namelist() if name.startswith("vulkan/l2-16x16x16/") or name.startswith("vulkan/l2-16x16x32/")]
            archive.extractall(folder, members)
        said = subprocess.run([*self.options.command, str(HERE / "heddle-gpu-pipelines"), "@32", *(str(folder / name) for name in members)], capture_output=True, text=True,
                              errors="replace", env=self.variables, check=False)
        (RESULTS / f"{experiment['name']}.pipelines").write_text(said.stdout or said.stderr, encoding="utf-8")

    def time(self, experiment):
        """Figures of the whole call, or of the small model where it alone is packed."""
        file = self.restored(experiment.get("full") or experiment["small"])
        dims = experiment["dims"] if "full" in experiment else {"M": min(33, experiment["dims"]["M"])}
        command = on_device(self.options, "bench", str(file), f"--function={experiment['function']}", f"--rounds={self.options.rounds}")
        try:
            ran = subprocess.run([*command, *(f"--dim={name}={size}" for name, size in dims.items())], capture_output=True, text=True, env=self.variables,
                                 timeout=run.LIMIT, check=False)
            self.statistics(experiment, file)
        except subprocess.TimeoutExpired:
            return None, f"no end within {run.LIMIT} s"
        finally:
            file.unlink()
        if ran.returncode:
            return None, run.last_line(ran.stderr, f"status {ran.returncode}")
        return run.figures_of(ran.stdout, experiment["dtype"]), ran.stdout

    def do(self, experiment):
        """The line of an experiment. What fails is said in it: the queue goes on."""
        row = {name: experiment[name] for name in ("name", "plan", "question")}
        try:
            row["check"] = self.check(experiment)
            row["figures"], row["said"] = self.time(experiment)
        except (OSError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
            row["figures"], row["said"] = None, str(error)
        return row


def send_home():
    """results.tar.gz: lines and statistics first, then as much of the driver's cache as fits."""
    left = MOST
    with tarfile.open(HERE / "results.tar.gz", "w:gz") as archive:
        for folder in (RESULTS, HERE / "cache"):
            for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".spv"):
                if path.stat().st_size <= left:
                    left -= path.stat().st_size
                    archive.add(path, path.relative_to(HERE))


def table(rows):
    print(f"{'':44} {'ms':>10} {'call':>10} {'GFLOP/s':>10}  check; host")
    for row in rows:
        name = f"{row['name']} {row['plan']}"
        figures = row["figures"]
        print(f"{name:44} {row['said']}" if not figures else
              f"{name:44} {figures['ms']:10.4f} {figures['call']:10.4f} {figures['gflops']:10.1f}  {row['check']}; {figures['host']}")


def main():
    options, began = arguments(), time.monotonic()
    wanted = [part for part in options.only.split(",") if part]
    packed = json.loads((HERE / "queue.json").read_text(encoding="utf-8"))
    queue = [one for one in packed["experiments"] if not wanted or any(part in one["name"] for part in wanted)]
    if not queue:
        raise run.Failure(f"--only: expected part of an experiment's name, found '{options.only}'")
    RESULTS.mkdir(exist_ok=True)
    cache = HERE / "cache"
    variables = {**run.environment(), "XDG_CACHE_HOME": str(cache), "MESA_SHADER_CACHE_DIR": str(cache), "__GL_SHADER_DISK_CACHE_PATH": str(cache)}
    devices = subprocess.run([*options.command, str(HERE / "heddle-run"), "devices"], capture_output=True, text=True, env=variables, check=False).stdout
    run.is_processor(options.device, devices)
    (RESULTS / "devices.txt").write_text(devices, encoding="utf-8")
    print(devices)
    lab, rows = Lab(options, variables, packed["holes"]), []
    with open(RESULTS / "results.jsonl", "a", encoding="utf-8") as lines:
        for experiment in sorted(queue, key=lambda one: one["priority"]):
            if time.monotonic() - began + experiment["seconds"] > options.seconds:
                print(f"{experiment['name']}: no time is left", flush=True)
                continue
            rows.append(lab.do(experiment))
            lines.write(json.dumps(rows[-1]) + "\n")
            lines.flush()
            os.fsync(lines.fileno())
    table(rows)
    send_home()
    return 1 if any(not row["figures"] or row["check"] not in ("equal", "not checked") for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except run.Failure as failure:
        sys.exit(f"error: {failure}")
