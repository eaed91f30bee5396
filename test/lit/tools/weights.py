#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weights.py FILE.safetensors NAME=SIZExSIZE…: writes f32 tensors of uniform numbers, the same ones every time."""
import json
import math
import random
import struct
import sys

generator = random.Random(11)
header, data = {}, b""
for argument in sys.argv[2:]:
    name, sizes = argument.split("=")
    shape = [int(size) for size in sizes.split("x")]
    numbers = [generator.uniform(-0.3, 0.3) for _ in range(math.prod(shape))]
    begin, data = len(data), data + struct.pack(f"<{len(numbers)}f", *numbers)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
