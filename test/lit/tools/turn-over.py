# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""turn-over.py FILE ...: turns 64 bytes in the middle of each file over, as a bad disk does it: its times stay."""
import os
import sys

for name in sys.argv[1:]:
    facts = os.stat(name)
    with open(name, "r+b") as file:
        file.seek(facts.st_size // 2)
        part = file.read(64)
        file.seek(facts.st_size // 2)
        file.write(bytes(byte ^ 255 for byte in part))
    os.utime(name, ns=(facts.st_atime_ns, facts.st_mtime_ns))
