# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's FlexAttention, compiled: the peer that skips tiles. Its block mask is made once, outside the clock."""
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from . import torch_eager
from .serve import NotHere, serve

PREDICATES = {"causal": lambda b, h, i, j: j <= i, "window": lambda b, h, i, j: (j <= i) & (i - j <= 255)}


class Peer(torch_eager.Peer):
    name = "flex_attention"

    def gemm(self, row, folder, dtype):
        raise NotHere("attention only")

    layer = model = ffn = attend = decode = gemm

    def attention(self, row, folder, dtype):
        if row["mask"] not in PREDICATES:
            raise NotHere("masks only")
        t = row["sizes"]["t"]
        _, inputs = super().attention(row, folder, dtype)
        blocks = create_block_mask(PREDICATES[row["mask"]], None, None, t, t, device="cpu")
        compiled = torch.compile(flex_attention, dynamic=False)
        return lambda q, k, v: compiled(q, k, v, block_mask=blocks), inputs


if __name__ == "__main__":
    serve(Peer)
