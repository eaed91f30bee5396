#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes expected.json: what Transformers and Sentence-Transformers read in the folders of cases.py; null where they read nothing.

usage: DIR/bin/python test/data/published/make.py [--vocabularies]     DIR: made by scripts/goldens-setup DIR 5, since the newest versions rule

--vocabularies also trains vocabularies/ again.
"""
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../../scripts/forms"), HERE]
import cases
import numpy
import tokenizers
import words
import worker

SIZES = {"word-pieces": 300, "bytes": 400, "roberta": 400}


def train():
    """A vocabulary of each kind, and two tokenizer.json of them."""
    place = os.path.join(HERE, "vocabularies")
    shutil.rmtree(place, ignore_errors=True)
    for name, build in (("word-pieces", words.word_pieces), ("bytes", words.bytes_of("<|endoftext|>")), ("roberta", words.bytes_of(*words.ROBERTA))):
        os.makedirs(os.path.join(place, name))
        build(os.path.join(place, name), size=SIZES[name])
    backend = tokenizers.BertWordPieceTokenizer(os.path.join(place, "word-pieces/vocab.txt"))
    backend._tokenizer.save(os.path.join(place, "word-pieces.json"), pretty=False)
    backend = tokenizers.ByteLevelBPETokenizer(os.path.join(place, "bytes/vocab.json"), os.path.join(place, "bytes/merges.txt"))
    backend.add_special_tokens(["<|endoftext|>"])
    backend._tokenizer.save(os.path.join(place, "bytes.json"), pretty=False)


def listed(results):
    """Arrays as shapes and numbers of seven digits."""
    if not isinstance(results, dict) or not isinstance(next(iter(results.values())), numpy.ndarray):
        return {key: value for key, value in results.items() if key != "class"}
    return {name: [list(values.shape), [float(f"{value:.7g}") for value in values.ravel().tolist()]] for name, values in results.items()}


def main():
    if "--vocabularies" in sys.argv[1:]:
        train()
    known = {}
    with tempfile.TemporaryDirectory() as out:
        for case in cases.cases(out):
            if case["same"]:
                continue
            try:
                known[case["name"]] = listed(worker.READERS[case["kind"]](case))
            except Exception as error:  # of any kind: the library does not read the folder
                print(f"{case['name']}: {type(error).__name__}: {error}"[:300])
                known[case["name"]] = None
    with open(os.path.join(HERE, "expected.json"), "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
                                      for name, value in known.items()) + "\n}\n")


if __name__ == "__main__":
    main()
