//===- KernelDialect.cpp - Registration of the kernel dialect ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the dialect's types, attributes and ops.

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FoldInterfaces.h"

using namespace mlir;
using namespace heddle::kernel;

#include "heddle/Dialect/Kernel/IR/KernelDialect.cpp.inc"

namespace {
/// Materializes folded constants inside their part, because a kernel with parts holds nothing else.
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
