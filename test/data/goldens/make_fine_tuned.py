#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of test/data/folders, fine-tuned by Transformers and PyTorch's AdamW: test/data/goldens/fine-tuned/NAME.safetensors, which
test/lit/tools/fine-tuned.py compares with what `heddle train` writes.

usage: make_fine_tuned.py        in an environment made by scripts/goldens-setup

Each line of the data is ids, a tab and a class. All lines are one batch, there is no dropout, and the rate is constant (recipe.json).
Only tensors that Heddle's model reads are compared."""
import json
import os

import torch
import transformers
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.path.join(HERE, "fine-tuned")
NAMES = ("bert-classes", "roberta-classes", "distilbert-classes", "electra-classes")


def types_of(model):
    """The only row of token types of a RoBERTa. Heddle adds it to the positions, so it is not trained on its own."""
    return model.roberta.embeddings.token_type_embeddings.weight if getattr(model.config, "type_vocab_size", 2) == 1 else None


def fold_types(model, pad):
    """Stores positions and types as Heddle does. The first rows, up to that of padding, belong to no token."""
    types = types_of(model)
    if types is not None:
        positions = model.roberta.embeddings.position_embeddings.weight
        positions += types
        positions[:pad + 1] = 0
        types.zero_()


def main():
    with open(os.path.join(PLACE, "recipe.json"), encoding="utf-8") as file:
        recipe = json.load(file)
    with open(os.path.join(PLACE, "data.tsv"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    rows = [[int(id) for id in ids.split()] for ids, _ in lines]
    labels = torch.tensor([int(label.removeprefix("LABEL_")) for _, label in lines])
    for name in NAMES:
        folder = os.path.join(HERE, "../folders", name)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
        model.eval()  # no dropout
        types = types_of(model)
        if types is not None:
            types.requires_grad_(False)
        pad, longest = model.config.pad_token_id, max(map(len, rows))
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        optimizer = torch.optim.AdamW(model.parameters(), lr=recipe["rate"]["peak"], betas=recipe["optimizer"]["betas"],
                                      eps=recipe["optimizer"]["epsilon"], weight_decay=0)
        for _ in range(recipe["steps"]):
            optimizer.zero_grad()
            model(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), recipe["optimizer"]["clip"])
            optimizer.step()
        with torch.no_grad():
            fold_types(model, pad)
        save_file({key: value.contiguous() for key, value in model.state_dict().items() if value.is_floating_point()},
                  os.path.join(PLACE, name + ".safetensors"), {"format": "pt"})


if __name__ == "__main__":
    main()
