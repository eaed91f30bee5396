# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of AMD machine code: the loop with most multiply-adds, and the cycles that its instructions take to issue.

The model. A SIMD issues a vector instruction of 32 lanes in a cycle (GCN: of 64 lanes in four, which are called one
here); a subgroup of 64 takes two, on RDNA3 one where both halves issue at once. Powers, roots and 32-bit integer
products take four times as long, a matrix product (16 x 16 x 16) 32 cycles. A SIMD gets 64 bytes of memory and of
workgroup memory a cycle. It knows no latency, misses or conflicts: a high share is necessary, not sufficient.
"""
import re
from dataclasses import dataclass, field

GCN = ("polaris10", "vega10")
PAIRED = ("navi31", "gfx1100", "gfx1150", "gfx1201")  # two f32 results a lane and cycle

# Instructions by what they do; the first pattern that fits counts.
_MULTIPLY_ADD = re.compile(r"v_(dual_)?(pk_)?(fma|fmac|mad|mac)(mk|ak)?(_mix(lo|hi)?)?(_legacy)?_?(f16|f32)?(_e32|_e64)?$|v_dot[248]")
_MATRIX = re.compile(r"v_s?wmma")
_BOTH_HALVES = re.compile(r"v_(dual_)?(fma|fmac|fmaak|fmamk|mul|add|sub|subrev|mov|max|min|cndmask|lshlrev|and)_(f32|b32)")
_SLOW = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_f|v_mul_(lo|hi)_[iu]32|v_mad_[iu]64")
_MEMORY = re.compile(r"(buffer|global|flat|image)_")
_SIZES = {"byte": 1, "ubyte": 1, "sbyte": 1, "b8": 1, "u8": 1, "i8": 1, "short": 2, "ushort": 2, "sshort": 2, "b16": 2, "u16": 2,
          "i16": 2, "dword": 4, "b32": 4, "u32": 4, "dwordx2": 8, "b64": 8, "dwordx3": 12, "b96": 12, "dwordx4": 16, "b128": 16}


def bytes_of(mnemonic):
    """Bytes that a lane moves."""
    size = next((_SIZES[part] for part in reversed(mnemonic.split("_")) if part in _SIZES), 4)
    twice = re.search(r"(read|write)2|_2addr", mnemonic)
    return size * (2 if twice else 1)


@dataclass
class Counts:
    """Instructions of a stretch of code, and the cycles of a SIMD that their kinds take."""
    fma: int = 0
    wmma: int = 0
    valu: int = 0  # other vector arithmetic
    lds: int = 0
    vmem: int = 0
    smem: int = 0
    scratch: int = 0  # accesses to spilled registers
    wait: int = 0
    barrier: int = 0
    products: float = 0  # multiply-adds of all lanes
    ideal: float = 0  # cycles that they alone would take
    cycles: dict = field(default_factory=lambda: {"valu": 0.0, "lds": 0.0, "vmem": 0.0})

    def bound(self):
        return max(self.cycles, key=self.cycles.get)

    def rate(self, family):
        """Multiply-adds a SIMD and cycle."""
        busiest = self.cycles[self.bound()]
        return self.products / busiest / (4 if family in GCN else 1) if busiest else 0.0

    def share(self, of=None):
        """Cycles of multiply-adds over those of one kind of instructions, or of the busiest, in percent."""
        cycles = self.cycles[of or self.bound()]
        return 100 * self.ideal / cycles if cycles else 0.0


class Counter:
    def __init__(self, family, lanes):
        self.family, self.lanes = family, lanes
        self.plain = 1 if family in GCN else lanes / 32

    def count(self, lines):
        counts = Counts()
        for line in lines:
            self._add(counts, line)
        return counts

    def _add(self, c, line):
        name = line.split(" ", 1)[0]
        gcn = self.family in GCN
        if _MATRIX.match(name):
            c.wmma += 1
            c.products += 16 * 16 * 16
            c.ideal += 32
            c.cycles["valu"] += 32
        elif name.startswith("v_"):
            self._vector(c, line, name)
        elif name == "(invalid":  # a vector instruction that the driver's disassembler does not know
            c.valu += 1
            c.cycles["valu"] += self.plain
        elif name.startswith("scratch_") or (gcn and name.startswith("buffer_") and re.search(r" off, s\[0:3\]", line)):
            c.scratch += 1
            c.cycles["vmem"] += bytes_of(name) * self.lanes / 64
        elif _MEMORY.match(name):
            c.vmem += 1
            c.cycles["vmem"] += bytes_of(name) * self.lanes / 64
        elif name.startswith("ds_"):
            c.lds += 1
            c.cycles["lds"] += bytes_of(name) * self.lanes / (128 if gcn else 64)
        elif name.startswith(("s_load", "s_buffer_load")):
            c.smem += 1
        elif name.startswith(("s_waitcnt", "s_wait_")):
            c.wait += 1
        elif name.startswith("s_barrier") and "signal" not in name:  # RDNA4 signals, then waits
            c.barrier += 1

    def _vector(self, c, line, name):
        halves = [half.strip().split(" ", 1)[0] for half in line.split("::")]
        fmas = sum(1 for half in halves if _MULTIPLY_ADD.match(half))
        # Polaris issues a fused multiply-add at a quarter of the rate.
        slow = _SLOW.match(name) or (self.family == "polaris10" and name.startswith("v_fma_f32"))
        cost = self.plain * (4 if slow else 1)
        if self.family in PAIRED and self.lanes == 64 and _BOTH_HALVES.match(name):
            cost = 1
        c.cycles["valu"] += cost
        if not fmas:
            c.valu += 1
            return
        c.fma += fmas
        each = 4 if "dot4" in name else 8 if "dot8" in name else 2 if "dot2" in name or "_pk_" in name else 1
        c.products += fmas * self.lanes * each
        paired = self.family in PAIRED and not re.search(r"_pk_|dot[248]|mix|f16", name)
        c.ideal += fmas * self.plain * (0.5 if paired else 1)


def loops(lines):
    """All loops as (first, last) lines: from a label to the last branch back to it."""
    labels = {line[:-1]: number for number, line in enumerate(lines) if line.endswith(":")}
    last = {}
    for number, line in enumerate(lines):
        jump = re.match(r"s_c?branch\w* (\w+)", line)
        if jump and labels.get(jump.group(1), number) < number:
            last[labels[jump.group(1)]] = number
    return sorted(last.items())


def innermost(spans):
    return [s for s in spans if not any(s != o and s[0] <= o[0] and o[1] <= s[1] for o in spans)]


def hottest(lines, counter):
    """The innermost loop with most multiply-adds, else any loop with most of them, else the whole code; and how deep it lies."""
    spans = loops(lines)

    def weight(span):
        counts = counter.count(lines[span[0]:span[1] + 1])
        return counts.fma + 64 * counts.wmma

    for candidates in (innermost(spans), spans):
        best = max(candidates, key=weight, default=None)
        if best and weight(best):
            return best, sum(s[0] <= best[0] and best[1] <= s[1] for s in spans)
    return (0, len(lines) - 1), 0


def skipped(lines, chunk, counter):
    """Lines of a loop that multiplies matrices that whole chunks of finite numbers skip: behind a branch forward, without a product."""
    labels = {line[:-1]: number for number, line in enumerate(lines) if line.endswith(":")}
    apart = set()
    for number in range(*chunk):
        jump = re.match(r"s_cbranch\w* (\w+)", lines[number])
        target = labels.get(jump.group(1), 0) if jump else 0
        if number < target <= chunk[1] and not counter.count(lines[number:target]).wmma:
            apart.update(range(number + 1, target))
    return apart


def chunk_counts(lines, counter, products):
    """Attention's whole loop over chunks of keys: cycles of its multiply-adds alone, of all vector instructions, and the multiply-adds.

    The loop is the innermost one around several loops that multiply: scores first, `products` multiply-adds an
    invocation, then as many of values, which may go by slices. Their trips follow. Not counted is what whole chunks of
    finite numbers skip: shorter loops that multiply, for keys behind whole fours, and stretches behind a branch forward.
    Where both products are of matrices, the loop around them is one without others that count.
    """
    spans = loops(lines)
    counted = {span: counter.count(lines[span[0]:span[1] + 1]) for span in spans}
    by_matrices = [span for span in spans if counted[span].wmma]
    if by_matrices:
        chunk = max(by_matrices)  # begins last
        apart = skipped(lines, chunk, counter)
        rest = counter.count([lines[n] for n in range(chunk[0], chunk[1] + 1) if n not in apart])
        return rest.ideal, rest.cycles["valu"], rest.products
    multiply = [span for span in innermost(spans) if counted[span].fma]
    most = max((counted[span].fma for span in multiply), default=0)
    main = [span for span in multiply if counted[span].fma >= 0.4 * most]
    around = [s for s in spans if s not in multiply and sum(s[0] <= m[0] and m[1] <= s[1] for m in main) > 1]
    if not around:
        return None
    chunk = max(around)  # begins last
    inside = [m for m in main if chunk[0] <= m[0] and m[1] <= chunk[1]]
    apart = {n for s in multiply if chunk[0] <= s[0] and s[1] <= chunk[1] for n in range(s[0], s[1] + 1)}
    labels = {line[:-1]: number for number, line in enumerate(lines) if line.endswith(":")}
    for number in range(*chunk):
        jump = re.match(r"s_cbranch\w* (\w+)", lines[number])
        target = labels.get(jump.group(1), 0) if jump else 0
        if number < target <= chunk[1] and not any(number < m[0] < target for m in main):
            apart.update(range(number + 1, target))
    rest = counter.count([lines[n] for n in range(chunk[0], chunk[1] + 1) if n not in apart])
    ideal, cycles, done = rest.ideal, rest.cycles["valu"], rest.products
    for group in (inside[:1], inside[1:]):
        trips = products / sum(counted[span].fma for span in group)
        ideal += trips * sum(counted[span].ideal for span in group)
        cycles += trips * sum(counted[span].cycles["valu"] for span in group)
        done += trips * sum(counted[span].products for span in group)
    return ideal, cycles, done


def chunk_figures(lines, counter, products):
    """Their share in percent, and their number a SIMD and cycle; none where no such loop is found."""
    counts = chunk_counts(lines, counter, products)
    if not counts:
        return {"chunk": None, "chunk rate": None}
    ideal, cycles, done = counts
    return {"chunk": round(100 * ideal / cycles), "chunk rate": round(done / cycles / (4 if counter.family in GCN else 1), 1)}


def measure(family, statistics, lines, products=0):
    """A row of figures: what the driver says of a pipeline, and what its code's hottest loop holds."""
    lanes = int(statistics["Subgroup size"])
    counter = Counter(family, lanes)
    span, depth = hottest(lines, counter)
    loop = counter.count(lines[span[0]:span[1] + 1])
    inside = {number for first, last in loops(lines) for number in range(first, last + 1)}
    whole = counter.count(lines)
    loads = [line.split(" ", 1)[0] for n, line in enumerate(lines) if n in inside and re.match(r"(buffer|global|flat)_load", line)]
    return {
        "lanes": lanes,
        "registers": int(statistics["VGPRs"]),
        "spills": int(statistics["Spilled VGPRs"]),
        "shared": int(statistics["LDS size"]),
        "waves": int(statistics["Subgroups per SIMD"]),
        "code": int(statistics["Instructions"]),
        "depth": depth,
        "fma": loop.fma,
        "wmma": loop.wmma,
        "valu": loop.valu,
        "lds": loop.lds,
        "vmem": loop.vmem,
        "wide": f"{sum(bytes_of(name) == 16 for name in loads)}/{len(loads)}",
        "smem": loop.smem,
        "wait": loop.wait,
        "barriers": whole.barrier,
        **(chunk_figures(lines, counter, products) if products else {}),
        "loop spills": counter.count([lines[n] for n in sorted(inside)]).scratch,
        "issue": round(loop.share("valu")),
        "share": round(loop.share()),
        "bound": loop.bound(),
        "rate": round(loop.rate(family), 1),
    }
