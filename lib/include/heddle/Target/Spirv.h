//===- Spirv.h - Words of a SPIR-V module ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serialization of a module of the `spirv` dialect to the words of a SPIR-V
// binary. Equal modules yield equal words.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <vector>

namespace mlir::spirv {
class ModuleOp;
} // namespace mlir::spirv

namespace heddle {

/// Serializes `module`, whose entry point is `main`. Removes the capabilities and extensions of its
/// triple that the module does not need.
Expected<std::vector<uint32_t>> emitSpirv(mlir::spirv::ModuleOp module);

} // namespace heddle
