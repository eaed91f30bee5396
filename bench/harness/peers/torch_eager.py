# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch, eager: F.linear, scaled_dot_product_attention, modules written as their authors would.

Activations come in f32, as everyone's do, and are rounded inside the call; queries, keys and values come rounded."""
import numpy
import torch
import torch.nn.functional as F

from .. import matrix, models
from .serve import NotHere, serve

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


class Peer:
    name = "eager"

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
        return call, lambda: kept[0].float().numpy(), kernel

    def load(self, folder, name, dtype):
        return torch.from_numpy(numpy.load(folder / f"{name}.npy")).to(dtype)

    def gemm(self, row, folder, dtype):
        w = self.load(folder, "w", dtype)
        return lambda x: F.linear(x.to(dtype), w), [self.load(folder, "x", torch.float32)]

    def attention(self, row, folder, dtype):
        t, mask = row["sizes"]["t"], row["mask"]
        allowed = torch.from_numpy(models.allowed(mask, range(t), t)) if mask == "window" else None
        inputs = [self.load(folder, name, dtype) for name in "qkv"]
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, is_causal=mask == "causal"), inputs

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

    def model(self, row, folder, dtype):
        source = torch.from_numpy(numpy.load(folder / "source.npy"))
        return encoder(numpy.load(row["arrays"]), row["sizes"]["layers"], dtype), [source if source.is_floating_point() else source.long()]

    layer = model

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
