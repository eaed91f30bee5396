# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs texts through Heddle for the measure scripts of the examples. Standard library only."""
import os
import subprocess
import sys


def read_pairs(path):
    """Pairs from lines "a<TAB>b"."""
    return [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]


def answers(command, model, texts):
    """Lines of `heddle COMMAND MODEL`, one a text; program and further options are this script's arguments."""
    heddle = sys.argv[1] if len(sys.argv) > 1 else os.path.join(model, "..", "..", "build", "bin", "heddle")
    done = subprocess.run([heddle, command, model, "--batch=32", *sys.argv[2:]], input="".join(text + "\n" for text in texts),
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.rstrip())
    found = done.stdout.split("\n")[:-1]
    if len(found) != len(texts):
        sys.exit(f"error: expected {len(texts)} lines, found {len(found)}")
    return found
