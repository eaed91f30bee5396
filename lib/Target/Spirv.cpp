//===- Spirv.cpp - Words of a SPIR-V module -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serialises without names and debug information, so that the words depend on
// nothing but the module.
#include "heddle/Target/Spirv.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Target/SPIRV/Serialization.h"

using namespace mlir;

namespace heddle {

Expected<std::vector<uint32_t>> emitSpirv(spirv::ModuleOp module) {
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  options.emitDebugInfo = false;
  SmallVector<uint32_t, 0> words;
  if (failed(spirv::serialize(module, words, options)))
    return deviceError("expected a module that SPIR-V can hold, found " +
                       module.getSymName().value_or("one").str() + ", which does not serialise");
  return std::vector<uint32_t>(words.begin(), words.end());
}

} // namespace heddle
