//===- GpuLoops.h - Marks of loops ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "llvm/ADT/StringRef.h"

namespace heddle {

/// Attribute of an scf.for that drivers are not to unroll: an unrolled loop over the columns of a row
/// loads the whole row before it adds.
constexpr llvm::StringLiteral kRolled = "heddle.rolled";
/// And of one that they are to unroll: over the elements that an invocation has of a matrix, which are
/// registers only as long as their numbers are known.
constexpr llvm::StringLiteral kUnrolled = "heddle.unrolled";

} // namespace heddle
