#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""signals.py FILE -- COMMAND …: runs a command that answers lines, and lets it answer one. It ends by SIGTERM and SIGKILL as any
program does and leaves nothing in /dev/shm; where FILE, its model, is cut, with status 1 and the line that this prints."""
import glob
import os
import signal
import subprocess
import sys

file, command = sys.argv[1], sys.argv[3:]


def start():
    tool = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tool.stdin.write(b"A weaver!\n")
    tool.stdin.flush()
    assert tool.stdout.readline(), "no answer"
    return tool


for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL:
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)  # what is ignored here would be ignored there
    tool = start()
    tool.send_signal(number)
    errors = tool.communicate()[1]
    assert tool.returncode == -number and not errors, (tool.returncode, errors)
    left = glob.glob(f"/dev/shm/*{tool.pid}*")
    assert not left, left

tool = start()
os.truncate(file, 4096)
errors = tool.communicate(b"The weft.\n")[1]
assert tool.returncode == 1, tool.returncode
print(errors.decode(), end="")
