# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command: chooses rows, runs them, prints tables, the bandwidths, the gates; exit status 1 where a gate fails."""
import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import gates, language, matrix, report, sequences
from .figures import median

HERE = Path(__file__).resolve().parent
PEERS = {"openvino": "openvino", "onnxruntime": "onnxruntime", "torch": "torch_eager", "inductor": "inductor", "flex": "flex", "iree": "iree",
         "llama.cpp": "llama_cpp", "llama.cpp.2": "llama_cpp_second", "ctranslate2": "ctranslate2", "llm.c": "llm_c"}
MODULES = {"openvino": "openvino", "onnxruntime": "onnxruntime", "torch": "torch", "inductor": "torch", "flex": "torch", "iree": "iree.compiler",
           "llama.cpp": "llama_cpp", "llama.cpp.2": "llama_cpp", "ctranslate2": "ctranslate2", "llm.c": "torch"}
LEVELS = {"L1": 24 << 10, "L2": 768 << 10, "L3": 12 << 20, "memory": 512 << 20}


def default_venv():
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("HEDDLE_BENCH_VENV") or Path(cache) / "heddle-bench")


def arguments(argv):
    parser = argparse.ArgumentParser(prog="bench/run", description="Heddle and its peers in one run, interleaved round by round.",
                                     epilog="examples: bench/run --quick    bench/run --rows='gemm.f32.*' --threads=1    bench/run --gates")
    parser.add_argument("--rows", help="patterns of row names, by commas (default: the rows of the gates with --gates, else all)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, by commas (default: 1,2)")
    parser.add_argument("--rounds", type=int, help="rounds of a row (default: 15; 5 with --quick)")
    parser.add_argument("--quick", action="store_true", help="a few rows, five rounds")
    parser.add_argument("--gates", action="store_true", help="print a line a gate; status 1 where one fails or the run is void")
    parser.add_argument("--peers", default=",".join(PEERS), help="by commas (default: %(default)s)")
    parser.add_argument("--build", default=str(HERE.parent.parent / "build"), help="build folder with HEDDLE_BUILD_BENCH (default: build)")
    parser.add_argument("--beside", metavar="BUILD", help="another build folder of Heddle, of another commit, timed in the same rounds")
    parser.add_argument("--list", action="store_true", help="print the names of the rows and end")
    parser.add_argument("--json", help="also write every figure of every round to this file, after each row")
    parser.add_argument("--resume", action="store_true", help="with --json: keep the rows of the file during which the machine was quiet, measure the others")
    parser.add_argument("--from-json", help="judge and print an earlier run instead of measuring")
    return parser.parse_args(argv)


def choose(options):
    rows = matrix.all_rows()
    if options.rows:
        rows = matrix.select(rows, options.rows.split(","))
    elif options.gates:
        rows = [row for row in rows if row.gated]
    if options.quick:  # a language model takes gigabytes, which nobody expects who did not name it
        rows = [row for row in rows if row.quick and (options.rows or row.kind not in language.KINDS)]
    return rows


