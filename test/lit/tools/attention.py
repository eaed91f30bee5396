#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the values of an attention page back.

usage: attention.py ids FILE.npy VOCABULARY WORD…     i32 [1, words]
       attention.py compare PAGE FOLDER               every map of PAGE against FOLDER/NAME.npy, as `heddle run` wrote it
       attention.py browse PAGE STEP OUT              opens PAGE in chromium at a step with the mouse on the first cell of
                                                      that step in decoder.1.cross-weights, head 4; OUT is what it shows
"""
import os
import subprocess
import sys
from html.parser import HTMLParser

import npy

TOLERANCE = 1e-5  # pages have six digits
HOVER = """<script>document.querySelector('[data-name="decoder.1.cross-weights"][data-head="3"] .now rect')
.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))</script>"""


class Page(HTMLParser):
    """The weights of each map as rows; which rows are marked as this step and as steps to come; the words of the step."""

    def __init__(self, path):
        super().__init__()
        self.maps, self.marks, self.texts = {}, {}, {}
        self.place, self.row = None, None
        self.feed(open(path, encoding="utf-8").read())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        classes = attributes.get("class", "").split()
        if "map" in classes:
            self.row = self.maps.setdefault((attributes["data-name"], int(attributes["data-head"])), [])
        elif "data-row" in attributes:
            self.row.append([])
            for mark in {"now", "future"}.intersection(classes):
                self.marks.setdefault(mark, set()).add(int(attributes["data-row"]))
        self.place = "title" if tag == "title" else attributes.get("id") or " ".join(classes)

    def handle_endtag(self, tag):
        self.place = None

    def handle_data(self, data):
        if self.place == "title" and self.row:
            self.row[-1].append(float(data.rsplit(": ", 1)[1]))
        elif self.place in ("what", "value", "mark least", "mark greatest"):
            self.texts[self.place.split()[-1]] = data


def compare(page, folder):
    names = {name for name, _ in page.maps}
    expected = {name[:-len(".npy")] for name in os.listdir(folder) if name.endswith("weights.npy")}
    if not names or names != expected:
        sys.exit(f"error: expected maps of {sorted(expected)}, found {sorted(names)}")
    for (name, head), rows in page.maps.items():
        shape, values = npy.read(os.path.join(folder, name + ".npy"))
        _, heads, queries, keys = shape
        wanted = values[head * queries * keys:(head + 1) * queries * keys]
        found = [value for row in rows for value in row]
        if head >= heads or len(rows) != queries or len(found) != len(wanted):
            sys.exit(f"error: {name}: expected {heads} heads of {queries} by {keys}, found {len(rows)} rows of {len(found)} cells")
        worst = max(abs(a - b) for a, b in zip(found, wanted))
        if not worst <= TOLERANCE:
            sys.exit(f"error: {name}, head {head}: differs by {worst}")
        if any(abs(sum(row) - 1) > 1e-4 for row in rows):
            sys.exit(f"error: {name}, head {head}: expected rows that sum to 1")
    cells = [value for rows in page.maps.values() for row in rows for value in row]
    scale = [float(page.texts[end]) for end in ("least", "greatest")]
    if scale != [min(cells), max(cells)]:
        sys.exit(f"error: expected a scale from {min(cells)} to {max(cells)}, found {scale}")
    print(f"{len(page.maps)} maps agree, {len(names)} layers")


def browse(path, step, out):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    opened = out + ".html"
    with open(opened, "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", HOVER + "</body>"))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               "--user-data-dir=" + out + ".profile", "--dump-dom", "file://" + os.path.abspath(opened) + "#step=" + step]
    done = subprocess.run(command, capture_output=True, timeout=300)
    with open(out, "wb") as file:
        file.write(done.stdout)
    page = Page(out)
    print(page.texts.get("what"), page.texts.get("value"), {mark: sorted(rows) for mark, rows in page.marks.items()}, sep="\n")


def main():
    command, *rest = sys.argv[1:]
    if command == "ids":
        words = open(rest[1], encoding="utf-8").read().split()
        npy.write(rest[0], "i4", [1, len(rest) - 2], [words.index(word) for word in rest[2:]])
    elif command == "compare":
        compare(Page(rest[0]), rest[1])
    else:
        browse(*rest)


if __name__ == "__main__":
    main()
