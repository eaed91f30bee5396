# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The verdict on each gate of gate_list.py. No package needed. Misses that are known and explained stand in misses.txt by the gate's identifier."""
from dataclasses import dataclass

from . import matrix
from .figures import median, spread
from .formats import FORMATS
from .gate_list import Gate, all_gates

CLOSE = 0.98  # a miss below 2 % counts as met
LEAST = 0.90  # of the limit: what a recorded miss may reach
MOST_MISSES = 3
QUIET = 0.15  # how far the middle 90 % of a run's peaks may lie apart

PASS, FAIL, MISS, UNSUPPORTED, ABSENT, UNMEASURED = "pass", "FAIL", "recorded miss", "not supported yet", "not on this CPU", "not measured"


@dataclass
class Verdict:
    gate: Gate
    status: str
    value: float = None
    note: str = ""


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


def measured(what, result, by_name):
    """A number of a gate in a result, and a note; None where the run has none."""
    # Rounding or quantising the activations is no part of the product; it is of what peers are compared with.
    alone = "heddle.product" if "heddle.product" in result.seconds else "heddle"
    if what in result.facts:
        return result.facts[what], result.kernels.get(what, "")
    if "heddle" not in result.seconds:
        return None, ""
    if what == "peak":
        rate = peak_rate(result.row.dtype, result.rates)
        return (None, ABSENT) if rate is None else (result.share(alone, rate), f"of the {rate} peak")
    if what == "read":
        return (result.share(alone, "read"), "of the read bandwidth") if reads_at_speed(result) else (None, ABSENT)
    if what.startswith("tokens-of "):
        return tokens_of(by_name.get(f"{what.split()[1]}.t{result.threads}"), result)
    return ratio_to(what, result)


def reads_at_speed(result):
    """Four bits are read as fast as memory gives them where AVX-512 VNNI multiplies them; elsewhere rates are recorded."""
    return result.row.dtype != "int4" or "16 lanes" in result.instructions.get("int8", "16 lanes")


def tokens_of(one, result):
    """Tokens a second of a batch in times of those of one row, which another row of the run has."""
    if one is None or "heddle" not in one.seconds or "heddle" in one.notes:
        return None, "no row alone in the run"
    batches = result.row.sizes["b"] / one.row.sizes["b"]
    return batches * median(one.seconds["heddle"]) / median(result.seconds["heddle"]), f"x {one.name}"


def ratio_to(what, result):
    peers = result.peers()
    if what == "dense-peer":
        peers = [peer for peer in peers if peer != "flex"]
    elif what != "best-peer":
        peers = [peer for peer in peers if peer == what or peer.startswith(what + ".")]
    return (result.speedup(peers[0]), f"x {peers[0]}") if peers else (None, "no such peer in the run")


def limit_of(gate, what, limit, result):
    """bf16 has a lower limit where it can only run as f32 multiply-adds."""
    if what == "peak" and gate.row.startswith("gemm.bf16") and peak_rate("bf16", result.rates) == "f32":
        return 0.80
    return limit


def best_choice(gate, result, by_name):
    """What the gate's best number reaches of its limit, the number and a note; without any, None and the first note."""
    found = []
    for what, limit in gate.choices:
        value, note = measured(what, result, by_name)
        if value is None:
            found.append((-1, None, note))
            continue
        limit = limit_of(gate, what, limit, result)
        found.append((limit / value if gate.at_most else value / limit, value, note))
    return max(found, key=lambda one: one[0])


def judge(gate, result, misses, by_name=None):
    if result is None:
        return Verdict(gate, UNMEASURED)
    if "heddle" in result.notes:
        note = result.notes["heddle"]
        status = UNSUPPORTED if "not supported yet" in note else FAIL
        # An instruction that the CPU lacks is the better reason.
        if gate.what == "peak" and result.rates and peak_rate(result.row.dtype, result.rates) is None:
            status = ABSENT
        return Verdict(gate, status, note=note if status == FAIL else "")
    reached, value, note = best_choice(gate, result, by_name or {})
    if value is None:
        return Verdict(gate, ABSENT if note == ABSENT else UNMEASURED, note="" if note == ABSENT else note)
    if reached >= CLOSE:
        return Verdict(gate, PASS, value, note if reached >= 1 else note + ", a miss below 2 %")
    if gate.id in misses and reached >= LEAST:
        return Verdict(gate, MISS, value, misses[gate.id])
    return Verdict(gate, FAIL, value, note)


def judge_all(results, misses):
    """A verdict a gate; recorded misses past the third fail."""
    by_name = {result.name: result for result in results}
    verdicts = [judge(gate, by_name.get(f"{gate.row}.t{gate.threads}"), misses, by_name) for gate in all_gates()]
    for verdict in [v for v in verdicts if v.status == MISS][MOST_MISSES:]:
        verdict.status, verdict.note = FAIL, f"at most {MOST_MISSES} rows may miss"
    return verdicts


def restless(results):
    """Rows whose f32 peak moved between the rounds: something else ran on the machine, and figures are no results."""
    return [result.name for result in results if result.rates.get("f32") and spread(result.rates["f32"]) > QUIET]


def has_unit(contender, result):
    """Whether a contender may use a matrix unit that is faster than the peak of a row's type; int4's is that of int8. Heddle's bf16
    does not, since it adds in another order."""
    arithmetic = FORMATS[result.row.dtype].peak
    return arithmetic in result.units and (arithmetic == "int8" or not contender.startswith("heddle"))


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
                if share > 1 and not has_unit(contender, result):
                    reasons.append(f"{result.name}: {contender} at {share:.3f} of the {rate} peak, expected at most 1")
    return reasons
