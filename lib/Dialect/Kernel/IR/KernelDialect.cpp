//===- KernelDialect.cpp - Registration -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the dialect's types, attributes and ops known.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle::kernel;

#include "heddle/Dialect/Kernel/IR/KernelDialect.cpp.inc"

void KernelDialect::initialize() {
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
