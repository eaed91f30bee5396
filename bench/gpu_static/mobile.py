# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the drivers of Adreno and of Apple's GPUs say of a pipeline: they print no machine code that is counted here."""

COLUMNS = ["kernel", "family", "lanes", "registers", "spills", "waves", "stalls", "groups", "code"]


def adreno(statistics, _):
    """Stalls are the compiler's estimate of cycles that wait for memory and for slow instructions."""
    spills = int(statistics["STP Count"] + statistics["LDP Count"])
    return {
        "lanes": int(statistics["Subgroup size"]),
        "registers": int(statistics["Registers used"]),
        "spills": spills,
        "loop spills": spills,
        "waves": int(statistics["Max Waves Per Core"]),
        "stalls": int(statistics["Estimated cycles stalled on SS"] + statistics["Estimated cycles stalled on SY"]),
        "code": int(statistics["Instruction Count"]),
    }


def apple(statistics, _):
    """Waves are those of 1,024 invocations at most."""
    spills = int(statistics["Spills"] + statistics["Fills"])
    return {
        "lanes": int(statistics["Subgroup size"]),
        "registers": int(statistics["GPRs"]),
        "spills": spills,
        "loop spills": spills,
        "waves": int(statistics["Threads"]) // int(statistics["Subgroup size"]),
        "code": int(statistics["Instructions"]),
    }
