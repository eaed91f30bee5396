#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gradients-verified.py DIR padded|packed: writes inputs of the gradients of test/data/goldens/training/annotated, with dropout, and prints
the options that give them."""
import sys

import npy

PADDED = {"source": ([2, 5], [7, 3, 4, 9, 28, 12, 11, 5, 6, 0]), "source.lengths": ([2], [5, 4]),
          "reference": ([2, 6], [3, 7, 30, 12, 8, 5, 4, 6, 3, 0, 0, 0]), "reference.lengths": ([2], [6, 3])}
PACKED = {"source": ([1, 9], [7, 3, 4, 9, 28, 12, 11, 5, 6]), "source.starts": ([3], [0, 5, 9]),
          "reference": ([1, 9], [3, 7, 30, 12, 8, 5, 4, 6, 3]), "reference.starts": ([3], [0, 6, 9])}
DROPOUT = {"dropout.key": ([3], [1, 0, 2]), "dropout.examples": ([2], [0, 1])}
place, form = sys.argv[1:]
inputs = {"padded": PADDED, "packed": PACKED}[form] | DROPOUT
for name, (shape, values) in inputs.items():
    npy.write(f"{place}/{form}.{name}.npy", "i4", shape, values)
print(*(f"--input={name}={place}/{form}.{name}.npy" for name in inputs))
