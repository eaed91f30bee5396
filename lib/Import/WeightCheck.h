//===- WeightCheck.h - A model's tensors against a checkpoint --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Import/Import.h"

namespace heddle {

/// Opens `file` for `model` and checks it: a missing or mis-shaped tensor is an error, tensors that
/// the model does not read are one warning.
Status openWeights(const std::string &file, ImportedModel &model);

} // namespace heddle
