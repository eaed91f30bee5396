#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interrupt.py [LINE] -- COMMAND …: runs a chat whose input stays open, says LINE to it and reads an answer, and sends interrupts to it
until it ends, which is to be soon and with status 0."""
import signal
import subprocess
import sys
import time

at = sys.argv.index("--")
chat = subprocess.Popen(sys.argv[at + 1 :], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in sys.argv[1:at]:
    chat.stdin.write(line.encode() + b"\n")
    chat.stdin.flush()
    assert chat.stdout.readline(), "no answer"
if at == 1:
    time.sleep(1)  # an interrupt before the chat begins ends any program
for _ in range(100):
    if chat.poll() is not None:
        break
    chat.send_signal(signal.SIGINT)
    time.sleep(0.1)
else:
    chat.kill()
assert chat.wait() == 0, chat.returncode
