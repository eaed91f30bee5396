# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX Runtime: graphs through its transformer optimiser, inputs and outputs bound, int8 by dynamic quantisation."""
import collections
from pathlib import Path

import numpy
import onnxruntime

from .. import attentions, decoders, graphs, matrix
from .onnxruntime_language import open_language
from .serve import NotHere, serve


def rows_of_heads(values):
    """[B, H, T, D] as the [B, T, H * D] that the fused operator takes."""
    return numpy.ascontiguousarray(values.transpose(0, 2, 1, 3).reshape(len(values), values.shape[2], -1))


class Peer:
    def __init__(self, threads):
        self.threads = threads

    def session(self, path, optimised=None):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.optimized_model_filepath = str(optimised or "")
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def bound(self, session, inputs, shape):
        """Inputs called `past.x` are also the outputs `present.x`: caches stay where they are."""
        binding = session.io_binding()
        kept = [onnxruntime.OrtValue.ortvalue_from_numpy(values) for values in inputs.values()]
        for name, value in zip(inputs, kept):
            binding.bind_ortvalue_input(name, value)
            if name.startswith("past."):
                binding.bind_ortvalue_output(name.replace("past", "present"), value)
        output = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(shape, numpy.float32))
        binding.bind_ortvalue_output("output", output)
        return lambda: session.run_with_iobinding(binding), output

    def empty(self):
        path = self.folder / "empty.onnx"
        graph = graphs.Graph()
        one = graphs.tensor_input("x", graphs.TensorProto.FLOAT, [16])
        graph.save(path, [one], graph.add("Abs", "x"), [16])
        self.nothing = self.bound(self.session(path), {"x": numpy.ones(16, numpy.float32)}, [16])
        return self.nothing[0]

    def open(self, row, folder):
        self.folder = folder
        if row["kind"] in ("step", "prompt"):
            return open_language(self, row, folder)
        path, inputs, shape, back = getattr(self, row["kind"])(row, folder)
        optimised = folder / "ort.optimised.onnx"
        session = self.session(path, optimised)
        call, output = self.bound(session, inputs, shape)
        spelt = attentions.spelt(row["sizes"]) if row["kind"] == "attention" else ""
        return call, lambda: back(output.numpy()), self.kernels(optimised) + spelt

    @staticmethod
    def kernels(path):
        counts = collections.Counter(node.op_type for node in graphs.onnx.load(str(path), load_external_data=False).graph.node)
        return "MLAS: " + ", ".join(f"{count} {name}" for name, count in counts.most_common(5))

    def quantised(self, path, to):
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(str(path), str(to), weight_type=QuantType.QInt8, per_channel=True,
                         extra_options={"DefaultTensorType": graphs.TensorProto.FLOAT})  # fused operators have no shape inference
        return to

    def gemm(self, row, folder):
        if row["dtype"] not in ("f32", "int8", "int4"):
            raise NotHere(f"{row['dtype']} on a CPU")
        x, w = numpy.load(folder / "x.npy"), numpy.load(folder / "w.npy")
        path = folder / "gemm.onnx"
        graphs.write_gemm(path, w, len(x))
        if row["dtype"] == "int8":
            path = self.quantised(path, folder / "gemm.int8.onnx")
        if row["dtype"] == "int4":
            from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
            quantiser = MatMulNBitsQuantizer(graphs.onnx.load(str(path)), block_size=32, is_symmetric=True, accuracy_level=4)
            quantiser.process()
            path = folder / "gemm.int4.onnx"
            quantiser.model.save_model_to_file(str(path))
        return path, {"x": x}, [len(x), len(w)], lambda y: y

    def attention(self, row, folder):
        if row["dtype"] != "f32":
            raise NotHere(f"{row['dtype']} on a CPU")
        b, t, heads, d = (row["sizes"][name] for name in ("b", "t", "heads", "d"))
        path = folder / "attention.onnx"
        graphs.write_attention(path, row["sizes"], attentions.dense(row["sizes"], folder))
        inputs = {name: rows_of_heads(numpy.load(folder / f"{name}.npy")) for name in "qkv"}
        if row["sizes"]["form"] == "padding":
            inputs["lengths"] = numpy.load(folder / "lengths.npy")
        return path, inputs, [b, t, heads * d], lambda y: y.reshape(b, t, heads, d).transpose(0, 2, 1, 3)

    def decode(self, row, folder):
        if row["dtype"] != "f32":
            raise NotHere(f"{row['dtype']} on a CPU")
        b, p = row["sizes"]["b"], row["sizes"]["p"]
        path = folder / "decode.onnx"
        graphs.write_decode(path, b, p)
        inputs = {name: numpy.load(folder / f"{name}.npy").reshape(b, 1, matrix.SIZE) for name in "qkv"}
        for name, new in (("keys", "k"), ("values", "v")):
            past = numpy.load(folder / f"{name}.npy")
            inputs[f"past.{name}"] = numpy.concatenate([past, numpy.zeros_like(past[:, :, :1])], 2)
        return path, inputs, [b, 1, matrix.SIZE], lambda y: y

    def token(self, row, folder):
        """Caches that are appended to in place, at the same place each time."""
        if row["dtype"] not in ("f32", "int8"):
            raise NotHere(f"{row['dtype']} on a CPU")
        path, p = Path(row["onnx"]), row["sizes"]["p"]
        if row["dtype"] == "int8":
            stored = path.parent / "ort.int8.onnx"
            path = stored if stored.exists() else self.quantised(path, stored)
        inputs = {"target": numpy.load(folder / "target.npy")}
        inputs |= {name: numpy.array(value, numpy.int32) for name, value in (("position", [p]), ("lengths", [p]), ("total", p + 1))}
        for name in decoders.cache_names():
            past = numpy.load(folder / f"{name}.npy")
            inputs[f"past.{name}"] = numpy.concatenate([past, numpy.zeros_like(past[:, :, :1])], 2)
        return path, inputs, [1, 1, matrix.TOKENS], lambda y: y

    def encoder(self, row, folder):
        if row["dtype"] not in ("f32", "int8"):
            raise NotHere(f"{row['dtype']} on a CPU")
        from onnxruntime.transformers.optimizer import optimize_model
        home = Path(row["onnx"]).parent
        fused = home / "ort.fused.onnx"
        if not fused.exists():
            model = optimize_model(row["onnx"], model_type="bert", num_heads=matrix.HEADS, hidden_size=matrix.SIZE)
            model.save_model_to_file(str(fused))
        if row["dtype"] == "int8":
            path = home / "ort.int8.onnx"
            fused = path if path.exists() else self.quantised(fused, path)
        source = numpy.load(folder / "source.npy")
        return fused, {"source": source}, [row["sizes"]["b"], row["sizes"]["s"], matrix.SIZE], lambda y: y

    layer = model = encoder

    def ffn(self, row, folder):
        if row["dtype"] not in ("f32", "int8"):
            raise NotHere(f"{row['dtype']} on a CPU")
        x = numpy.load(folder / "x.npy")
        path = row["onnx"] if row["dtype"] == "f32" else self.quantised(row["onnx"], folder / "block.int8.onnx")
        return path, {"x": x}, list(x.shape), lambda y: y

    attend = ffn


if __name__ == "__main__":
    serve(Peer)
