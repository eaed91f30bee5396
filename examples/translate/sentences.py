#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates sentence pairs from grammar.txt. Python's standard library only.

usage: sentences.py DIR

DIR receives train.tsv (52,000 distinct pairs), held-out.tsv (500 further pairs of the same patterns),
patterns.tsv (500 pairs of other patterns), source.txt and target.txt (the vocabularies). Random
numbers come from splitmix64, so the files are equal on every machine.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from splitmix import Random  # noqa: E402: the folder above

TRAIN, HELD_OUT = 52000, 500
SPECIAL = ["<pad>", "<unk>", "<s>", "<e>"]
AGREEING = {  # helper verbs: first, second (and plural), third person
    "be": ("am", "are", "is"), "do": ("do", "do", "does"), "have": ("have", "have", "has"),
    "want": ("want", "want", "wants"), "like": ("like", "like", "likes"), "go": ("go", "go", "goes"),
    "come": ("come", "come", "comes"), "live": ("live", "live", "lives"), "give": ("give", "give", "gives"),
    "teach": ("teach", "teach", "teaches"), "study_": ("study", "study", "studies"),
}
PERSON = {"first": 0, "second": 1, "third": 2}
SLOT = re.compile(r"\{([^}]*)\}")


class Grammar:
    def __init__(self, path):
        self.words, self.phrases, self.patterns = {}, {}, {"sentences": [], "held-out": []}
        section = []
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if line.startswith("["):
                section = line.strip("[]").split()
            elif section[0] == "word":
                self.add_word(section[1], section[2:], line.split(), number)
            else:
                parts = [part.strip() for part in line.split("|")]
                table = self.phrases.setdefault(section[1], []) if section[0] == "phrase" else self.patterns[section[0]]
                table.append(parts)

    def add_word(self, name, forms, fields, number):
        if len(fields) != len(forms) + 1:
            sys.exit(f"grammar.txt:{number}: expected {len(forms) + 1} fields, found {len(fields)}")
        node = {"zh": fields[0], "measure": "", "agreement": "third"}
        node.update((form, field if form == "measure" else field.replace("_", " ")) for form, field in zip(forms, fields[1:]))
        node["en"] = node[forms[0]]
        node.setdefault("object", node["en"])
        node.setdefault("possessive", node["en"] + " 's")
        self.words.setdefault(name, []).append(node)

    def pick(self, name, random):
        """A random node of a class, with its Chinese text and its English forms."""
        if name in self.words:
            return random.choice(self.words[name])
        return self.expand(random.choice(self.phrases[name]), random)

    def expand(self, parts, random):
        slots = {}
        for text in SLOT.findall(parts[0]):
            slot = text.split(":")[0]
            if slot not in slots:
                slots[slot] = self.pick(slot.rstrip("0123456789"), random)
        english = self.fill(parts[1], slots)
        node = {"zh": self.fill(parts[0], slots, "zh"), "en": english, "base": english, "agreement": "third"}
        node["object"], node["possessive"] = english, english + " 's"
        for pair in parts[2].split() if len(parts) > 2 else []:
            key, value = pair.split("=")
            node[key] = self.fill(value, slots).replace("_", " ")
        return node

    @staticmethod
    def fill(template, slots, default="en"):
        def value(match):
            name, *rest = match.group(1).split(":")
            if name == "s":
                verb, who = slots[rest[0]], slots[rest[1]]
                return verb["third" if who["agreement"] == "third" else "base"]
            if name in AGREEING and rest:
                return AGREEING[name][PERSON[slots[rest[0]]["agreement"]]]
            return slots[name][rest[0] if rest else default]
        return SLOT.sub(value, template)

    def sentence(self, kind, random):
        node = self.expand(random.choice(self.patterns[kind]), random)
        english = re.sub(r"\ba (?=[aeiou](?!niversity))", "an ", node["en"])
        return node["zh"], english

    def vocabulary(self):
        """All words of both languages that sentences can contain, in the order of the file."""
        chinese, english = dict.fromkeys(SPECIAL), dict.fromkeys(SPECIAL)
        for nodes in self.words.values():
            for node in nodes:
                for form, text in node.items():
                    if form != "agreement":
                        (chinese if form in ("zh", "measure") else english).update(dict.fromkeys(text.split()))
        for words in AGREEING.values():
            english.update(dict.fromkeys(words))
        english["an"] = None
        tables = [*self.phrases.values(), *self.patterns.values()]
        for parts in (parts for table in tables for parts in table):
            chinese.update(dict.fromkeys(SLOT.sub(" ", parts[0]).split()))
            english.update(dict.fromkeys(SLOT.sub(" ", parts[1]).split()))
            for value in re.findall(r"(?:third|past|ing)=([a-z]+)_", parts[2] if len(parts) > 2 else ""):
                english[value] = None
        return list(chinese), list(english)


def distinct(grammar, kind, count, random, seen):
    """`count` pairs that are not in `seen` yet; patterns without a slot come first, each once."""
    pairs = []
    fixed = [parts for parts in grammar.patterns[kind] if "{" not in parts[0]]
    while len(pairs) < count:
        chinese, english = fixed.pop(0)[:2] if fixed else grammar.sentence(kind, random)
        if chinese not in seen:
            seen[chinese] = english
            pairs.append((chinese, english))
        elif seen[chinese] != english:
            sys.exit(f"grammar.txt: {chinese}: expected {seen[chinese]}, found {english}")
    return pairs


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    grammar = Grammar(os.path.join(os.path.dirname(os.path.abspath(__file__)), "grammar.txt"))
    random, seen = Random(2017), {}
    files = {"train": distinct(grammar, "sentences", TRAIN, random, seen),
             "held-out": distinct(grammar, "sentences", HELD_OUT, random, seen),
             "patterns": distinct(grammar, "held-out", HELD_OUT, random, seen)}
    source, target = grammar.vocabulary()
    for pairs in files.values():
        for chinese, english in pairs:
            assert set(chinese.split()) <= set(source) and set(english.split()) <= set(target), (chinese, english)
    for name, pairs in files.items():
        with open(os.path.join(directory, name + ".tsv"), "w", encoding="utf-8") as file:
            file.writelines(f"{chinese}\t{english}\n" for chinese, english in pairs)
    for name, words in (("source", source), ("target", target)):
        with open(os.path.join(directory, name + ".txt"), "w", encoding="utf-8") as file:
            file.writelines(word + "\n" for word in words)
    print(f"{len(files['train'])} pairs to learn from, {len(source)} Chinese and {len(target)} English tokens")


if __name__ == "__main__":
    main()
