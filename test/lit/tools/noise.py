#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""noise.py FILE.npy SIZE…: writes a tensor of normal f32 numbers, the same ones every time."""
import math
import random
import sys

import npy

shape = list(map(int, sys.argv[2:]))
generator = random.Random(7)
npy.write(sys.argv[1], "f4", shape, (generator.gauss(0, 1) for _ in range(math.prod(shape))))
