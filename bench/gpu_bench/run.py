# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the models of a folder on a GPU, and PyTorch beside them where it finds one with CUDA. No package needed.

usage: run [--all] [--device=vulkan:N] [--vulkan-level=N] [--rounds=N] [--only=TEXT,…] [--json=FILE] [--tables=FILE]

Without --all: one or two calls of each model, some minutes, once where the device is a processor. The folder is made by `bench/gpu --pack`; files
of 5 GB are restored in it when they are first run. `ms` is a whole call on the device, from its first to its last command; `call` adds the host:
binding, recording, submitting, waking. `share` is that of the rates that loops reach on the device in the same run, each kernel's of its type's, and
`peak` the rate of the call's type. A line a call; peers stand in the same line, each with calls back to back and with one call by the host's clock.
"""
import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import pack  # noqa: E402: the path comes first

LIMIT = 300  # seconds of one call's rounds
MULTIPLIED = {"int4": "int8", "f16-sum": "f16"}  # what other types are multiplied as


def arguments():
    parser = argparse.ArgumentParser(prog="run", description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="every call of every model")
    parser.add_argument("--device", default="vulkan", help="vulkan or vulkan:N, see heddle-run devices (default: %(default)s)")
    parser.add_argument("--vulkan-level", help="a lower level of kernels than the device's own")
    parser.add_argument("--rounds", type=int, help="of each call (default: 7, where the device is a processor 1)")
    parser.add_argument("--only", default="", help="calls whose name contains one of these, by commas")
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--tables", help="also write heddle-run's tables to this file: each call kernel by kernel")
    return parser.parse_args()


class Failure(Exception):
    """Why nothing can be measured here, in a line."""


def last_line(text, otherwise):
    return (text.strip().splitlines() or [otherwise])[-1]


def asked(environment, *words):
    """What heddle-run says, and whether it could."""
    try:
        ran = subprocess.run([str(HERE / "heddle-run"), *words], capture_output=True, text=True, env=environment, check=False)
    except OSError as error:
        return str(error), False
    return ran.stdout or ran.stderr, ran.returncode == 0


def has_loader():
    try:
        ctypes.CDLL("libvulkan.so.1")
        return True
    except OSError:
        return False


def environment():
    """Variables with which heddle-run starts. Its libraries lie in the folder; the machine's own C++ library and Vulkan loader are taken
    where they will do, since its drivers were made for them."""
    if not (HERE / "lib").exists():
        with zipfile.ZipFile(HERE / "lib.zip") as archive:
            archive.extractall(HERE / "lib.new")
        (HERE / "lib.new" / "lib").rename(HERE / "lib")
        (HERE / "lib.new").rmdir()
    said = ""
    for base in ((), ("lib/base",)):
        places = [str(HERE / place) for place in ("lib", *base, *(() if has_loader() else ("lib/loader",)))]
        found = {**os.environ, "LD_LIBRARY_PATH": ":".join([*places, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])}
        said, works = asked(found, "--version")
        if works:
            return found
    raise Failure(f"heddle-run does not start here: {last_line(said, 'it said nothing')}")


def is_processor(device, devices):
    """Whether the device is the processor, by what heddle-run says of the devices."""
    name = device if ":" in device else device + ":0"
    found = re.search(rf"^{re.escape(name)}: .*(?:\n  .*)*", devices, re.MULTILINE)
    if not found:
        others = ", ".join(re.findall(r"^(vulkan:\d+): ", devices, re.MULTILINE))
        raise Failure(f"--device: expected {device}, found {others or last_line(devices, 'nothing')}")
    return "on a processor" in found[0]


def whole(model):
    """The compiled file, restored when it is first asked for."""
    path = HERE / "models" / f"{model['name']}.heddle"
    if not path.exists():
        pack.restore(HERE / "models" / f"{model['name']}.cut", path, model["holes"])
    return path


def figures_of(text, dtype):
    """Milliseconds of a call on the device and as a whole, GFLOP/s and share of the peak of all kernels, and the type's peak and the copy's
    rate, from heddle-run's table. A device without a clock has the sum of its launches."""
    kernels = re.search(r"^all kernels +\d+ +([\d.]+) +\S+ +([\d.]+) +(\S+)", text, re.MULTILINE)
    head = re.search(r"^peak +(.*), memory copied at ([\d.]+) GB/s", text, re.MULTILINE)
    call = re.search(r"^call +([\d.]+) ms [^;]*(?:; device ([\d.]+), host: (.*))?", text, re.MULTILINE)
    if not kernels or not head or not call:
        return None
    # "30.1 GFLOP/s f32 (…), 50.6 int8 (…)": types that the device multiplies as f32 are not listed
    peaks = {name: float(rate) for rate, name in re.findall(r"([\d.]+)(?: GFLOP/s)? (\w+) \(", head[1])}
    peak = peaks.get(MULTIPLIED.get(dtype, dtype), peaks["f32"])
    share = None if kernels[3] == "-" else float(kernels[3].rstrip("%")) / 100
    return {"ms": float(call[2] or kernels[1]), "call": float(call[1]), "host": call[3] or "", "kernels": float(kernels[1]), "gflops": float(kernels[2]), "share": share, "peak": peak, "copy": float(head[2])}


