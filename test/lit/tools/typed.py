#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""typed.py KEYS… -- COMMAND …: runs a command on a terminal of its own and types the next KEYS (with escapes of Python: \\x1b[A is the
arrow up) each time that it shows its mark `> `; prints what the terminal showed, and the exit status. \\x1a is no key: the command is
stopped, the terminal set to whole lines as a shell does, and the command goes on; what it makes of the terminal is printed."""
import os
import pty
import re
import select
import signal
import sys
import termios
import time

at = sys.argv.index("--")
turns = [keys.encode().decode("unicode_escape").encode("latin-1") for keys in sys.argv[1:at]]
child, terminal = pty.fork()
if child == 0:
    os.environ.update(TERM="xterm", COLUMNS="200", LC_ALL="C")
    os.execvp(sys.argv[at + 1], sys.argv[at + 1 :])


def stop_and_go_on():
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
    modes = termios.tcgetattr(terminal)
    modes[3] |= termios.ICANON | termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    os.kill(child, signal.SIGCONT)
    end = time.time() + 2
    while termios.tcgetattr(terminal)[3] & termios.ICANON and time.time() < end:
        time.sleep(0.02)
    print("whole lines" if termios.tcgetattr(terminal)[3] & termios.ICANON else "single keys")


shown, done, end = b"", 0, time.time() + 60
while time.time() < end:
    if select.select([terminal], [], [], 0.3)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    elif turns and re.search(rb"> (\x1b\[[0-9;?]*[a-zA-Z])*$", shown[done:]):
        done = len(shown)
        for key in re.split(rb"(\x03|\x1a)", turns.pop(0)):
            if key == b"\x1a":
                stop_and_go_on()
            else:
                os.write(terminal, key)
            time.sleep(0.1)
else:
    os.kill(child, 9)
print(shown.decode(errors="replace"))
print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
