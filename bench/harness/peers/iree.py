# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IREE: graphs imported from ONNX, static shapes, compiled for this CPU with its data tiling."""
import tempfile
from pathlib import Path

import iree.compiler.tools.import_onnx.__main__ as import_onnx
import iree.compiler as compiler
import iree.runtime as runtime
import numpy
import onnx

from .. import graphs
from .serve import NotHere, serve

# Out of the box its encoders are refused for their stack.
FLAGS = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "--iree-llvmcpu-stack-allocation-limit=1048576"]


class Peer:
    def __init__(self, threads):
        if threads > 1:
            runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        self.config = runtime.Config("local-sync" if threads == 1 else "local-task")

    def compiled(self, path, inputs):
        """The module's main function; shapes are fixed first."""
        model = onnx.load(str(path))
        for graph_input, values in zip(model.graph.input, inputs):
            for dim, size in zip(graph_input.type.tensor_type.shape.dim, values.shape):
                dim.Clear()
                dim.dim_value = size
        with tempfile.TemporaryDirectory() as folder:
            static, text = Path(folder) / "static.onnx", Path(folder) / "model.mlir"
            onnx.save(model, str(static))
            import_onnx.main(import_onnx.parse_arguments([str(static), "-o", str(text), "--opset-version", "17"]))
            binary = compiler.compile_file(str(text), target_backends=["llvm-cpu"], input_type="onnx", extra_args=FLAGS)
        self.module = runtime.load_vm_module(runtime.VmModule.copy_buffer(self.config.vm_instance, binary), self.config)
        return self.module["heddle_bench"]

    def bound(self, path, inputs):
        function = self.compiled(path, inputs)
        given = [runtime.asdevicearray(self.config.device, values) for values in inputs]
        kept = [None]

        def call():
            kept[0] = function(*given)

        return call, lambda: kept[0].to_host()

    def empty(self):
        path = self.folder / "empty.onnx"
        graph = graphs.Graph()
        graph.save(path, [graphs.tensor_input("x", graphs.TensorProto.FLOAT, [16])], graph.add("Abs", "x"), [16])
        self.nothing = self.bound(path, [numpy.ones(16, numpy.float32)])
        return self.nothing[0]

    def open(self, row, folder):
        if row["dtype"] != "f32" or row["kind"] in ("attention", "decode", "token"):
            raise NotHere(f"{row['kind']} in {row['dtype']}")
        self.folder = folder
        if row["kind"] == "gemm":
            x, w = numpy.load(folder / "x.npy"), numpy.load(folder / "w.npy")
            path = folder / "iree.gemm.onnx"
            graphs.write_gemm(path, w, len(x))
            inputs = [x]
        else:
            path, inputs = row["onnx"], [numpy.load(folder / file) for file in row["inputs"].values()]
        call, result = self.bound(path, inputs)
        return call, result, "llvm-cpu, target-cpu=host, O3"


if __name__ == "__main__":
    serve(Peer)
