#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vector.py FILE.npy NUMBER…: writes a vector of i32."""
import sys

import npy

npy.write(sys.argv[1], "i4", [len(sys.argv) - 2], map(int, sys.argv[2:]))
