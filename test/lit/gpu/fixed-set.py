#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fixed-set.py FOLDER [--vulkan-level=N] [TYPE …]: compiles the fixed set of models, encoders and decoders with heads of 32, 64 and 128, for Vulkan
into FOLDER.

Without a level for levels 0 and 1 alone: the installed driver does not know matrices.
"""
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
level = next((word for word in sys.argv[2:] if word.startswith("--")), "--vulkan-level=1")
for dtype in [word for word in sys.argv[2:] if word != level] or ["f32", "bf16", "f16", "int8", "int4"]:
    for model in sorted(Path(__file__).parent.glob("*coder-*.json")):
        file = folder / f"{model.stem}-{dtype}.heddle"
        subprocess.run(["heddle", "compile", model, "-o", file, "--target=vulkan", level, f"--dtype={dtype}"],
                       check=True, stderr=subprocess.DEVNULL)
