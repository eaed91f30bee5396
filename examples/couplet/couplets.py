#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates couplets from grammar.txt. Python's standard library only.

usage: couplets.py DIR

DIR receives train.tsv (24,000 distinct couplets, "first<TAB>second"), held-out.tsv (200 further ones, neither line of which
occurs in train.tsv on either side) and characters.txt (the vocabulary of both sides). In a couplet no character occurs
twice. Random numbers come from splitmix64, so the files are equal on every machine.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from splitmix import Random  # noqa: E402: the folder above

TRAIN, HELD_OUT = 24000, 200
SPECIAL = ["<pad>", "<unk>", "<s>", "<e>"]
MARKS = "，、。！？"


def read_grammar(path):
    """Pairs of words by class, each in both directions, and the patterns."""
    classes, patterns, section = {}, [], ""
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        fields = line.split()
        if not fields or fields[0] == "#":
            continue
        if fields[0].startswith("["):
            section = fields[0].strip("[]")
        elif section == "patterns":
            patterns.append(fields)
        else:
            for pair in fields:
                first, second = pair.split("|")
                if len(first) != len(second) or set(first) & set(second):
                    sys.exit(f"grammar.txt:{number}: expected two words of one length without a common character, found {pair}")
                classes.setdefault(section, []).extend([(first, second), (second, first)])
    return classes, patterns


def couplet(classes, patterns, random):
    """Two lines, or None if a character would occur twice."""
    words = [(name, name) if name in MARKS else random.choice(classes[name]) for name in random.choice(patterns)]
    characters = [c for pair in words for word in pair for c in word if c not in MARKS]
    if len(set(characters)) < len(characters):
        return None
    return "".join(a for a, _ in words), "".join(b for _, b in words)


def distinct(grammar, count, random, seen):
    """`count` couplets whose lines are new."""
    pairs = []
    while len(pairs) < count:
        pair = couplet(*grammar, random)
        if pair and not seen.intersection(pair):
            seen.update(pair)
            pairs.append(pair)
    return pairs


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    os.makedirs(sys.argv[1], exist_ok=True)
    grammar, random, seen = read_grammar(os.path.join(HERE, "grammar.txt")), Random(712), set()
    files = {"train": distinct(grammar, TRAIN, random, seen), "held-out": distinct(grammar, HELD_OUT, random, seen)}
    for name, pairs in files.items():
        with open(os.path.join(sys.argv[1], name + ".tsv"), "w", encoding="utf-8") as file:
            file.writelines(f"{first}\t{second}\n" for first, second in pairs)
    words = [word for pairs in grammar[0].values() for pair in pairs for word in pair]
    characters = dict.fromkeys([*SPECIAL, *MARKS, *"".join(words)])
    with open(os.path.join(sys.argv[1], "characters.txt"), "w", encoding="utf-8") as file:
        file.writelines(character + "\n" for character in characters)
    print(f"{TRAIN} couplets to learn from, {HELD_OUT} held out, {len(characters)} tokens")


if __name__ == "__main__":
    main()
