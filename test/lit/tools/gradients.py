#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gradients.py MODEL KIND OUT [--packed] [OPTION …]: runs the gradients of MODEL, a folder of test/data/goldens/training, into the folder OUT,
with the options, and compares them with the files of MODEL/KIND, which PyTorch computed in f64. The greatest difference of a gradient is
1e-5 of the greatest gradient of the tensor; a bias of keys, whose exact gradient is 0, has the limit of its weight. With --packed, the
function gradients_packed takes the texts one after another, without the padding (id 0) after them."""
import glob
import os
import subprocess
import sys

import npy
from checkpoint import greatest, tensors

model, kind, out, options = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
files = {os.path.basename(path)[:-4]: path for path in sorted(glob.glob(f"{model}/inputs/*.npy"))}
assert files, model


def pack(name):
    """Writes the texts of an input, which are rows, in one row, and their starts."""
    (texts, length), ids = npy.read(files[name])
    rows, starts = [], [0]
    for text in range(texts):
        row = list(ids[text * length:(text + 1) * length])
        while row and row[-1] == 0:
            row.pop()
        rows += row
        starts.append(len(rows))
    for part, shape, values in ((name, [1, len(rows)], rows), (f"{name}.starts", [len(starts)], starts)):
        files[part] = f"{out}/{part}.npy"
        npy.write(files[part], "i4", shape, values)


function = "gradients"
if "--packed" in options:
    options.remove("--packed")
    function = "gradients_packed"
    os.makedirs(out, exist_ok=True)
    for name in files.keys() & {"source", "reference"}:
        pack(name)
inputs = [f"--input={name}={path}" for name, path in files.items()]
command = ["heddle", "run", model, "--training", f"--function={function}", "--output-dir", out, *inputs, *options]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
found, expected = tensors(f"{out}/gradients.safetensors"), tensors(f"{model}/{kind}/gradients.safetensors")
assert found.keys() == expected.keys(), sorted(found.keys() ^ expected.keys())
failed = False
for name, values in expected.items():
    assert len(found[name]) == len(values), name
    difference = greatest(a - b for a, b in zip(found[name], values))
    weight = expected.get(name.removesuffix(".bias") + ".weight", []) if name.endswith(".key.bias") else []
    limit = 1e-5 * max(greatest(values), greatest(weight))
    if not difference <= limit:
        failed = True
        print(f"{name}: expected a difference of at most {limit:.3g}, found {difference:.3g}", file=sys.stderr)
loss, exact = (npy.read(f"{folder}/loss.sum.npy")[1][0] for folder in (out, f"{model}/{kind}"))
if not abs(loss - exact) <= 1e-6 * abs(exact):
    failed = True
    print(f"loss: expected {exact:.8g}, found {loss:.8g}", file=sys.stderr)
sys.exit(failed)
