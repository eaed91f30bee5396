# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's FlexAttention, compiled: the peer that skips tiles. Its block mask is made once, outside the clock."""
import numpy
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from .. import attentions
from . import torch_eager
from .serve import NotHere, serve



def causal(b, h, i, j):
    return j <= i


def window(b, h, i, j):
    return (j <= i) & (i - j <= 255)


PREDICATES = {"causal": causal, "gqa": causal, "alibi": causal, "window": window}


class Peer(torch_eager.Peer):
    name = "flex_attention"
    dense = False

    def gemm(self, row, folder, dtype):
        raise NotHere("attention only")

    layer = model = ffn = attend = decode = token = gemm

    def attention(self, row, folder, dtype):
        sizes = row["sizes"]
        form, t = sizes["form"], sizes["t"]
        rule, batch = None, None
        if form == "padding":
            lengths, batch = torch.from_numpy(numpy.load(folder / "lengths.npy")), sizes["b"]
            predicate = lambda b, h, i, j: j < lengths[b]  # noqa: E731: as short as those above
        elif form in PREDICATES:
            predicate = PREDICATES[form]
        else:
            raise NotHere("masks only")
        if form == "alibi":
            slopes = torch.from_numpy(attentions.slopes(sizes["heads"]))
            rule = lambda score, b, h, i, j: score + slopes[h] * (j - i)  # noqa: E731
        blocks = create_block_mask(predicate, batch, None, t, t, device="cpu")
        compiled = torch.compile(flex_attention, dynamic=False)
        inputs = [self.load(folder, name, dtype) for name in "qkv"]
        return lambda q, k, v: compiled(q, k, v, score_mod=rule, block_mask=blocks, enable_gqa=sizes["kv"] < sizes["heads"]), inputs


if __name__ == "__main__":
    serve(Peer)
