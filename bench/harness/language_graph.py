# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model as an ONNX graph of ONNX Runtime's own operators, weights beside it in one file.

Inputs: target [B, T], lengths [B] (rows of the caches after the call, less one), total (the most of them, and one), past.NAME; outputs: the last
token's logits, present.NAME. Weights are f32, int8 a row (activations are quantised when it runs) or 4 bits in groups of 32."""
import numpy
from onnx import TensorProto, helper

from . import checkpoints, language
from .graphs import Graph, tensor_input

GROUP = 32
KINDS = {numpy.dtype(numpy.float32): TensorProto.FLOAT, numpy.dtype(numpy.float16): TensorProto.FLOAT16, numpy.dtype(numpy.int8): TensorProto.INT8,
         numpy.dtype(numpy.uint8): TensorProto.UINT8}


class Weights:
    """Constants that are appended to a file."""

    def __init__(self, path):
        self.path, self.file = path, open(path, "wb")

    def tensor(self, values, name):
        values = numpy.ascontiguousarray(values)
        self.file.write(b"\0" * (-self.file.tell() % 64))
        found = TensorProto(name=name, data_type=KINDS[values.dtype], dims=values.shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", self.path.name), ("offset", self.file.tell()), ("length", values.nbytes)):
            found.external_data.add(key=key, value=str(value))
        values.tofile(self.file)
        return found


class LanguageGraph(Graph):
    def __init__(self, shape, tensors, dtype, weights):
        super().__init__()
        self.shape, self.tensors, self.dtype, self.weights = shape, tensors, dtype, weights

    def large(self, values, name):
        self.constants.append(self.weights.tensor(values, name))
        return name

    def linear(self, x, *names):
        """A product with matrices below each other."""
        w = numpy.concatenate([self.tensors.wide(name + ".weight") for name in names])
        name = names[0]
        if self.dtype == "f32":
            return self.add("MatMul", x, self.large(w.T, name))
        if self.dtype == "int8":
            scale = numpy.abs(w).max(1) / 127
            codes = numpy.rint(w / scale[:, None]).astype(numpy.int8).T
            return self.add("DynamicQuantizeMatMul", x, self.large(codes, name), self.large(scale, name + ".scale"), domain="com.microsoft")
        codes, scales = in_groups(w)
        return self.add("MatMulNBits", x, self.large(codes, name), self.large(scales, name + ".scale"), domain="com.microsoft", K=w.shape[1],
                        N=w.shape[0], bits=4, block_size=GROUP, accuracy_level=4)

    def norm(self, x, name):
        return self.add("SimplifiedLayerNormalization", x, self.constant(self.tensors.wide(name + ".weight")), axis=-1, epsilon=checkpoints.EPSILON)

    def by_heads(self, x, name, count):
        """Norms of each head's features."""
        apart = self.add("Reshape", x, self.constant(numpy.array([0, 0, count, self.shape.head], numpy.int64)))
        return self.add("Reshape", self.norm(apart, name), self.constant(numpy.array([0, 0, count * self.shape.head], numpy.int64)))

    def attention(self, x, layer):
        place, shape = f"model.layers.{layer}.self_attn.", self.shape
        if shape.norms:
            q, k, v = (self.linear(x, f"{place}{name}_proj") for name in "qkv")
            qkv = [self.by_heads(q, place + "q_norm", shape.heads), self.by_heads(k, place + "k_norm", shape.kv), v]
        else:
            qkv = [self.linear(x, *(f"{place}{name}_proj" for name in "qkv")), "", ""]
        output = self.fresh("GroupQueryAttention")
        caches = cache_names(layer)
        self.nodes.append(helper.make_node(
            "GroupQueryAttention", [*qkv, *(f"past.{name}" for name in caches), "lengths", "total", "cos", "sin"],
            [output, *(f"present.{name}" for name in caches)], name=output, domain="com.microsoft", num_heads=shape.heads,
            kv_num_heads=shape.kv, do_rotary=1))
        return self.linear(output, place + "o_proj")

    def layer(self, x, layer):
        place = f"model.layers.{layer}."
        x = self.add("Add", x, self.attention(self.norm(x, place + "input_layernorm"), layer))
        n = self.norm(x, place + "post_attention_layernorm")
        gate = self.add("QuickGelu", self.linear(n, place + "mlp.gate_proj"), domain="com.microsoft", alpha=1.0)
        inner = self.add("Mul", gate, self.linear(n, place + "mlp.up_proj"))
        return self.add("Add", x, self.linear(inner, place + "mlp.down_proj"))


def in_groups(w):
    """Codes 0 to 15 around 8, two a byte, and a scale a group."""
    groups = w.reshape(len(w), -1, GROUP)
    largest = numpy.take_along_axis(groups, numpy.abs(groups).argmax(-1)[..., None], -1)
    scales = numpy.where(largest == 0, 1, largest / -8).astype(numpy.float32)
    codes = numpy.clip(numpy.rint(groups / scales) + 8, 0, 15).astype(numpy.uint8)
    return codes[..., ::2] | codes[..., 1::2] << 4, scales.reshape(-1)


def cache_names(layer):
    return [f"{layer}.key", f"{layer}.value"]


def write_language(path, shape, tensors, dtype):
    weights = Weights(path.with_suffix(".data"))
    graph = LanguageGraph(shape, tensors, dtype, weights)
    angles = numpy.arange(language.LIMIT)[:, None] * checkpoints.BASE ** (-numpy.arange(0, shape.head, 2) / shape.head)
    for name, values in (("cos", numpy.cos(angles)), ("sin", numpy.sin(angles))):
        graph.constant(values.astype(numpy.float32), name)
    table = tensors.wide("model.embed_tokens.weight").astype(numpy.float32 if dtype == "f32" else numpy.float16, copy=False)
    x = graph.add("Cast", graph.add("Gather", graph.large(table, "words"), "target"), to=TensorProto.FLOAT)
    for layer in range(shape.layers):
        x = graph.layer(x, layer)
    last = graph.add("Slice", x, *(graph.constant(numpy.array([value], numpy.int64)) for value in (-1, 2**31, 1)))
    logits = graph.linear(graph.norm(last, "model.norm"), "model.embed_tokens" if shape.tied else "lm_head")
    graph.nodes.append(helper.make_node("Identity", [logits], ["output"], name="logits"))
    weights.file.close()
    names = [name for layer in range(shape.layers) for name in cache_names(layer)]
    caches = ["B", shape.kv, "P", shape.head]
    inputs = [tensor_input(name, TensorProto.INT32, sizes) for name, sizes in (("target", ["B", "T"]), ("lengths", ["B"]), ("total", []))]
    inputs += [tensor_input(f"past.{name}", TensorProto.FLOAT, caches) for name in names]
    outputs = [tensor_input("output", TensorProto.FLOAT, ["B", 1, shape.words])]
    outputs += [tensor_input(f"present.{name}", TensorProto.FLOAT, caches) for name in names]
    graph.write(path, inputs, outputs)
