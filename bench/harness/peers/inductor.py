# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch through torch.compile: encoders only (single encoders only library calls as eager)."""
import torch

from . import torch_eager
from .serve import NotHere, serve


class Peer(torch_eager.Peer):
    name = "inductor"

    def gemm(self, row, folder, dtype):
        raise NotHere("a product alone, it is eager's")

    attention = decode = gemm

    def model(self, row, folder, dtype):
        function, inputs = super().model(row, folder, dtype)
        return torch.compile(function, dynamic=False), inputs

    layer = model

    def ffn(self, row, folder, dtype):
        function, inputs = super().ffn(row, folder, dtype)
        return torch.compile(function, dynamic=False), inputs

    def attend(self, row, folder, dtype):
        function, inputs = super().attend(row, folder, dtype)
        return torch.compile(function, dynamic=False), inputs


if __name__ == "__main__":
    serve(Peer)
