#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interrupt-run.py FILE -- COMMAND …: runs a command until FILE has two lines, and interrupts it. The command ends with status 130."""
import os
import signal
import subprocess
import sys
import time

file, command = sys.argv[1], sys.argv[3:]
signal.signal(signal.SIGINT, signal.SIG_DFL)  # the command inherits an ignored signal
run = subprocess.Popen(command)
while run.poll() is None:
    if os.path.exists(file) and len(open(file).readlines()) >= 2:
        run.send_signal(signal.SIGINT)
        break
    time.sleep(0.01)
assert run.wait() == 130, run.returncode
