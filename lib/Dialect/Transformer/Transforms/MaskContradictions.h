//===- MaskContradictions.h - Masks that exclude themselves ----*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows from the form of a mask, whatever its sizes and operands are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Value.h"

namespace heddle::transformer {

/// Whether the parts of a mask provably exclude each other: bands of keys with the same offset or
/// the same lengths that do not meet, masks and their opposites.
bool excludesItself(mlir::Value mask);

} // namespace heddle::transformer
