# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""at-once.py N DIR COMMAND …: runs N processes of the command together, each with DIR/i.heddle behind it, DIR being their cache folder."""
import os
import subprocess
import sys

count, folder, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
os.makedirs(folder, exist_ok=True)
environment = dict(os.environ, XDG_CACHE_HOME=folder, HEDDLE_CACHE_LIMIT="64")
running = [subprocess.Popen(command + [f"{folder}/{i}.heddle"], env=environment) for i in range(count)]
sys.exit(max(process.wait() for process in running))
