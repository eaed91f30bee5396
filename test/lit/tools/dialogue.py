# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dialogue.py COMMAND …: writes lines to a command and waits for the answer to each before it writes the next. Some stand
beside the first half of the next one, for which no answer may wait."""
import subprocess
import sys

with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as command:
    for text in ("a loom\n", "two knots\nthe", " warp\n", "a weft\na", "nother\n"):
        command.stdin.write(text)
        command.stdin.flush()
        if len(command.stdout.readline().split()) < 2:
            sys.exit(f"expected an answer to {text!r}, found none")
