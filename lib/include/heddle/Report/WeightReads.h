//===- WeightReads.h - Weights that one row reads --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

struct Program;

/// The weights that a function with experts reads for one row.
struct WeightReads {
  std::string function;
  int64_t bytes, stored;   ///< bytes that the row reads, and bytes of all weights of the program
  int64_t chosen, experts; ///< experts that the row uses in the last of the layers, and all of them
};

/// Reads of the functions that have experts, of a module at the fused stage.
std::vector<WeightReads> weightReads(mlir::ModuleOp fused, const Program &program);
/// A line for each function: "decode_step: a row uses 8 of 128 experts and reads …".
std::string weightReadsText(const std::vector<WeightReads> &list);

} // namespace heddle
