# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The decoder's step as an OpenVINO model whose caches are its state, in the form in which its tools export decoders."""
import numpy
import openvino
from openvino import opset13
from openvino.op.util import Variable, VariableInfo

from .. import decoders, matrix

HEADS, HEAD_SIZE = matrix.HEADS, matrix.HEAD_SIZE


class Step:
    """Builds the graph; `variables` are the caches, `sinks` what writes them."""

    def __init__(self, tensors):
        self.tensors = tensors
        self.sinks = []
        self.beam = opset13.parameter([1], numpy.int32, "beam")  # whose cache a row goes on with: the plugin asks for it

    def constant(self, name):
        return opset13.constant(self.tensors[name], name=name)

    def linear(self, x, name):
        return opset13.add(opset13.matmul(x, self.constant(name + ".weight"), False, True), self.constant(name + ".bias"))

    def norm(self, x, name):
        unit = opset13.mvn(x, opset13.constant(numpy.array([-1], numpy.int64)), True, decoders.EPSILON, "inside_sqrt")
        return opset13.add(opset13.multiply(unit, self.constant(name + ".weight")), self.constant(name + ".bias"))

    def appended(self, name, new):
        """The cache NAME with a further row."""
        info = VariableInfo()
        info.data_shape = openvino.PartialShape([1, HEADS, -1, HEAD_SIZE])
        info.data_type = openvino.Type.f32
        info.variable_id = name
        variable = Variable(info)
        nothing = opset13.constant(numpy.zeros([1, HEADS, 0, HEAD_SIZE], numpy.float32))
        past = opset13.gather(opset13.read_value(nothing, variable), self.beam, opset13.constant(numpy.int32(0)))
        cache = opset13.concat([past, new], 2)
        self.sinks.append(opset13.assign(cache, variable))
        return cache

    def attention(self, x, place):
        shape = opset13.constant(numpy.array([0, 0, 3, HEADS, HEAD_SIZE], numpy.int64))
        parts = opset13.transpose(opset13.reshape(self.linear(x, place + "attention.qkv"), shape, True), opset13.constant(numpy.array([2, 0, 3, 1, 4], numpy.int64)))
        q, k, v = opset13.split(parts, opset13.constant(numpy.int64(0)), 3).outputs()
        q, k, v = (opset13.squeeze(part, opset13.constant(numpy.array([0], numpy.int64))) for part in (q, k, v))
        keys, values = (self.appended(f"{place}self.{part}", new) for part, new in (("key", k), ("value", v)))
        mixed = opset13.transpose(opset13.scaled_dot_product_attention(q, keys, values, causal=False), opset13.constant(numpy.array([0, 2, 1, 3], numpy.int64)))
        merged = opset13.reshape(mixed, opset13.constant(numpy.array([0, 0, matrix.SIZE], numpy.int64)), True)
        return self.linear(merged, place + "attention.output")

    def layer(self, x, place):
        x = opset13.add(x, self.attention(self.norm(x, place + "attention.norm"), place))
        inner = opset13.gelu(self.linear(self.norm(x, place + "ffn.norm"), place + "ffn.in"), "tanh")
        return opset13.add(x, self.linear(inner, place + "ffn.out"))


def step(tensors):
    """Inputs: target [1, 1], position [1], beam [1] (0)."""
    graph = Step(tensors)
    target, position = (opset13.parameter(shape, numpy.int32, name) for name, shape in (("target", [1, 1]), ("position", [1])))
    zero = opset13.constant(numpy.int32(0))
    words, places = (opset13.gather(graph.constant(f"target.{name}.weight"), ids, zero) for name, ids in (("embedding", target), ("position", position)))
    x = opset13.add(words, places)
    for layer in range(decoders.LAYERS):
        x = graph.layer(x, f"decoder.{layer}.")
    logits = opset13.matmul(graph.norm(x, "decoder.norm"), graph.constant("target.embedding.weight"), False, True)
    return openvino.Model([opset13.result(logits)], graph.sinks, [target, position, graph.beam], "step")
