# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models in ONNX Runtime: caches are bound, large enough, and written at the same place each time."""
from pathlib import Path

import numpy
import onnxruntime

from .. import checkpoints, language, language_graph
from .serve import NotHere


def file_of(shape, home, dtype, work):
    """The graph, made when it is first asked for, after its weights; what has four bytes a weight is not kept."""
    folder = work if dtype == "f32" else home
    path = folder / f"ort.{shape.name}.{dtype}.onnx"
    if not path.exists():
        language_graph.write_language(path, shape, checkpoints.Tensors(home), dtype)
    return path


class Calls:
    """A session and its bound caches of `rows` rows."""

    def __init__(self, session, shape, b, rows):
        self.session, self.shape, self.b = session, shape, b
        names = [name for layer in range(shape.layers) for name in language_graph.cache_names(layer)]
        self.caches = {name: onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros([b, shape.kv, rows, shape.head], numpy.float32)) for name in names}
        self.output = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros([b, 1, shape.words], numpy.float32))

    def bound(self, target, total):
        binding = self.session.io_binding()
        values = {"target": target, "lengths": numpy.full(self.b, total - 1, numpy.int32), "total": numpy.array(total, numpy.int32)}
        kept = [onnxruntime.OrtValue.ortvalue_from_numpy(numpy.ascontiguousarray(value)) for value in values.values()]
        for name, value in zip(values, kept):
            binding.bind_ortvalue_input(name, value)
        for name, cache in self.caches.items():
            binding.bind_ortvalue_input(f"past.{name}", cache)
            binding.bind_ortvalue_output(f"present.{name}", cache)
        binding.bind_ortvalue_output("output", self.output)

        def call(keep=kept):  # the binding does not own what it reads
            self.session.run_with_iobinding(binding)

        return call


def open_language(peer, row, folder):
    if row["dtype"] not in ("f32", "int8", "int4"):
        raise NotHere(f"{row['dtype']} on a CPU")
    shape = language.SHAPES[row["sizes"]["shape"]]
    b, p = row["sizes"]["b"], row["sizes"]["p"]
    path = file_of(shape, Path(row["model"]), row["dtype"], folder.parent)
    session = peer.session(path)
    step = row["kind"] == "step"
    calls = Calls(session, shape, b, p + 1 if step else p)
    call = calls.bound(numpy.load(folder / "prompt.npy"), p)
    if step:
        call()
        call = calls.bound(numpy.load(folder / "next.npy"), p + 1)
    return call, calls.output.numpy, peer.kernels(path)
