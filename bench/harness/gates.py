# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold, as data, and the verdict on each. No package needed.

A gate belongs to one row on one number of threads and has an identifier, `gemm.f32.64x768x768.t1.peak`. Misses that
are known and explained stand in misses.txt by that identifier.
"""
from dataclasses import dataclass

from . import matrix
from .figures import spread
from .formats import FORMATS

NEVER_SLOWER = 0.97
CLOSE = 0.98  # a miss below 2 % counts as met
LEAST = 0.90  # of the limit: what a recorded miss may reach
MOST_MISSES = 3
QUIET = 0.15  # how far the middle 90 % of a run's peaks may lie apart

PASS, FAIL, MISS, UNSUPPORTED, ABSENT, UNMEASURED = "pass", "FAIL", "recorded miss", "not supported yet", "not on this CPU", "not measured"


@dataclass(frozen=True)
class Gate:
    row: str
    threads: int
    what: str  # peak, read, best-peer, dense-peer, a peer's name, or a fact
    limit: float
    text: str
    at_most: bool = False

    @property
    def id(self):
        return f"{self.row}.t{self.threads}.{self.what}"


@dataclass
class Verdict:
    gate: Gate
    status: str
    value: float = None
    note: str = ""


#===----------------------------------------------------------------------===#
# The list
#===----------------------------------------------------------------------===#


def least(row, threads, what, limit):
    return Gate(row, threads, what, limit, f">= {limit:g}")


def gemm_gates():
    for n, k in matrix.GEMM_SHAPES:
        for m in (32, 64, 128, 512, 2048):
            row = f"gemm.f32.{m}x{n}x{k}"
            yield least(row, 1, "peak", 0.88 if m == 32 else 0.90)
            yield least(row, 2, "peak", 0.88)
            for threads in (1, 2):
                yield least(row, threads, "best-peer", NEVER_SLOWER)
        for m in (64, 128, 512, 2048):
            yield least(f"gemm.bf16.{m}x{n}x{k}", 1, "peak", 0.85)
            yield least(f"gemm.int8.{m}x{n}x{k}", 1, "peak", 0.88)
            yield least(f"gemm.f16-sum.{m}x{n}x{k}", 1, "peak", 1.6)
        yield least(f"gemm.int4.512x{n}x{k}", 1, "peak", 0.48)
        for threads in (1, 2):
            # int4 multiplies so many weights a byte that caches are faster than it.
            int4 = 0.8 if n * k >= 4096 * 4096 else 0.55 if n * k > 768 * 768 else 0.53
            for dtype, limit in (("f32", 0.9), ("int8", 0.9), ("bf16", 0.82), ("int4", int4)):
                yield least(f"gemv.{dtype}.{n}x{k}", threads, "read", limit)


def attention_gates():
    for t in (16, 32, 64, 128):
        yield least(f"attention.f32.full.T{t}", 1, "best-peer", NEVER_SLOWER)
    for t, share in ((512, 0.77), (2048, 0.82)):
        yield least(f"attention.f32.full.T{t}", 1, "peak", share)
        yield least(f"attention.f32.full.T{t}", 1, "best-peer", 1.15)
        yield least(f"attention.bf16.full.T{t}", 1, "best-peer", 1.3)
    yield least("attention.f32.causal.T2048", 1, "best-peer", 2)
    yield least("attention.f32.window.T4096", 1, "flex", 2)
    yield least("attention.f32.window.T4096", 1, "dense-peer", 8)


def model_gates():
    for b in (1, 8):
        for s in (16, 128, 384):
            few = b * s <= 32
            for threads in (1, 2):
                for dtype, share in (("f32", 0.88), ("bf16", 0.82)):
                    row = f"bert.{dtype}.{b}x{s}"
                    yield least(row, threads, "best-peer", 1.4 if few else NEVER_SLOWER)
                    if b * s >= 128:
                        yield least(row, threads, "peak", share)
                row = f"bert.int8.{b}x{s}"
                yield least(row, threads, "openvino", 1.15 if few else 1.05)
                yield least(row, threads, "onnxruntime", 1.6)


def other_gates():
    for row, what, limit, text in (
            ("compile.bert", "cold", 1.5, "s, cold"), ("compile.bert", "cached", 0.1, "s, from the cache"),
            ("start.bert", "first-result", 0.1, "s to the first result"), ("start.bert", "memory", 1.15, "times the weights")):
        yield Gate(row, 1, what, limit, f"<= {limit:g} {text}", at_most=True)
    yield Gate("bits", 1, "equal", 1, ">= 1: every equality of bits")


def all_gates():
    return [*gemm_gates(), *attention_gates(), *model_gates(), *other_gates()]


#===----------------------------------------------------------------------===#
# The verdict
#===----------------------------------------------------------------------===#


def parse_misses(text):
    """Lines of `identifier: reason`; empty lines and comments are left out."""
    misses = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, colon, reason = line.partition(":")
        if not colon or not reason.strip():
            raise ValueError(f"misses.txt:{number}: expected 'identifier: reason', found '{line}'")
        if name.strip() in misses:
            raise ValueError(f"misses.txt:{number}: expected each gate once, found {name.strip()} twice")
        misses[name.strip()] = reason.strip()
    return misses


def arithmetics(dtype):
    """The rates that a row of a type needs: f32 always, which tells a quiet machine, and what `peak_rate` asks for."""
    own = FORMATS[dtype].peak
    return ["f32"] if own == "f32" else ["f32", own]


def peak_rate(dtype, rates):
    """The rate that a share of a type is of, and None where the CPU lacks its instructions."""
    if dtype == "bf16":  # what vdpbf16ps computes may run as f32 multiply-adds where those are faster
        faster = rates.get("bf16") and rates["bf16"][0] > rates["f32"][0]
        return "bf16" if faster else "f32"
    if dtype == "f16-sum":
        return "f32" if rates.get("f16") else None
    if dtype in ("int8", "int4"):
        return "int8" if rates.get("int8") else None
    return "f32"


def measured(gate, result):
    """The gate's number in a result, and a note; None where the run has none."""
    # Rounding or quantising the activations is no part of the product; it is of what peers are compared with.
    alone = "heddle.product" if "heddle.product" in result.seconds else "heddle"
    if gate.what == "peak":
        rate = peak_rate(result.row.dtype, result.rates)
        return (None, ABSENT) if rate is None else (result.share(alone, rate), f"of the {rate} peak")
    if gate.what == "read":
        return result.share(alone, "read"), "of the read bandwidth"
    if gate.what in result.facts:
        return result.facts[gate.what], ""
    peers = result.peers()
    if gate.what == "dense-peer":
        peers = [peer for peer in peers if peer != "flex"]
    elif gate.what != "best-peer":
        peers = [peer for peer in peers if peer == gate.what]
    return (result.speedup(peers[0]), f"x {peers[0]}") if peers else (None, "no such peer in the run")


