//===- KernelDialect.cpp - Registration -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the dialect's types, attributes and ops known.

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FoldInterfaces.h"

using namespace mlir;
using namespace heddle::kernel;

#include "heddle/Dialect/Kernel/IR/KernelDialect.cpp.inc"

namespace {
/// Constants that folding makes stay inside their part: nothing may stand beside parts.
struct KernelFolds : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const override {
    return isa<PartOp>(region->getParentOp());
  }
};
} // namespace

void KernelDialect::initialize() {
  addInterfaces<KernelFolds>();
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/Kernel/IR/KernelOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/Kernel/IR/ProgramOps.cpp.inc"
      >();
}
