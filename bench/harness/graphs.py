# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX graphs, in the form in which encoders are exported from PyTorch, so that transformer optimisers know them."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from . import matrix

SIZE, HEADS, HEAD_SIZE = matrix.SIZE, matrix.HEADS, matrix.HEAD_SIZE


class Graph:
    def __init__(self):
        self.nodes, self.constants, self.names = [], [], 0

    def constant(self, values, name=None):
        name = name or self.fresh("constant")
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(values), name))
        return name

    def fresh(self, stem):
        self.names += 1
        return f"{stem}_{self.names}"

    def add(self, op, *inputs, domain=None, **attributes):
        output = self.fresh(op)
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=output, domain=domain, **attributes))
        return output

    def save(self, path, inputs, output, shape):
        self.nodes.append(helper.make_node("Identity", [output], ["output"], name="output_identity"))
        self.write(path, inputs, [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)])

    def write(self, path, inputs, outputs):
        graph = helper.make_graph(self.nodes, "heddle_bench", inputs, outputs, self.constants)
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=8), str(path))


def tensor_input(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def write_gemm(path, w, m):
    graph = Graph()
    y = graph.add("MatMul", "x", graph.constant(w.T, "w"))
    graph.save(path, [tensor_input("x", TensorProto.FLOAT, [m, w.shape[1]])], y, [m, w.shape[0]])


def write_attention(path, sizes, dense):
    """ONNX Runtime's fused attention over [b, t, heads * size] inputs; `dense` is what attentions.dense says."""
    b, t, form, heads, kv, d = (sizes[name] for name in ("b", "t", "form", "heads", "kv", "d"))
    graph = Graph()
    inputs = [tensor_input(name, TensorProto.FLOAT, [b, t, count * d]) for name, count in (("q", heads), ("k", kv), ("v", kv))]
    if form == "gqa":
        lengths, total = (graph.constant(numpy.array(value, numpy.int32)) for value in ([t - 1] * b, t))
        y = graph.fresh("GroupQueryAttention")  # the two caches that it also returns are nobody's
        graph.nodes.append(helper.make_node("GroupQueryAttention", [*"qkv", "", "", lengths, total], [y, "keys", "values"], name=y,
                                            domain="com.microsoft", num_heads=heads, kv_num_heads=kv))
    else:
        extra = []
        if form == "padding":  # lengths of the sequences
            inputs.append(tensor_input("lengths", TensorProto.INT32, [b]))
            extra = ["", "lengths"]
        elif dense is not None:
            numbers = numpy.where(dense, 0, -1e30) if dense.dtype == bool else numpy.maximum(dense, -1e30)
            extra = ["", "", graph.constant(numbers.astype(numpy.float32))]
        y = graph.add("MultiHeadAttention", "q", "k", "v", *extra, domain="com.microsoft", num_heads=heads, unidirectional=int(form == "causal"))
    graph.save(path, inputs, y, [b, t, heads * d])


def write_decode(path, b, p):
    """ONNX Runtime's operator for decoding: caches [b, heads, p + 1, size] that it appends to in place."""
    graph = Graph()
    cache = [b, HEADS, p + 1, HEAD_SIZE]
    inputs = [tensor_input(name, TensorProto.FLOAT, [b, 1, SIZE]) for name in "qkv"]
    inputs += [tensor_input(f"past.{name}", TensorProto.FLOAT, cache) for name in ("keys", "values")]
    lengths = graph.constant(numpy.full(b, p, numpy.int32))
    total = graph.constant(numpy.array(p + 1, numpy.int32))
    outputs = ["output", "present.keys", "present.values"]
    graph.nodes.append(helper.make_node("GroupQueryAttention", [*"qkv", "past.keys", "past.values", lengths, total], outputs, name="step",
                                        domain="com.microsoft", num_heads=HEADS, kv_num_heads=HEADS))
    results = [tensor_input("output", TensorProto.FLOAT, [b, 1, SIZE])] + [tensor_input(name, TensorProto.FLOAT, cache) for name in outputs[1:]]
    graph.write(path, inputs, results)


def linear(graph, x, tensors, name):
    product = graph.add("MatMul", x, graph.constant(tensors[name + ".weight"].T, name + ".weight"))
    return graph.add("Add", graph.constant(tensors[name + ".bias"], name + ".bias"), product)


def norm(graph, x, tensors, name, epsilon=1e-12):
    scale, bias = (graph.constant(tensors[f"{name}.{part}"], f"{name}.{part}") for part in ("weight", "bias"))
    return graph.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def attention(graph, x, tensors, place):
    split = graph.constant(numpy.array([0, 0, HEADS, HEAD_SIZE], numpy.int64))
    merge = graph.constant(numpy.array([0, 0, SIZE], numpy.int64))

    def heads(name, order):
        parts = graph.add("Reshape", linear(graph, x, tensors, f"{place}attention.{name}"), split)
        return graph.add("Transpose", parts, perm=order)

    q, v = heads("query", [0, 2, 1, 3]), heads("value", [0, 2, 1, 3])
    k = heads("key", [0, 2, 3, 1])
    scores = graph.add("Div", graph.add("MatMul", q, k), graph.constant(numpy.array(HEAD_SIZE**0.5, numpy.float32)))
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), v)
    rows = graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), merge)
    return linear(graph, rows, tensors, place + "attention.output")


def gelu(graph, x):
    inner = graph.add("Erf", graph.add("Div", x, graph.constant(numpy.array(2**0.5, numpy.float32))))
    one, half = (graph.constant(numpy.array(value, numpy.float32)) for value in (1, 0.5))
    return graph.add("Mul", graph.add("Mul", x, graph.add("Add", inner, one)), half)


def write_ffn(path, tensors, t):
    graph = Graph()
    y = linear(graph, gelu(graph, linear(graph, "x", tensors, "ffn.in")), tensors, "ffn.out")
    graph.save(path, [tensor_input("x", TensorProto.FLOAT, [t, SIZE])], y, [t, SIZE])


def write_attend(path, tensors, t):
    graph = Graph()
    y = graph.add("Add", attention(graph, norm(graph, "x", tensors, "norm"), tensors, ""), "x")
    graph.save(path, [tensor_input("x", TensorProto.FLOAT, [1, t, SIZE])], y, [1, t, SIZE])


def write_encoder(path, tensors, layers):
    graph = Graph()
    if layers > 1:
        kind, shape = TensorProto.INT32, ["B", "S"]
        x = graph.add("Gather", graph.constant(tensors["source.embedding.weight"], "words"), "source")
    else:
        kind, shape = TensorProto.FLOAT, ["B", "S", SIZE]
        x = "source"
    for layer in range(layers):
        place = f"encoder.{layer}."
        x = norm(graph, graph.add("Add", attention(graph, x, tensors, place), x), tensors, place + "attention.norm")
        inner = gelu(graph, linear(graph, x, tensors, place + "ffn.in"))
        x = norm(graph, graph.add("Add", linear(graph, inner, tensors, place + "ffn.out"), x), tensors, place + "ffn.norm")
    graph.save(path, [tensor_input("source", kind, shape)], x, ["B", "S", SIZE])
