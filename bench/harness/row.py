# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a row is. No package needed."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    name: str
    kind: str  # gemm, attention, decode, ffn, attend, layer, model, token, step, prompt, products, one of sequences.KINDS, training.KIND or one of systems.ROWS
    dtype: str
    sizes: dict = field(compare=False, hash=False)
    flops: float = 0
    bytes: float = 0  # what must be read: the weights of a product of one row or of a token, the caches of a step of attention
    quick: bool = False  # part of --quick
    gated: bool = False  # asked for by a gate
    threads: tuple = (1, 2)
    peers: tuple = None  # the only ones that are asked for such a row; None: all
    renewed: bool = False  # peers get new processes before and after the row, whose peak of memory is a fact of the row
    alone: bool = False  # peers come one after the other: together they need more memory than a test machine has
