# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models in OpenVINO, in the form in which its tools export them: caches are the model's state, weights stay as the folder has them."""
from pathlib import Path

import numpy
import openvino
from openvino import opset13
from openvino.op.util import Variable, VariableInfo

from .. import checkpoints, language
from .clock import Refilled


def integers(*values):
    return opset13.constant(numpy.array(values, numpy.int64))


class LanguageModel:
    """Builds the graph; `sinks` write the caches. Inputs: target [B, T], places [B, T], beam [B]."""

    def __init__(self, shape, tensors, wide, causal):
        self.shape, self.tensors, self.wide, self.causal = shape, tensors, wide, causal
        self.sinks, self.kept = [], {}
        self.owned = []  # what constants lie in
        self.target, self.places, self.beam = (opset13.parameter(sizes, numpy.int32, name) for name, sizes in
                                               (("target", [-1, -1]), ("places", [-1, -1]), ("beam", [-1])))

    def weight(self, name):
        if self.wide:
            return opset13.constant(self.tensors.wide(name + ".weight"), name=name)
        if name not in self.kept:
            bits = numpy.array(self.tensors.bits(name + ".weight"))
            self.owned.append(bits)
            constant = openvino.op.Constant(openvino.Tensor(bits, bits.shape, openvino.Type.bf16))
            self.kept[name] = opset13.convert(constant, "f32", name=name)
        return self.kept[name]

    def vector(self, name):
        return opset13.constant(self.tensors.wide(name + ".weight"))

    def linear(self, x, name):
        return opset13.matmul(x, self.weight(name), False, True)

    def norm(self, x, name):
        square = opset13.reduce_mean(opset13.power(x, numpy.float32(2)), integers(-1), True)
        unit = opset13.divide(numpy.float32(1), opset13.sqrt(opset13.add(square, numpy.float32(checkpoints.EPSILON))))
        return opset13.multiply(opset13.multiply(x, unit), self.vector(name))

    def turns(self):
        """Cosines and sines of the tokens' places, [B, 1, T, head]."""
        frequencies = (checkpoints.BASE ** (-numpy.arange(0, self.shape.head, 2) / self.shape.head)).astype(numpy.float32)
        places = opset13.unsqueeze(opset13.convert(self.places, "f32"), integers(-1))
        angles = opset13.multiply(places, opset13.constant(frequencies))
        both = opset13.unsqueeze(opset13.concat([angles, angles], -1), integers(1))
        return opset13.cos(both), opset13.sin(both)

    def rotated(self, x, turns):
        half = self.shape.head // 2
        low = opset13.slice(x, integers(0), integers(half), integers(1), integers(3))
        high = opset13.slice(x, integers(half), integers(2**31), integers(1), integers(3))
        swapped = opset13.concat([opset13.multiply(high, numpy.float32(-1)), low], -1)
        return opset13.add(opset13.multiply(x, turns[0]), opset13.multiply(swapped, turns[1]))

    def appended(self, name, new):
        info = VariableInfo()
        info.data_shape = openvino.PartialShape([-1, self.shape.kv, -1, self.shape.head])
        info.data_type = openvino.Type.f32
        info.variable_id = name
        variable = Variable(info)
        batch = opset13.gather(opset13.shape_of(self.target, "i64"), integers(0), opset13.constant(numpy.int64(0)))
        sizes = opset13.concat([batch, integers(self.shape.kv, 0, self.shape.head)], 0)
        nothing = opset13.broadcast(opset13.constant(numpy.float32(0)), sizes)
        past = opset13.gather(opset13.read_value(nothing, variable), self.beam, opset13.constant(numpy.int64(0)))
        cache = opset13.concat([past, new], 2)
        self.sinks.append(opset13.assign(cache, variable))
        return self.shared(cache)

    def shared(self, cache):
        """Each head of keys for the heads of queries that it serves."""
        shape, times = self.shape, self.shape.heads // self.shape.kv
        if times == 1:
            return cache
        ones = opset13.constant(numpy.ones([1, 1, times, 1, 1], numpy.float32))  # the form that the plugin knows
        many = opset13.multiply(opset13.unsqueeze(cache, integers(2)), ones)
        return opset13.reshape(many, integers(0, shape.heads, -1, shape.head), True)

    def heads(self, x, place, name, count):
        apart = opset13.reshape(self.linear(x, f"{place}{name}_proj"), integers(0, 0, count, self.shape.head), True)
        if self.shape.norms and name != "v":
            apart = self.norm(apart, f"{place}{name}_norm")
        return opset13.transpose(apart, integers(0, 2, 1, 3))

    def attention(self, x, layer, turns):
        place, shape = f"model.layers.{layer}.self_attn.", self.shape
        q = self.rotated(self.heads(x, place, "q", shape.heads), turns)
        k = self.appended(f"{layer}.key", self.rotated(self.heads(x, place, "k", shape.kv), turns))
        v = self.appended(f"{layer}.value", self.heads(x, place, "v", shape.kv))
        mixed = opset13.transpose(opset13.scaled_dot_product_attention(q, k, v, causal=self.causal), integers(0, 2, 1, 3))
        return self.linear(opset13.reshape(mixed, integers(0, 0, shape.heads * shape.head), True), place + "o_proj")

    def model(self):
        zero = opset13.constant(numpy.int32(0))
        x = opset13.gather(self.weight("model.embed_tokens"), self.target, zero)
        turns = self.turns()
        for layer in range(self.shape.layers):
            place = f"model.layers.{layer}."
            x = opset13.add(x, self.attention(self.norm(x, place + "input_layernorm"), layer, turns))
            n = self.norm(x, place + "post_attention_layernorm")
            inner = opset13.multiply(opset13.swish(self.linear(n, place + "mlp.gate_proj")), self.linear(n, place + "mlp.up_proj"))
            x = opset13.add(x, self.linear(inner, place + "mlp.down_proj"))
        last = opset13.slice(self.norm(x, "model.norm"), integers(-1), integers(2**31), integers(1), integers(1))
        logits = self.linear(last, "model.embed_tokens" if self.shape.tied else "lm_head")
        return openvino.Model([opset13.result(logits)], self.sinks, [self.target, self.places, self.beam], "language")


