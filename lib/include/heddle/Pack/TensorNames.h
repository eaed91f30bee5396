//===- TensorNames.h - Model names of checkpoint tensors --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the names of a checkpoint's tensors to the names in their model. Training wrappers add
// prefixes, and the first BERT used other names for the parts of its norms.
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// Names of a checkpoint's tensors in their model, in the order of `tensors`:
///   module.A           A        if all names begin with it (data-parallel training)
///   A._orig_mod.B      A.B      (a compiled model)
///   A.LayerNorm.gamma  A.LayerNorm.weight, and `beta` the bias
/// A name is not changed if two tensors would get equal names.
std::vector<std::string> modelNames(const std::vector<TensorInfo> &tensors);

/// `source` with model names; `source` itself if no name changes.
std::unique_ptr<WeightSource> withModelNames(std::unique_ptr<WeightSource> source);

} // namespace heddle
