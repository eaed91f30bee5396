# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch, eager: F.linear, scaled_dot_product_attention, modules written as their authors would.

Activations come in f32, as everyone's do, and are rounded inside the call; queries, keys and values come rounded."""
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

from .. import attentions, decoders, matrix, models
from .serve import NotHere, serve
from .trained import Step

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def encoder(weights, layers, dtype):
    """The encoder as a function of tensors."""
    w = {name: torch.from_numpy(weights[name]).to(dtype) for name in weights.files}

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    def norm(x, name):
        return F.layer_norm(x, (matrix.SIZE,), w[name + ".weight"], w[name + ".bias"], 1e-12)

    def heads(x):
        return x.unflatten(-1, (matrix.HEADS, matrix.HEAD_SIZE)).transpose(1, 2)

    def run(x):
        x = F.embedding(x, w["source.embedding.weight"]) if layers > 1 else x.to(dtype)
        for layer in range(layers):
            place = f"encoder.{layer}."
            q, k, v = (heads(linear(x, f"{place}attention.{name}")) for name in ("query", "key", "value"))
            mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = norm(x + linear(mixed, place + "attention.output"), place + "attention.norm")
            inner = F.gelu(linear(x, place + "ffn.in"))
            x = norm(x + linear(inner, place + "ffn.out"), place + "ffn.norm")
        return x

    return run


class Decoder(torch.nn.Module):
    """A step of the decoder as a function of a token, over caches of `past` rows and one more. All are buffers, which a compiler may pack."""

    def __init__(self, tensors, past):
        super().__init__()
        self.past = past
        for name, values in tensors.items():
            self.register_buffer(name.replace(".", "_"), values)

    def of(self, name):
        return getattr(self, name.replace(".", "_"))

    def linear(self, x, name):
        return F.linear(x, self.of(name + ".weight"), self.of(name + ".bias"))

    def norm(self, x, name):
        return F.layer_norm(x, (matrix.SIZE,), self.of(name + ".weight"), self.of(name + ".bias"), decoders.EPSILON)

    def attention(self, x, place):
        parts = self.linear(x, place + "attention.qkv").chunk(3, -1)
        q, k, v = (part.unflatten(-1, (matrix.HEADS, matrix.HEAD_SIZE)).transpose(1, 2) for part in parts)
        keys, values = self.of(place + "self.key"), self.of(place + "self.value")
        keys[:, :, self.past:] = k
        values[:, :, self.past:] = v
        mixed = F.scaled_dot_product_attention(q, keys, values).transpose(1, 2).flatten(2)
        return self.linear(mixed, place + "attention.output")

    def forward(self, target):
        x = F.embedding(target, self.of("target.embedding.weight")) + self.of("target.position.weight")[self.past]
        for layer in range(decoders.LAYERS):
            place = f"decoder.{layer}."
            x = x + self.attention(self.norm(x, place + "attention.norm"), place)
            inner = F.gelu(self.linear(self.norm(x, place + "ffn.norm"), place + "ffn.in"), approximate="tanh")
            x = x + self.linear(inner, place + "ffn.out")
        return F.linear(self.norm(x, "decoder.norm"), self.of("target.embedding.weight"))


class Peer:
    name = "eager"
    dense = True  # masks and rules that it has no word for are tables

    def __init__(self, threads):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def empty(self):
        x = torch.ones(16)
        return lambda: torch.abs(x)

    def open(self, row, folder):
        if row["dtype"] not in TYPES:
            raise NotHere(f"{row['dtype']} in this form")
        function, inputs = getattr(self, row["kind"])(row, folder, TYPES[row["dtype"]])
        kept = [None]

        def call():
            kept[0] = function(*inputs)

        kernel = f"{self.name}, {torch.backends.cpu.get_cpu_capability()}, {'MKL' if torch.backends.mkl.is_available() else 'no MKL'}"
        return call, lambda: kept[0].float().numpy(), kernel + (attentions.spelt(row["sizes"]) if row["kind"] == "attention" and self.dense else "")

    def load(self, folder, name, dtype):
        return torch.from_numpy(numpy.load(folder / f"{name}.npy")).to(dtype)

    def gemm(self, row, folder, dtype):
        w = self.load(folder, "w", dtype)
        return lambda x: F.linear(x.to(dtype), w), [self.load(folder, "x", torch.float32)]

    def attention(self, row, folder, dtype):
        sizes = row["sizes"]
        dense = attentions.dense(sizes, folder)
        mask = None if dense is None else torch.from_numpy(dense)
        flags = {"is_causal": sizes["form"] in ("causal", "gqa"), "enable_gqa": sizes["kv"] < sizes["heads"]}
        inputs = [self.load(folder, name, dtype) for name in "qkv"]
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **flags), inputs

    def decode(self, row, folder, dtype):
        """The new row goes to its place in a cache that is large enough; the same place each time."""
        q, k, v = (self.load(folder, name, dtype) for name in "qkv")
        past = row["sizes"]["p"]
        caches = [torch.cat([self.load(folder, name, dtype), torch.zeros_like(new)], 2) for name, new in (("keys", k), ("values", v))]

        def step(q, k, v):
            for cache, new in zip(caches, (k, v)):
                cache[:, :, past:] = new
            return F.scaled_dot_product_attention(q, *caches)

        return step, [q, k, v]

    def token(self, row, folder, dtype):
        """Caches that are large enough, of which the same place is written each time."""
        tensors = {name: torch.from_numpy(values).to(dtype) for name, values in decoders.merged(numpy.load(row["arrays"])).items()}
        tensors |= {name: F.pad(self.load(folder, name, dtype), (0, 0, 0, 1)) for name in decoders.cache_names()}
        return Decoder(tensors, row["sizes"]["p"]), [torch.from_numpy(numpy.load(folder / "target.npy")).long()]

    def model(self, row, folder, dtype):
        source = torch.from_numpy(numpy.load(folder / "source.npy"))
        return encoder(numpy.load(row["arrays"]), row["sizes"]["layers"], dtype), [source if source.is_floating_point() else source.long()]

    layer = model

    def train(self, row, folder, dtype):
        batch = {name: torch.from_numpy(numpy.load(folder / file)).long() for name, file in row["inputs"].items()}
        return Step(Path(row["model"]), batch, row["dropout"], self.compiled), []

    @staticmethod
    def compiled(function):
        return function

    def ffn(self, row, folder, dtype):
        weights = numpy.load(row["arrays"])
        wi, bi, wo, bo = (torch.from_numpy(weights[f"ffn.{name}"]).to(dtype) for name in ("in.weight", "in.bias", "out.weight", "out.bias"))
        return lambda x: F.linear(F.gelu(F.linear(x.to(dtype), wi, bi)), wo, bo), [self.load(folder, "x", torch.float32)]

    def attend(self, row, folder, dtype):
        weights = numpy.load(row["arrays"])
        w = {name: torch.from_numpy(weights[name]).to(dtype) for name in weights.files}

        def linear(x, name):
            return F.linear(x, w[f"attention.{name}.weight"], w[f"attention.{name}.bias"])

        def block(x):
            x = x.to(dtype)
            n = F.layer_norm(x, (matrix.SIZE,), w["norm.weight"], w["norm.bias"], 1e-12)
            q, k, v = (linear(n, name).unflatten(-1, (matrix.HEADS, matrix.HEAD_SIZE)).transpose(1, 2) for name in models.PROJECTIONS[:3])
            return x + linear(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2), "output")

        return block, [self.load(folder, "x", torch.float32)]


if __name__ == "__main__":
    serve(Peer)
