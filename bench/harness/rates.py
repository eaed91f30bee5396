# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine's own rates, which a row's figures are shares of. No package needed."""
from . import gates, matrix

LARGEST = 1 << 30  # bytes: caches have no part in reading more


def measure(heddle, row, result):
    """One number more a rate, before the contenders of a round; the CPU's missing arithmetics have none."""
    for name, rate in arithmetic_rates(heddle, row, result):
        result.rates.setdefault(name, []).append(rate)
    if matrix.reads(row):
        rate = heddle.ask(do="read", bytes=min(int(row.bytes), LARGEST), threads=result.threads)["rate"]
        result.rates.setdefault("read", []).append(rate)
    heddle.stop()


def measure_again(heddle, row, result):
    """The larger of before and after a round: a peak that something else disturbed would flatter."""
    for name, rate in arithmetic_rates(heddle, row, result):
        result.rates[name][-1] = max(result.rates[name][-1], rate)
    heddle.stop()


def arithmetic_rates(heddle, row, result):
    """Operations a second of what the row is judged by alone: each arithmetic takes 15 ms of every round, twice."""
    answers = heddle.ask(do="rates", of=gates.arithmetics(row.dtype), threads=result.threads)
    result.instructions = {name: answer["instruction"] for name, answer in answers.items() if answer.get("instruction")}
    result.units = {name: answer["unit"] for name, answer in answers.items() if answer.get("unit")}
    return [(name, answer["rate"]) for name, answer in answers.items() if answer["rate"] > 0]