def installed_peers(names):
    """Peers that can be imported here; the others are a line each."""
    import importlib.util
    found = {}
    for name in names:
        if name not in PEERS:
            raise ValueError(f"--peers: expected one of {', '.join(PEERS)}, found '{name}'")
        try:
            there = importlib.util.find_spec(MODULES[name]) is not None
        except ModuleNotFoundError:
            there = False
        if name == "llm.c" and not Path(os.environ.get("HEDDLE_BENCH_LLMC", "")).is_file():
            print("llm.c: HEDDLE_BENCH_LLMC names no train_gpt2.c")
        elif there:
            found[name] = PEERS[name]
        else:
            print(f"{name}: not installed in {sys.prefix}: bench/setup says why")
    return found


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def versions(names):
    """Of what can be named: packages of the environment."""
    from importlib import metadata
    packages = {"openvino": "openvino", "onnxruntime": "onnxruntime", "torch": "torch", "iree": "iree-base-compiler", "nncf": "nncf", "llama.cpp": "llama-cpp-python", "ctranslate2": "ctranslate2", "numpy": "numpy"}
    listed = []
    for name, package in packages.items():
        try:
            listed.append(f"{name} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            pass
    return ", ".join(listed)


def head(options, rounds):
    commit = subprocess.run(["git", "-C", str(HERE), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False).stdout.strip()
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"machine  {cpu_name()}, {os.cpu_count()} processors, load {load} when the run began")
    print(f"heddle   {commit or 'no repository'};  {versions(PEERS)}")
    print(f"rounds   {rounds}; times are medians, ratios and shares medians of the rounds' own; command: bench/run {' '.join(sys.argv[1:])}\n")


def bandwidths(contest):
    figures = {}
    for level, size in LEVELS.items():
        figures[level] = median([contest.heddle.ask(do="read", bytes=size, threads=contest.threads)["rate"] for _ in range(15)])
    contest.heddle.stop()
    print(f"read, {contest.threads} threads: " + ", ".join(f"{level} {rate * 1e-9:.0f} GB/s" for level, rate in figures.items()) + "\n")


def worker_of(option, build):
    worker = Path(build).resolve() / "bin" / "heddle-bench-worker"
    if not worker.exists():
        raise ValueError(f"{option}: expected {worker}, found none: configure with -DHEDDLE_BUILD_BENCH=ON, then ninja heddle-bench-worker heddle heddle-run")
    return worker


def measure(options, rows, rounds):
    from . import models, systems
    from .contest import Contest
    heddle = worker_of("--build", options.build)
    beside = worker_of("--beside", options.beside) if options.beside else None
    peers = installed_peers([name for name in options.peers.split(",") if name])
    cache = default_venv().parent / "heddle-bench-models" if not os.environ.get("HEDDLE_BENCH_MODELS") else Path(os.environ["HEDDLE_BENCH_MODELS"])
    cache.mkdir(parents=True, exist_ok=True)
    threads = [int(number) for number in options.threads.split(",")]
    # The witness is part of every run that compares with somebody who multiplies matrices alone.
    if set(peers) - set(language.ONLY) - set(sequences.PEERS) - {"llm.c"} and not any(row.name == matrix.WITNESS for row in rows):
        rows = matrix.select(matrix.all_rows(), [matrix.WITNESS]) + rows
    results = earlier(options)
    done = {result.name for result in results}

    def add(result):
        results.append(result)
        print(report.result_table(result), flush=True)
        write_results(options.json, results)

    # The folder holds compiled files of gigabytes, which a run that is stopped from outside must not leave.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as name:
        work = Path(name)
        for number in threads:
            contest = Contest(number, heddle, peers, cache, beside)
            try:
                bandwidths(contest)
                for row in rows:
                    if number in row.threads and row.kind not in systems.ROWS and f"{row.name}.t{number}" not in done:
                        spec, check = models.make(row, work / "row", cache, heddle.parent)
                        add(contest.run(row, spec, check, work / "row", rounds))
            finally:
                contest.close()
        for row in rows:
            if row.kind in systems.ROWS and f"{row.name}.t1" not in done:
                add(systems.ROWS[row.kind](row, heddle, work, cache, rounds))
    return results


def earlier(options):
    """What an interrupted run has already: a row is measured again only because the machine was not quiet, whatever it says."""
    if not options.resume or not Path(options.json).exists():
        return []
    results = read_results(options.json)
    moved = set(gates.restless(results))
    return [result for result in results if result.name not in moved]


def write_results(path, results):
    if path:
        beside = Path(path + ".new")
        beside.write_text(json.dumps([result.to_json() for result in results]), encoding="utf-8")
        beside.replace(path)


def read_results(path):
    from .figures import Result
    rows = {row.name: row for row in matrix.all_rows()}
    results = []
    for entry in json.loads(Path(path).read_text(encoding="utf-8")):
        result = Result(rows[entry.pop("row")], entry.pop("threads"))
        vars(result).update(entry)
        results.append(result)
    return results


def main(argv):
    options = arguments(argv)
    try:
        if options.resume and not options.json:
            raise ValueError("--resume: expected --json=FILE, found none")
        rows = choose(options)
        misses = gates.parse_misses((HERE / "misses.txt").read_text(encoding="utf-8"))
        if options.list:
            print("\n".join(row.name for row in rows))
            return 0
        rounds = options.rounds or (5 if options.quick else 15)
        if options.from_json:
            results = read_results(options.from_json)
        else:
            head(options, rounds)
            results = measure(options, rows, rounds)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return conclude(options, results, misses, rounds)


def conclude(options, results, misses, rounds):
    void = gates.voids(results)
    moved = gates.restless(results)
    if moved:
        print(f"not quiet: the f32 peak moved by more than {gates.QUIET:.0%} in {len(moved)} of {len(results)} rows; record nothing of them ({', '.join(moved[:5])}{', …' if len(moved) > 5 else ''})")
    if scaling := report.scaling_table(results):
        print(scaling)
    if beside := report.beside_line(results):
        print(beside)
    failed = False
    if options.gates:
        verdicts = gates.judge_all(results, misses)
        print(report.gate_table(verdicts, lists_unmeasured=not options.rows))  # nobody asked for the others
        failed = any(verdict.status == gates.FAIL for verdict in verdicts)
        if rounds < 15:
            print(f"{rounds} rounds: gates ask for at least 15")
    for reason in void:
        print(f"void: {reason}")
    wrong = [f"{result.name}: {result.notes['heddle']}" for result in results if result.notes.get("heddle", "").startswith("wrong")]
    for line in wrong:
        print(line)
    return 1 if failed or void or wrong else 0
