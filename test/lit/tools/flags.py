#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flags.py FILE.npy SIZE…: writes booleans; in each row all are true but every third."""
import math
import sys

import npy

shape = list(map(int, sys.argv[2:]))
npy.write(sys.argv[1], "b1", shape, (n % shape[-1] % 3 != 2 for n in range(math.prod(shape))))
