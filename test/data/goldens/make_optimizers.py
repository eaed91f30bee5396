#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights after ten steps of PyTorch's optimizers in f64: test/data/goldens/optimizers/NAME.safetensors, which test/lit/tools/optimizers.py
compares with what `heddle train` writes with the recipe NAME.json.

usage: make_optimizers.py        in an environment made by scripts/goldens-setup

Each line of the data is ids, a tab and a class. All lines are one batch, and there is no dropout. As in Heddle, vectors do not decay."""
import json
import os

import torch
from make_gradients import loss_of
from twin import Model, write_safetensors

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optimizers")


def inputs_of(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    rows = [[int(id) for id in ids.split()] for ids, _ in lines]
    longest = max(map(len, rows))
    return {"source": torch.tensor([row + [0] * (longest - len(row)) for row in rows], dtype=torch.int32),
            "labels": torch.tensor([int(label) for _, label in lines], dtype=torch.int32)}


def optimizer_of(recipe, weights):
    options, rate = recipe["optimizer"], recipe["rate"]["peak"]
    if options["kind"] == "sgd":
        return torch.optim.SGD(weights, lr=rate, momentum=options.get("momentum", 0))
    betas, epsilon = options.get("betas", [0.9, 0.98]), options.get("epsilon", 1e-9)
    if options["kind"] == "adam":
        return torch.optim.Adam(weights, lr=rate, betas=betas, eps=epsilon)
    groups = [{"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": options["weight-decay"]},
              {"params": [weight for weight in weights if weight.dim() == 1], "weight_decay": 0}]
    return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=epsilon)


def main():
    inputs = inputs_of(os.path.join(PLACE, "data.tsv"))
    for name in ("adam", "adamw", "sgd", "momentum"):
        with open(os.path.join(PLACE, name + ".json"), encoding="utf-8") as file:
            recipe = json.load(file)
        model = Model(os.path.join(PLACE, "model.json"), torch.float64)
        with torch.enable_grad():
            loss_of(model, inputs)  # makes the weights
            weights = list(model.leaves.values())
            optimizer = optimizer_of(recipe, weights)
            for _ in range(recipe["steps"]):
                optimizer.zero_grad()
                loss, count = loss_of(model, inputs)
                (loss / count).backward()
                if "clip" in recipe["optimizer"]:
                    torch.nn.utils.clip_grad_norm_(weights, recipe["optimizer"]["clip"])
                optimizer.step()
        write_safetensors(os.path.join(PLACE, name + ".safetensors"), {key: weight.detach().float().numpy() for key, weight in model.leaves.items()})


if __name__ == "__main__":
    main()
