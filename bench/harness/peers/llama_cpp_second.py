# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llama.cpp with the second of the types that it has for a row."""
from . import llama_cpp
from .serve import serve


class Peer(llama_cpp.Peer):
    choice = 1


if __name__ == "__main__":
    serve(Peer)
