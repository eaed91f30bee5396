//===- Mxfp4.h - MXFP4 matrices of Hugging Face folders ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MXFP4 matrices as pairs of tensors.
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/Error.h"

#include <memory>

namespace heddle {

/// A source that reads each pair of tensors of bytes X_blocks [..., rows, groups, 16] and X_scales
/// [..., rows, groups] as a tensor X [..., rows, groups * 32] of the type mxfp4. A byte of X_blocks
/// holds two adjacent codes. Error if one of a pair is missing or of another shape.
Expected<std::unique_ptr<WeightSource>> withMxfp4(std::unique_ptr<WeightSource> source);

} // namespace heddle
