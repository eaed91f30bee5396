# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch through torch.compile: models and their halves (a library call alone is eager's). Its options are as they come,
but that the decoder's weights are frozen, so that they are packed once."""
import torch
import torch._inductor.config

from . import torch_eager
from .serve import NotHere, serve


class Peer(torch_eager.Peer):
    name = "inductor"

    def open(self, row, folder):
        torch._inductor.config.freezing = row["kind"] == "token"  # the first call, which compiles, follows at once
        return super().open(row, folder)

    def gemm(self, row, folder, dtype):
        raise NotHere("a product alone, it is eager's")

    attention = decode = gemm

    def model(self, row, folder, dtype):
        function, inputs = super().model(row, folder, dtype)
        return torch.compile(function, dynamic=False), inputs

    layer = model

    def token(self, row, folder, dtype):
        function, inputs = super().token(row, folder, dtype)
        return torch.compile(function.eval(), dynamic=False), inputs

    @staticmethod
    def compiled(function):
        return torch.compile(function, dynamic=False)

    def ffn(self, row, folder, dtype):
        function, inputs = super().ffn(row, folder, dtype)
        return torch.compile(function, dynamic=False), inputs

    def attend(self, row, folder, dtype):
        function, inputs = super().attend(row, folder, dtype)
        return torch.compile(function, dynamic=False), inputs


if __name__ == "__main__":
    serve(Peer)