def limit_of(gate, result):
    """bf16 has a lower limit where it can only run as f32 multiply-adds."""
    if gate.what == "peak" and gate.row.startswith("gemm.bf16") and peak_rate("bf16", result.rates) == "f32":
        return 0.80
    return gate.limit


def judge(gate, result, misses):
    if result is None:
        return Verdict(gate, UNMEASURED)
    if "heddle" in result.notes:
        note = result.notes["heddle"]
        status = UNSUPPORTED if "not supported yet" in note else FAIL
        # An instruction that the CPU lacks is the better reason.
        if gate.what == "peak" and result.rates and peak_rate(result.row.dtype, result.rates) is None:
            status = ABSENT
        return Verdict(gate, status, note=note if status == FAIL else "")
    if gate.what not in result.facts and "heddle" not in result.seconds:
        return Verdict(gate, UNMEASURED)
    value, note = measured(gate, result)
    if value is None:
        return Verdict(gate, ABSENT if note == ABSENT else UNMEASURED, note="" if note == ABSENT else note)
    limit = limit_of(gate, result)
    reached = limit / value if gate.at_most else value / limit
    if reached >= CLOSE:
        return Verdict(gate, PASS, value, note if reached >= 1 else note + ", a miss below 2 %")
    if gate.id in misses and reached >= LEAST:
        return Verdict(gate, MISS, value, misses[gate.id])
    return Verdict(gate, FAIL, value, note)


def judge_all(results, misses):
    """A verdict a gate; recorded misses past the third fail."""
    by_name = {result.name: result for result in results}
    verdicts = [judge(gate, by_name.get(f"{gate.row}.t{gate.threads}"), misses) for gate in all_gates()]
    for verdict in [v for v in verdicts if v.status == MISS][MOST_MISSES:]:
        verdict.status, verdict.note = FAIL, f"at most {MOST_MISSES} rows may miss"
    return verdicts


def restless(results):
    """Rows whose f32 peak moved between the rounds: something else ran on the machine, and figures are no results."""
    return [result.name for result in results if result.rates.get("f32") and spread(result.rates["f32"]) > QUIET]


def voids(results):
    """Reasons why nothing of a run counts."""
    reasons = []
    for result in results:
        if result.row.name == matrix.WITNESS and result.rates:
            peers = result.peers()
            share = result.share(peers[0], "f32") if peers else 0
            if share < 0.65:
                best = peers[0] if peers else "none"
                reasons.append(f"{result.name}: best peer {best} at {share:.2f} of the f32 peak, expected at least 0.65")
        for contender in result.seconds:
            rate = peak_rate(result.row.dtype, result.rates) if result.rates else None
            if rate and result.row.flops and result.row.kind == "gemm" and result.row.dtype != "f16-sum":
                share = result.share(contender, rate)
                if share > 1:
                    reasons.append(f"{result.name}: {contender} at {share:.3f} of the {rate} peak, expected at most 1")
    return reasons
