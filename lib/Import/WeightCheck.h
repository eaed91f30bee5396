//===- WeightCheck.h - Checking a checkpoint against a model ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Import/Import.h"

namespace heddle {

/// Opens `file` as the weights of `model`. A tensor that is missing or has another shape is an
/// error; unread tensors are one warning.
Status openWeights(const std::string &file, ImportedModel &model);

} // namespace heddle
