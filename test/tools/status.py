#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""status.py N COMMAND…: fails unless the command exits with N and writes exactly one line to stderr; prints that line."""
import subprocess
import sys

result = subprocess.run(sys.argv[2:], capture_output=True, text=True)
sys.stdout.write(result.stderr)
lines = result.stderr.splitlines()
if result.returncode != int(sys.argv[1]) or len(lines) != 1:
    sys.exit(f"expected status {sys.argv[1]} and one line, found status {result.returncode} and {len(lines)} lines: {result.stderr}")
