# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""token_lines.py: writes the numbers of lines {"tokens": [[…], …]} of standard input, the vector of a token a line."""
import json
import sys

for line in sys.stdin:
    for row in json.loads(line)["tokens"]:
        print(*row)
