# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of seeded sizes that nobody tuned for: no product may fall off a cliff. No package needed."""
import random

from .row import Row

COUNT, SEED = 40, 2026
DTYPES = ("f32", "bf16", "int8")
LARGE = 10e6  # multiply-adds of the products that count


def awkward(choice, low, high):
    """A size between the two that no tile divides: half of them are odd, the others four times an odd number."""
    odd = choice.random() < 0.5
    return choice.randrange(low | 1, high, 2) if odd else 4 * choice.randrange(low // 4 | 1, high // 4, 2)


def sizes(number):
    """One layer of an encoder: the head sizes go from 24 to 160, the rows from 16 to 400."""
    choice = random.Random(SEED * 1000 + number)
    head = 4 * choice.randint(6, 40)
    return {"rows": choice.randint(16, 31) if number % 4 == 0 else choice.randint(32, 400), "head": head,
            "heads": choice.randint(2, max(2, 1280 // head)), "size": awkward(choice, 200, 1600), "ffn": awkward(choice, 600, 5000)}


def flops(rows, head, heads, size, ffn):
    return 2.0 * rows * (4 * size * heads * head + 2 * size * ffn) + 4.0 * rows * rows * heads * head


def rows():
    for dtype in DTYPES:
        for number in range(COUNT):
            one = sizes(number)
            yield Row(f"shapes.{dtype}.{number:02}", "products", dtype, one, flops(**one), gated=True, peers=())
