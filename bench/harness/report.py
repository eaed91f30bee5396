# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables as text. No package needed."""
import math

from . import gates, matrix
from .figures import median, spread


def result_lines(result):
    """One line a contender: time, rate, share of the peak, Heddle's advantage, error, what it runs."""
    rate = gates.peak_rate(result.row.dtype, result.rates) if result.rates else None
    reading = "read" in result.rates and matrix.reads(result.row)
    lines = []
    ordered = sorted(result.seconds, key=lambda c: (not c.startswith("heddle"), median(result.seconds[c])))
    for contender in ordered:
        seconds = median(result.seconds[contender])
        share = result.share(contender, "read" if reading else rate) if reading or rate else None
        speedup = "" if contender == "heddle" or "heddle" not in result.seconds else f"{result.speedup(contender):8.3f}"
        work = result.row.bytes / seconds if reading else result.row.flops / seconds
        error = result.errors.get(contender)
        lines.append(f"  {contender:<18} {seconds * 1e3:11.4f} {work * 1e-9:9.1f} {'' if share is None else f'{share:7.3f}':>7} {speedup:>8} "
                     f"{'' if error is None else f'{error:9.1e}':>9} {spread(result.seconds[contender]) * 100:5.0f}%  {result.kernels.get(contender, '')}")
    for contender, note in result.notes.items():
        lines.append(f"  {contender:<18} {note}")
    for name, value in result.facts.items():
        lines.append(f"  {name:<28} {value:.4g}  {result.kernels.get(name, '')}".rstrip())
    return lines


def result_table(result):
    unit = "GB/s" if matrix.reads(result.row) else "GFLOP/s"
    rates = "  ".join(f"{name} {median(values) * 1e-9:.0f}" for name, values in result.rates.items() if values)
    head = f"{result.name}   peaks: {rates} G/s" if rates else result.name
    columns = f"  {'':<18} {'ms':>11} {unit:>9} {'share':>7} {'heddle x':>8} {'error':>9} {'spread':>6}"
    return "\n".join([head, *([columns] if result.seconds else []), *result_lines(result), ""])


def scaling_table(results):
    """How many times faster each contender is on more threads, for rows that were measured on several."""
    first = {}
    lines = []
    for result in results:
        one = first.setdefault(result.row.name, result)
        if one is result:
            continue
        for contender in sorted(result.seconds):
            if contender in one.seconds:
                faster = median(one.seconds[contender]) / median(result.seconds[contender])
                lines.append(f"  {result.row.name:<28} {contender:<14} {one.threads} to {result.threads} threads: {faster:6.2f} times")
    return "\n".join(["faster with threads", *lines]) if lines else ""


def beside_line(results):
    """How many times as fast as the other build: over all rows, and in the worst one."""
    ratios = {result.name: result.speedup("beside") for result in results if "beside" in result.seconds and "heddle" in result.seconds}
    if not ratios:
        return ""
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = min(ratios, key=ratios.get)
    return f"beside the other build: {mean:.3f} times as fast (geometric mean of {len(ratios)} rows), least {ratios[worst]:.3f} ({worst})"


def gate_line(verdict):
    value = "" if verdict.value is None else f"{verdict.value:.3f}"
    return f"{verdict.gate.id:<48} {value:>8}  {verdict.gate.text:<34} {verdict.status:<16} {verdict.note}".rstrip()


def gate_table(verdicts, lists_unmeasured=True):
    counts = {}
    for verdict in verdicts:
        counts[verdict.status] = counts.get(verdict.status, 0) + 1
    total = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    listed = [verdict for verdict in verdicts if lists_unmeasured or verdict.status != gates.UNMEASURED]
    return "\n".join([*map(gate_line, listed), "", f"{len(verdicts)} gates: {total}"])
