# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu: kernels and models on a GPU beside cuBLAS and PyTorch, also as a folder that needs nothing else."""
