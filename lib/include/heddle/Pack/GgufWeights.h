//===- GgufWeights.h - Tensors of GGUF files -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of a GGUF file as a source of weights. Quantized tensors are decoded as they are read.
// Their values equal those that the package `gguf` computes, bit for bit: an f32 product, and an
// f32 sum or difference.
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/Gguf.h"

namespace heddle {

/// The tensors of a GGUF file, with shapes in the order of Hugging Face: rows first.
std::unique_ptr<WeightSource> ggufWeights(Gguf file);
/// Opens the GGUF file at `path` and returns its tensors likewise.
Expected<std::unique_ptr<WeightSource>> openGgufWeights(const std::string &path);

} // namespace heddle
