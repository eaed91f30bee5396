#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates labelled reviews of one sentence. Python's standard library only.

usage: reviews.py DIR

DIR receives train.tsv (20,000 distinct reviews, "text<TAB>label"), held-out.tsv (500 further ones) and words.txt (the
vocabulary). Single words do not determine the label: "not", "hardly" and "nothing ... is" reverse a judgement, the second
of two clauses joined by "but" counts, the main clause counts beside "although", and questions and plain facts are neutral.
Random numbers come from splitmix64, so the files are equal on every machine.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from splitmix import Random  # noqa: E402: the folder above

TRAIN, HELD_OUT = 20000, 500
NEGATIVE, NEUTRAL, POSITIVE = 0, 1, 2
LABELS = ["negative", "neutral", "positive"]
THINGS = """the film;the food;the hotel;the staff;our room;the service;this book;the music;the view;the coffee;the story;the actor;
the ending;the breakfast;the garden;the guide;the boat trip;the museum;my seat;the soup;the driver;the price;the second part;
the waiter;the bed;the concert;the game;the camera;the phone;the screen""".replace("\n", "").split(";")
GOOD = """good great wonderful excellent lovely brilliant delightful perfect pleasant superb charming fresh friendly clean
delicious beautiful funny clever comfortable impressive""".split()
BAD = """bad awful terrible dreadful boring horrible dirty rude stale disappointing ugly noisy slow cold broken silly useless
poor annoying unpleasant""".split()
DEGREES = ["", "very", "really", "quite", "rather", "so", "truly", "extremely"]
TIMES = ["", "today", "this time", "again", "on monday", "last night", "in the end"]
FACTS = """lasts two hours;opens at nine;is next to the station;costs ten euros;comes from spain;was built last year;has three parts;
is on the second floor;begins in the evening;was here before""".replace("\n", "").split(";")


def judgement(random):
    """A clause with a judgement, and whether it is positive."""
    good = random.below(2) == 1
    word, thing, degree = random.choice(GOOD if good else BAD), random.choice(THINGS), random.choice(DEGREES)
    form = random.below(7)
    if form < 3:
        return f"{thing} {random.choice(['is', 'was'])} {degree} {word}", good
    if form == 3:
        return f"{thing} {random.choice(['is not', 'was never', 'is hardly', 'was not'])} {degree} {word}", not good
    if form == 4:
        verb = random.choice(["loved", "enjoyed", "liked"] if good else ["hated", "regretted", "disliked"])
        return f"i {degree if degree in ('really', 'truly') else ''} {verb} {thing}", good
    if form == 5:
        verb = random.choice(["love", "enjoy", "like"] if good else ["hate", "regret", "dislike"])
        return f"i {random.choice(['did not', 'could never', 'do not'])} {verb} {thing}", not good
    return f"nothing about {thing} {random.choice(['is', 'was'])} {word}", not good


def fact(random):
    return f"{random.choice(THINGS)} {random.choice(FACTS)}"


def question(random):
    return f"{random.choice(['is', 'was'])} {random.choice(THINGS)} {random.choice(DEGREES)} {random.choice(GOOD + BAD)} {random.choice(TIMES)} ?"


def label(good):
    return POSITIVE if good else NEGATIVE


def review(random):
    """A text and its label."""
    form = random.below(9)
    if form == 0:
        return question(random), NEUTRAL
    if form == 1:
        return f"{fact(random)} {random.choice(TIMES)} .", NEUTRAL
    if form == 2:
        return f"{fact(random)} and {fact(random)} .", NEUTRAL
    first, good = judgement(random)
    if form < 5:
        return f"{first} {random.choice(TIMES)} .", label(good)
    if form == 5:
        plain = fact(random)
        return (f"{plain} and {first} ." if random.below(2) else f"{first} and {plain} ."), label(good)
    second, other = judgement(random)
    if form == 6:
        return f"{first} but {second} .", label(other)
    if form == 7:
        return f"although {first} , {second} .", label(other)
    return f"{first} although {second} .", label(good)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    os.makedirs(sys.argv[1], exist_ok=True)
    random, seen, words = Random(1959), {}, dict.fromkeys(["<pad>", "<unk>"])
    while len(seen) < TRAIN + HELD_OUT:
        text, kind = review(random)
        text = " ".join(text.split())
        assert seen.setdefault(text, kind) == kind, text
    rows = list(seen.items())
    for name, part in (("train", rows[:TRAIN]), ("held-out", rows[TRAIN:])):
        with open(os.path.join(sys.argv[1], name + ".tsv"), "w", encoding="utf-8") as file:
            file.writelines(f"{text}\t{LABELS[kind]}\n" for text, kind in part)
    for text, _ in rows:
        words.update(dict.fromkeys(text.split()))
    with open(os.path.join(sys.argv[1], "words.txt"), "w", encoding="utf-8") as file:
        file.writelines(word + "\n" for word in words)
    print(f"{TRAIN} reviews to learn from, {HELD_OUT} held out, {len(words)} words")


if __name__ == "__main__":
    main()
