//===- GgufWeights.h - Tensors of GGUF files -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantised tensors are decoded as they are read. Their values are those of the
// package `gguf`, bit for bit: an f32 product, and an f32 sum or difference.
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/Gguf.h"

namespace heddle {

/// The tensors of a GGUF file, with shapes as Hugging Face has them: rows first.
std::unique_ptr<WeightSource> ggufWeights(Gguf file);
/// The same of a file that is not open yet.
Expected<std::unique_ptr<WeightSource>> openGgufWeights(const std::string &path);

} // namespace heddle