def compressed(model, dtype):
    import nncf
    if dtype == "int8":
        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)
    if dtype == "int4":  # its default keeps what scores the words and the table in 8 bits
        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT4_SYM, group_size=32, ratio=1.0)
    return model


def open_language(peer, row, folder):
    """A model that reads the prompt; of a token, its caches go to a model whose attention knows no pair that is hidden."""
    dtype = row["dtype"]
    shape = language.SHAPES[row["sizes"]["shape"]]
    b, p = row["sizes"]["b"], row["sizes"]["p"]
    kept = "f32" if dtype == "f32" else "bf16"

    def compiled(causal, target, first):
        graph = LanguageModel(shape, checkpoints.Tensors(Path(row["model"])), dtype == "f32", causal)
        found = peer.compiled(compressed(graph.model(), dtype), kept, KV_CACHE_PRECISION=kept)
        places = numpy.tile(numpy.arange(first, first + target.shape[1], dtype=numpy.int32), (b, 1))
        return found, graph.owned, *peer.bound(found, [numpy.ascontiguousarray(target), places, numpy.arange(b, dtype=numpy.int32)])

    found, owned, call, result, request = compiled(True, numpy.load(folder / "prompt.npy"), 0)
    if row["kind"] == "prompt":
        def alone(keep=owned):
            request.reset_state()
            call()

        return alone, result, lambda: peer.kernels(found)
    call()
    caches = {state.name: openvino.Tensor(numpy.array(state.state.data)) for state in request.query_state()}
    del found, owned, call, result, request
    found, owned, call, result, request = compiled(False, numpy.load(folder / "next.npy"), p)

    def refill(keep=owned):
        for state in request.query_state():
            state.state = caches[state.name]

    return Refilled(call, refill, row["every"]), result, lambda: f"caches in {kept}, {peer.kernels(found)}"
