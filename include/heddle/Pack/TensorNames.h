//===- TensorNames.h - Older names of tensors ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints carry names that their model does not have. Training wraps a model, and the
// first BERT called the parts of its norms otherwise.
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// The names that a checkpoint's tensors have in their model, in the order of `names`:
///   module.A           A        where all names begin so (data-parallel training)
///   A._orig_mod.B      A.B      (a compiled model)
///   A.LayerNorm.gamma  A.LayerNorm.weight, and `beta` the bias
/// A name stays as it is where two tensors would get the same one.
std::vector<std::string> modelNames(const std::vector<TensorInfo> &tensors);

/// `source` under these names; `source` itself where nothing changes.
std::unique_ptr<WeightSource> withModelNames(std::unique_ptr<WeightSource> source);

} // namespace heddle
