# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resident memory of a process in bytes. No package needed."""
import re
from pathlib import Path


def field(name, process):
    return int(re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())[1]) * 1024


def resident(process="self"):
    return field("VmRSS", process)


def peak(process="self"):
    return field("VmHWM", process)
