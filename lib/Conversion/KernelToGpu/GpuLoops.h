//===- GpuLoops.h - Marks of loops ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "llvm/ADT/StringRef.h"

namespace heddle {

/// Attribute of an scf.for that drivers must not unroll. An unrolled loop over the columns of a row
/// would load the whole row before it adds.
constexpr llvm::StringLiteral kRolled = "heddle.rolled";
/// Attribute of an scf.for that drivers must unroll. A loop over the elements that an invocation
/// has of a matrix keeps them in registers only if their numbers are constants.
constexpr llvm::StringLiteral kUnrolled = "heddle.unrolled";

} // namespace heddle