def heddle(model, call, options, variables):
    try:
        file = whole(model)
    except OSError as error:
        return None, f"{model['name']}: {error.strerror}"
    command = [str(HERE / "heddle-run"), "bench", str(file), f"--device={options.device}", f"--function={call['function']}", f"--rounds={options.rounds}"]
    command += [f"--dim={name}={size}" for name, size in call["dims"].items()]
    if options.vulkan_level:
        command.append(f"--vulkan-level={options.vulkan_level}")
    try:
        ran = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no end within {LIMIT} s"
    if ran.returncode:
        return None, last_line(ran.stderr, f"status {ran.returncode}")
    if options.tables:
        with open(options.tables, "a", encoding="utf-8") as file:
            file.write(f"{call['name']}\n{ran.stdout}\n")
    figures = figures_of(ran.stdout, model["dtype"])
    return figures, "" if figures else "expected heddle-run's table, found another text"


class Peers:
    """The process that times PyTorch, or nothing where there is none."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, str(HERE / "peers.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        if "error" in self.about:
            print(f"peers   none: {self.about['error']}")

    def ask(self, dtype, call, rounds):
        if "error" in self.about:
            return {}
        try:
            self.process.stdin.write(json.dumps({"dtype": dtype, "rounds": rounds, **call["peer"]}) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        except (BrokenPipeError, json.JSONDecodeError) as error:
            answer = {"error": str(error)}
        if "error" in answer:
            print(f"  peer: {answer['error']}")
            return {}
        for name, why in answer.get("missing", {}).items():
            print(f"  peer: {name}: {why}")
        return answer["times"]


def line(name, figures, peers):
    share = "      -" if figures["share"] is None else f"{figures['share']:7.3f}"
    beside = "  ".join(f"{peer} {found['ms']:.4f} ms ({found['ms'] / figures['ms']:.2f} x), a call {found['call']:.4f} ({found['call'] / figures['call']:.2f} x)"
                       for peer, found in peers.items())
    return f"{name:34} {figures['ms']:11.4f} {figures['call']:11.4f} {figures['gflops']:10.1f} {share} {figures['peak']:9.0f} {figures['copy']:7.0f}  {beside}".rstrip()


def main():
    options = arguments()
    models = json.loads((HERE / "models.json").read_text(encoding="utf-8"))
    variables = environment()
    devices, _ = asked(variables, "devices")
    options.rounds = options.rounds or (1 if is_processor(options.device, devices) else 7)
    print(devices)
    if options.tables:
        Path(options.tables).write_text("", encoding="utf-8")
    peers = Peers()
    if "device" in peers.about:
        print(f"peers   {peers.about['device']}")
    print(f"{'':34} {'ms':>11} {'call':>11} {'GFLOP/s':>10} {'share':>7} {'peak':>9} {'GB/s':>7}  peers' times, and how many times Heddle's they are")
    wanted, results = [part for part in options.only.split(",") if part], []
    for model in models:
        for call in model["calls"]:
            chosen = any(part in call["name"] for part in wanted) if wanted else options.all or call["brief"]
            if not chosen:
                continue
            figures, why = heddle(model, call, options, variables)
            if figures is None:
                print(f"{call['name']:34} {why}", flush=True)
                results.append({"name": call["name"], "error": why})
                continue
            beside = peers.ask(model["dtype"], call, options.rounds)
            print(line(call["name"], figures, beside), flush=True)
            results.append({"name": call["name"], **figures, "peers": beside})
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    if not results:
        print(f"error: --only: expected part of a call's name, found '{options.only}'", file=sys.stderr)
        return 2
    return 1 if any("error" in result for result in results) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"error: {failure}")
