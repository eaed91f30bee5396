# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenVINO's CPU plugin: precision as the row says, int8 by NNCF (static activations), int4 weights by NNCF."""
import collections
from pathlib import Path

import numpy
import openvino
from openvino import opset13

from .. import arrays, attentions, decoders, matrix
from . import openvino_decoder, openvino_language
from .clock import Refilled
from .serve import NotHere, serve


class Peer:
    def __init__(self, threads):
        self.threads = threads
        self.core = openvino.Core()

    def compiled(self, model, dtype, **more):
        precision = {"bf16": "bf16", "f16-sum": "f16"}.get(dtype, "f32")
        compiled = self.core.compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": precision, "SCHEDULING_CORE_TYPE": "ANY_CORE", **more})
        chosen = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        if dtype == "f16-sum" and chosen != "f16":  # the plugin falls back in silence
            raise NotHere("f16 sums on this CPU")
        return compiled

    @staticmethod
    def bound(compiled, inputs):
        request = compiled.create_infer_request()
        tensors = [openvino.Tensor(values, shared_memory=True) for values in inputs]
        for index, tensor in enumerate(tensors):
            request.set_input_tensor(index, tensor)

        def call(keep=(inputs, tensors)):  # the request does not own what it reads
            request.infer(share_outputs=True)  # in this thread: an asynchronous one wakes another, 20 to 165 us

        return call, lambda: request.get_output_tensor(0).data, request

    def empty(self):
        x = opset13.parameter([16], numpy.float32)
        model = openvino.Model([opset13.abs(x)], [x], "empty")
        self.nothing = self.bound(self.compiled(model, "f32"), [numpy.ones(16, numpy.float32)])
        return self.nothing[0]

    def open(self, row, folder):
        if row["kind"] in ("step", "prompt"):
            return openvino_language.open_language(self, row, folder)
        if row["kind"] == "token":
            return self.token(row, folder)
        model, inputs = getattr(self, row["kind"])(row, folder)
        compiled = self.compiled(model, row["dtype"])
        call, result, _ = self.bound(compiled, inputs)
        return call, result, self.kernels(compiled) + (attentions.spelt(row["sizes"]) if row["kind"] == "attention" else "")

    @staticmethod
    def kernels(compiled):
        """The primitives of the heavy nodes, as the plugin names them."""
        counts = collections.Counter()
        for node in compiled.get_runtime_model().get_ordered_ops():
            facts = node.get_rt_info()
            kind, primitive = (facts[key].astype(str) if key in facts else "" for key in ("layerType", "primitiveType"))
            if kind in ("FullyConnected", "MatMul", "ScaledDotProductAttention", "ScaledDotProductAttentionWithKVCache", "MHA", "Subgraph"):
                counts[f"{kind} {primitive}"] += 1
        return ", ".join(f"{count} {name}" for name, count in counts.most_common(4))

    def quantised(self, model, inputs, transformer=False):
        import nncf
        kind = nncf.ModelType.TRANSFORMER if transformer else None
        return nncf.quantize(model, nncf.Dataset(inputs), subset_size=len(inputs), model_type=kind)

    def gemm(self, row, folder):
        x, w = numpy.load(folder / "x.npy"), numpy.load(folder / "w.npy")
        parameter = opset13.parameter(list(x.shape), numpy.float32, "x")
        product = opset13.matmul(parameter, opset13.constant(w), False, True)
        model = openvino.Model([product], [parameter], "gemm")
        if row["dtype"] == "int8":
            model = self.quantised(model, [x])
        if row["dtype"] == "int4":
            import nncf
            model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT4_SYM, group_size=32, ratio=1.0, all_layers=True)
        return model, [x]

    def attention(self, row, folder):
        """Its attention knows equal heads or one head of keys: groups become sequences, each with the one head that it shares."""
        sizes = row["sizes"]
        b, t, heads, kv, d = (sizes[name] for name in ("b", "t", "heads", "kv", "d"))
        inputs = [numpy.load(folder / f"{name}.npy") for name in "qkv"]
        parameters = q, k, v = [opset13.parameter(list(values.shape), numpy.float32, name) for name, values in zip("qkv", inputs)]
        if kv < heads:
            q, k, v = (opset13.reshape(x, [b * kv, -1, t, d], False) for x in parameters)
        dense = attentions.dense(sizes, folder)
        more = [] if dense is None else [opset13.constant(dense)]
        result = opset13.scaled_dot_product_attention(q, k, v, *more, causal=sizes["form"] in ("causal", "gqa"))
        return openvino.Model([opset13.reshape(result, [b, heads, t, d], False)], parameters, "attention"), inputs

    def decode(self, row, folder):
        """Caches that hold the new row already: its append is given to this peer."""
        q = numpy.load(folder / "q.npy")
        caches = [numpy.concatenate([numpy.load(folder / f"{past}.npy"), numpy.load(folder / f"{new}.npy")], 2) for past, new in (("keys", "k"), ("values", "v"))]
        inputs = [q, *caches]
        parameters = [opset13.parameter(list(values.shape), numpy.float32, name) for name, values in zip("qkv", inputs)]
        return openvino.Model([opset13.scaled_dot_product_attention(*parameters, causal=False)], parameters, "step"), inputs

    def token(self, row, folder):
        """A model with a state, as its generation library runs them; caches grow, so they are filled anew as Heddle's are."""
        dtype, p = row["dtype"], row["sizes"]["p"]
        model = openvino_decoder.step(decoders.merged(numpy.load(row["arrays"])))
        if dtype == "int8":
            import nncf
            model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)
        # Left to itself it would keep caches in 8 bits, in f32 too.
        kept = "f32" if dtype == "f32" else "bf16"
        compiled = self.compiled(model, kept, KV_CACHE_PRECISION=kept)
        inputs = [numpy.load(folder / "target.npy"), numpy.array([p], numpy.int32), numpy.zeros(1, numpy.int32)]
        call, result, request = self.bound(compiled, inputs)
        caches = {name: openvino.Tensor(numpy.load(folder / f"{name}.npy")) for name in decoders.cache_names()}

        def refill():
            for state in request.query_state():
                state.state = caches[state.name]

        return Refilled(call, refill, row["every"]), result, lambda: f"caches in {kept}, {self.kernels(compiled)}"

    def encoder(self, row, folder):
        path = Path(row["onnx"])
        source = numpy.load(folder / "source.npy")
        if row["dtype"] == "int8":
            stored = path.parent / "openvino.int8.xml"
            if not stored.exists():
                model = self.quantised(self.core.read_model(str(path)), self.samples(row), transformer=True)
                openvino.save_model(model, str(stored), compress_to_fp16=False)
            path = stored
        model = self.core.read_model(str(path))
        model.reshape(list(source.shape))
        return model, [source]

    @staticmethod
    def samples(row):
        random = numpy.random.default_rng(5)
        if row["sizes"]["layers"] == 1:
            return [arrays.normal(random, 1, 128, matrix.SIZE) for _ in range(8)]
        return [random.integers(1, matrix.VOCABULARY, (1, 128)).astype(numpy.int32) for _ in range(8)]

    layer = model = encoder

    def ffn(self, row, folder):
        x = numpy.load(folder / "x.npy")
        model = self.core.read_model(row["onnx"])
        return (self.quantised(model, [x]) if row["dtype"] == "int8" else model), [x]

    attend = ffn


if __name__ == "__main__":
    serve(Peer)
