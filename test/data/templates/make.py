# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what jinja2 makes of the templates of this folder, in the environment that Transformers gives chat templates.

usage: DIR/bin/python test/data/templates/make.py     DIR: made by scripts/goldens-setup, with jinja2 and transformers

test/data/templates/golden.json   variables  what `small` is rendered with
                             small      pairs of a template and its text; null where jinja2 refuses it
                             chats      by template of chats/, by conversation of conversations.json: the same
The time is the fourth of March 2026, 05:06:07.
"""

import datetime
import json
import pathlib

from transformers.utils import chat_template_utils

from expressions import TEXTS, VALUES, VARIABLES

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2026, 3, 4, 5, 6, 7)


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


def rendered(template, variables):
    try:
        return chat_template_utils._compile_jinja_template(template).render(**variables)
    except Exception:  # of jinja2, or of Python within it
        return None


def small_templates():
    for line in VALUES.strip().splitlines():
        for value in split(line):
            yield "{{ " + value + " }}"
    for line in TEXTS.strip("\n").splitlines():
        yield line.replace("⏎", "\n").replace("␍", "\r")


def split(line):
    """At semicolons outside of strings."""
    part, mark = "", None
    for i, c in enumerate(line):
        if c in "'\"" and line[i - 1] != "\\" and mark in (None, c):
            mark = None if mark else c
        if c == ";" and not mark:
            yield part.strip()
            part = ""
        else:
            part += c
    yield part.strip()


def main():
    chat_template_utils.datetime = Clock
    small = [[t, rendered(t, VARIABLES)] for t in small_templates()]
    conversations = json.loads((HERE / "conversations.json").read_text())
    chats = {}
    for path in sorted((HERE / "chats").glob("*.jinja")):
        chats[path.stem] = {name: rendered(path.read_text(), variables) for name, variables in conversations.items()}
    rows = ",\n".join(json.dumps(pair, ensure_ascii=False) for pair in small)
    by_template = ",\n".join(f"{json.dumps(name)}: {{\n" + ",\n".join(
        f"{json.dumps(key)}: {json.dumps(text, ensure_ascii=False)}" for key, text in texts.items()) + "}"
        for name, texts in chats.items())
    (HERE / "golden.json").write_text(f'{{"variables": {json.dumps(VARIABLES, ensure_ascii=False)},\n"small": [\n{rows}],\n'
                                      f'"chats": {{\n{by_template}}}}}\n')
    refused = sum(text is None for _, text in small)
    print(f"{len(small)} small templates, {refused} of them refused; {len(chats)} templates of {len(conversations)} conversations, "
          f"{sum(t is None for c in chats.values() for t in c.values())} refused")


main()
