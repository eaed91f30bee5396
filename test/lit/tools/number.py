#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""number.py FILE.npy NUMBER: writes one i32, of rank 0."""
import sys

import npy

npy.write(sys.argv[1], "i4", [], [int(sys.argv[2])])
