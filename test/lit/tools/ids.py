#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ids.py FILE.npy ROWS COLUMNS: writes i32 ids 1, 2, 3, … below 90."""
import sys

import npy

rows, columns = map(int, sys.argv[2:])
npy.write(sys.argv[1], "i4", [rows, columns], (1 + n % 89 for n in range(rows * columns)))
