# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The decoder's step as an ONNX graph, with ONNX Runtime's own operators for decoding, which append to caches in place."""
from onnx import helper

from . import matrix
from .decoders import EPSILON, LAYERS
from .graphs import Graph, TensorProto, linear, norm, tensor_input


def grouped(graph, qkv, place):
    """Attention of packed queries, keys and values over the caches PLACE.self.*; its second and third output are the caches."""
    caches = [f"{place}self.{part}" for part in ("key", "value")]
    output = graph.fresh("GroupQueryAttention")
    graph.nodes.append(helper.make_node(
        "GroupQueryAttention", [qkv, "", "", *(f"past.{name}" for name in caches), "lengths", "total"],
        [output, *(f"present.{name}" for name in caches)], name=output, domain="com.microsoft", num_heads=matrix.HEADS, kv_num_heads=matrix.HEADS))
    return output


def write_decoder(path, tensors):
    """Inputs: target [1, 1], position [1], lengths [1] (rows of the caches), total (one more), past.NAME [1, heads, total, size]."""
    graph = Graph()
    embedded = graph.add("Gather", graph.constant(tensors["target.embedding.weight"], "words"), "target")
    x = graph.add("Add", embedded, graph.add("Gather", graph.constant(tensors["target.position.weight"], "positions"), "position"))
    names = []
    for layer in range(LAYERS):
        place = f"decoder.{layer}."
        names += [f"{place}self.{part}" for part in ("key", "value")]
        mixed = grouped(graph, linear(graph, norm(graph, x, tensors, place + "attention.norm", EPSILON), tensors, place + "attention.qkv"), place)
        x = graph.add("Add", linear(graph, mixed, tensors, place + "attention.output"), x)
        product = graph.add("MatMul", norm(graph, x, tensors, place + "ffn.norm", EPSILON), graph.constant(tensors[place + "ffn.in.weight"].T))
        inner = graph.add("FastGelu", product, graph.constant(tensors[place + "ffn.in.bias"]), domain="com.microsoft")
        x = graph.add("Add", linear(graph, inner, tensors, place + "ffn.out"), x)
    last = norm(graph, x, tensors, "decoder.norm", EPSILON)
    graph.nodes.append(helper.make_node("MatMul", [last, graph.constant(tensors["target.embedding.weight"].T)], ["output"], name="logits"))
    caches = [1, matrix.HEADS, "P", matrix.HEAD_SIZE]
    small = {"target": [1, 1], "position": [1], "lengths": [1], "total": []}
    inputs = [tensor_input(name, TensorProto.INT32, shape) for name, shape in small.items()]
    inputs += [tensor_input(f"past.{name}", TensorProto.FLOAT, caches) for name in names]
    outputs = [tensor_input("output", TensorProto.FLOAT, [1, 1, matrix.TOKENS])]
    outputs += [tensor_input(f"present.{name}", TensorProto.FLOAT, caches) for name in names]
    graph.write(path, inputs, outputs)
