# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes lib/Text/Tokenizers/Characters.inc: the classes of all code points as the package `tokenizers` has them.

The package is built from several libraries with Unicode tables of different years (punctuation is that of Unicode 8, letters
of a regular expression are those of 16), and none agrees with Debian's ICU. Models were trained with these tables, so they are
asked for here, code point by code point.

usage: DIR/bin/python test/data/tokenizers/make-characters.py     DIR: made by scripts/tokenizers-setup
"""

import pathlib

from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def bert(**on):
    flags = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**flags, **on})


def removed(normalizer):
    return {c for c in POINTS if normalizer.normalize_str("a" + chr(c)) == "a"}


def matched(pattern):
    replace = normalizers.Replace(Regex(pattern), "")
    return {c for c in POINTS if replace.normalize_str(chr(c)) == ""}


def separate(pre_tokenizer):
    return {c for c in POINTS if len(pre_tokenizer.pre_tokenize_str("x" + chr(c))) != 1}


def words():
    """What `\\w` of the pre-tokenizer Whitespace is."""
    split = pre_tokenizers.Whitespace().pre_tokenize_str
    return {c for c in POINTS if [piece for piece, _ in split("x" + chr(c))] == ["x" + chr(c)]}


# In the order of the bits of CharacterClass.
CLASSES = [
    removed(normalizers.Strip()),
    removed(bert(clean_text=True)),
    separate(pre_tokenizers.Punctuation()),
    removed(bert(strip_accents=True)),
    removed(normalizers.StripAccents()),
    separate(pre_tokenizers.Digits(individual_digits=True)),
    words(),
    matched(r"\p{L}"),
    matched(r"\p{N}"),
    matched(r"\w"),
    matched(r"\d"),
    matched(r"\p{M}"),
    matched(r"\p{P}"),
    matched(r"\p{S}"),
    matched(r"[\p{Lu}\p{Lt}]"),
    matched(r"\p{Ll}"),
]


def class_rows():
    """(first code point, classes) of each run of equal classes."""
    rows = []
    for c in range(0x110000):
        mask = sum(1 << bit for bit, members in enumerate(CLASSES) if c in members)
        if not rows or rows[-1][1] != mask:
            rows.append((c, mask))
    return rows


def lower_rows():
    """(first, last, stride, difference) of each run of letters with a lower case of one code point."""
    lower = normalizers.Lowercase()
    rows = []
    for c in POINTS:
        text = lower.normalize_str(chr(c))
        if text == chr(c) or len(text) > 1:
            assert len(text) == 1 or (c == 0x130 and text == "i\u0307")
            continue
        change = ord(text) - c
        last = rows[-1] if rows else None
        stride = c - last[1] if last else 0
        if last and last[3] == change and stride in (1, 2) and last[2] in (0, stride):
            rows[-1] = (last[0], c, stride, change)
        else:
            rows.append((c, c, 0, change))
    return [(first, end, stride or 1, change) for first, end, stride, change in rows]


def lines(name, kind, rows):
    yield f"constexpr {kind} {name}[] = {{"
    line = "   "
    for row in rows:
        text = " {" + ", ".join(f"{value:#x}" if i == 0 else str(value) for i, value in enumerate(row)) + "},"
        if len(line) + len(text) > 118:
            yield line
            line = "   "
        line += text
    yield line
    yield "};"


def main():
    out = ["// Written by test/data/tokenizers/make-characters.py."]
    out += lines("classRuns", "ClassRun", class_rows())
    out += lines("lowerRuns", "LowerRun", lower_rows())
    target = pathlib.Path(__file__).parents[3] / "lib/Text/Tokenizers/Characters.inc"
    target.write_text("\n".join(out) + "\n")


main()
