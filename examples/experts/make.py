#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the weights and an input of experts.mlir, and the result that PyTorch computes with a loop over the tokens.

usage: DIR/bin/python examples/experts/make.py     DIR: see scripts/goldens-setup
"""
import os

import numpy
import torch
from safetensors.torch import save_file
from torch.nn.functional import silu, softmax

HERE = os.path.dirname(os.path.abspath(__file__))
EXPERTS, CHOSEN, SIZE, HIDDEN = 8, 2, 32, 48


def main():
    torch.manual_seed(7)
    matrix = lambda *shape: torch.randn(shape) * shape[-1] ** -0.5
    weights = {
        "router": matrix(EXPERTS, SIZE),
        "experts.in": matrix(EXPERTS, HIDDEN, SIZE),
        "experts.gate": matrix(EXPERTS, HIDDEN, SIZE),
        "experts.out": matrix(EXPERTS, SIZE, HIDDEN),
    }
    x = torch.randn(2, 5, SIZE)
    y = x.clone()
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            token = x[b, t]
            scores, experts = softmax(weights["router"] @ token, dim=0).topk(CHOSEN)
            for score, expert in zip(scores / scores.sum(), experts):
                hidden = silu(weights["experts.gate"][expert] @ token) * (weights["experts.in"][expert] @ token)
                y[b, t] += score * (weights["experts.out"][expert] @ hidden)
    save_file(weights, os.path.join(HERE, "experts.safetensors"))
    numpy.save(os.path.join(HERE, "experts.input.npy"), x.numpy())
    numpy.save(os.path.join(HERE, "experts.expected.npy"), y.numpy())


if __name__ == "__main__":
    main()
