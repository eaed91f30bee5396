#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""conversation.py TURNS ANSWERS [--answers]: the messages before each answer, a line of JSON for each; or the answers,
a JSON text each."""
import json
import sys

turns, answers = ([line for line in open(file, encoding="utf-8").read().split("\n") if line] for file in sys.argv[1:3])
assert len(turns) == len(answers), (turns, answers)
messages = []
for turn, answer in zip(turns, answers):
    messages.append({"role": "user", "content": turn})
    print(json.dumps(answer if "--answers" in sys.argv else messages, ensure_ascii=False))
    messages.append({"role": "assistant", "content": answer})
