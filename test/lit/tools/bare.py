# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bare.py TOKENIZER.json: the tokenizer puts nothing around a text any more.
bare.py --words FOLDER SIZE: FOLDER has a tokenizer of the words w0, w1, … that puts nothing around a text."""
import json
import os
import sys

if sys.argv[1] == "--words":
    path = os.path.join(sys.argv[2], "tokenizer.json")
    vocabulary = {f"w{i}": i for i in range(int(sys.argv[3]))}
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
                 "post_processor": None, "decoder": None,
                 "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"}}
else:
    path = sys.argv[1]
    with open(path) as file:
        tokenizer = dict(json.load(file), post_processor=None)
    # A class that takes every component from the file.
    with open(os.path.join(os.path.dirname(path), "tokenizer_config.json"), "w") as file:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast"}, file)
with open(path, "w") as file:
    json.dump(tokenizer, file)
