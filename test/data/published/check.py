#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check.py HEDDLE OUT [KIND]: writes the folders of cases.py into OUT and compares what HEDDLE reads in them with expected.json, or with
the results of the unchanged folder. A line for each that is another; then status 1. Standard library only."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../../scripts/forms")]
import cases
import heddle


def golden(folder):
    place = os.path.join(folder, "golden")
    return heddle.arrays(os.path.join(place, "decode" if os.path.isdir(os.path.join(place, "decode")) else "encode"))


def right(case, known):
    """What is expected; None: an error."""
    if case["same"]:
        return golden(case["same"])
    value = known[case["name"]]
    if value is None or case["kind"] == "tokens":
        return value
    return {name: (tuple(shape), numbers) for name, (shape, numbers) in value.items()}


def wrong(runner, case, expected):
    """What is not as expected; empty: nothing."""
    runner.errors = []
    found = getattr(runner, case["kind"])(case)
    errors = [line for line in runner.errors if "error: " in line]
    if found is None and (runner.status != 1 or len(errors) != 1):
        return f"expected one line of error and status 1, found status {runner.status}: {runner.errors}"
    if expected is None:
        return "" if found is None else "expected an error, found results"
    return heddle.same_results(case, found, expected) if found is not None else f"expected results, found: {errors[0]}"


def main(program, out, kind=None):
    runner, known = heddle.Heddle(program, out), cases.expected()
    runner.environment = dict(os.environ)
    faults = 0
    for case in cases.cases(out):
        if kind in (None, case["kind"]) and (why := wrong(runner, case, right(case, known))):
            print(f"{case['kind']}: {case['name']}: {why}", flush=True)
            faults += 1
    sys.exit(faults > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
