# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of NVIDIA machine code, as Mesa's compiler (NAK) schedules it: the loop with most products, and what surrounds it.

Its scheduling is not that of NVIDIA's own driver: it adds copies at the ends of loops, which `mov` counts apart. What is loaded, stored and
multiplied, the barriers and the registers tell about the kernel.
"""
import re

COLUMNS = ["kernel", "family", "registers", "spills", "warps", "cycles", "groups", "code", "depth", "mma", "fma", "ldsm", "movm", "lds", "lds bytes", "sts",
           "sts bytes", "ldg", "wide", "barriers", "fences", "mov", "rest"]
_DUMP = "NAK IR after calc_instr_deps:"
# Instructions by what they do; the first pattern that fits counts.
_KINDS = [("mma", r"[hiqd]mma"), ("fma", r"ffma|hfma2|idp4|dfma"), ("ldsm", r"ldsm"), ("movm", r"movm"), ("lds", r"ld\.shared"), ("sts", r"st\.shared"),
          ("ldg", r"ld\.global"), ("stg", r"st\.global"), ("barriers", r"bar\."), ("fences", r"membar"), ("mov", r"r?2?mov|mov")]


def dumps(text):
    """The last form of each shader in the compiler's output, as lists of lines."""
    return [part.split("\nStage:")[0].splitlines() for part in text.split(_DUMP)[1:]]


def opcode(line):
    """The instruction of a line: `r0..4 = hmma.m16n8k16.f32 …`, `@p0 bra L3`; none of another line."""
    line = line.split("//")[0].strip()
    if not line or line.startswith("}") or line.startswith("block"):
        return None
    line = line.split(" = ", 1)[-1].strip()
    return re.sub(r"^@\S+ +", "", line).split(" ", 1)[0]


def bytes_of(instruction):
    """Bytes that a lane moves: `ld.shared.strong.cta.b128`; `ldsm.16.m8n8.x4` gives each lane four words."""
    words = re.search(r"ldsm.*\.x(\d)", instruction)
    bits = re.search(r"\.b(\d+)", instruction)
    return int(words[1]) * 4 if words else int(bits[1]) // 8 if bits else 4


def blocks(lines):
    """Instructions by block, and the blocks that follow each."""
    inside, after, at = {}, {}, None
    for line in lines:
        begins = re.match(r"block\S* (\d+) ", line)
        if begins:
            at = int(begins[1])
            inside[at] = []
        elif line.startswith("} -> ["):
            after[at] = [int(number) for number in re.findall(r"\d+", line)]
        elif at is not None and opcode(line):
            inside[at].append(opcode(line))
    return inside, after


def loops(after):
    """The blocks of each loop: those from which a jump back to its first block is reached without passing the first block."""
    before = {}
    for block, targets in after.items():
        for target in targets:
            before.setdefault(target, []).append(block)
    found = {}
    for block, targets in after.items():
        for first in (target for target in targets if target <= block):
            body, waiting = found.setdefault(first, {first}), [block]
            while waiting:
                one = waiting.pop()
                if one not in body:
                    body.add(one)
                    waiting += before.get(one, [])
    return sorted(found.values(), key=len)


def counts(instructions):
    """Instructions by kind, bytes of a lane, and loads of sixteen bytes."""
    row = {kind: 0 for kind, _ in _KINDS} | {"lds bytes": 0, "sts bytes": 0, "wide loads": 0, "rest": 0}
    for instruction in instructions:
        kind = next((kind for kind, pattern in _KINDS if re.match(pattern, instruction)), "rest")
        row[kind] += 1
        if kind in ("lds", "ldsm"):
            row["lds bytes"] += bytes_of(instruction)
        if kind == "sts":
            row["sts bytes"] += bytes_of(instruction)
        row["wide loads"] += kind == "ldg" and bytes_of(instruction) == 16
    return row


def hottest(inside, after):
    """The innermost loop with most products, else any loop with most, else the whole code; and how deep it lies."""
    spans = loops(after)

    def weight(span):
        row = counts(one for block in span for one in inside[block])
        return row["fma"] + 64 * row["mma"]

    innermost = [span for span in spans if not any(other < span for other in spans)]
    for candidates in (innermost, spans):
        best = max(candidates, key=weight, default=None)
        if best and weight(best):
            return best, sum(best <= span for span in spans)
    return set(inside), 0


def measure(statistics, lines):
    """A row of figures: what the driver says of a pipeline, and what its code's hottest loop holds, if there is code."""
    spills = sum(int(statistics[name]) for name in ("Spills to memory", "Fills from memory"))
    return {
        "registers": int(statistics["Number of GPRs"]),
        "spills": spills,
        "loop spills": spills,
        "warps": int(statistics["Max warps/SM"]),
        "cycles": int(statistics["Static cycle count"]),
        "code": int(statistics["Instruction count"]),
        **(of_loop(lines) if lines else {}),
    }


def of_loop(lines):
    inside, after = blocks(lines)
    span, depth = hottest(inside, after)
    loop = counts(one for block in sorted(span) for one in inside[block])
    return {"depth": depth, **loop, "wide": f"{loop['wide loads']}/{loop['ldg']}"}
