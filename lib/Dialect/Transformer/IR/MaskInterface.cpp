//===- MaskInterface.cpp - What every mask op knows -----------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated interface and the helpers that do not depend on an op.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Transformer/IR/MaskInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle::transformer;

#include "heddle/Dialect/Transformer/IR/MaskInterface.cpp.inc"

KeyRange heddle::transformer::wholeKeyRange(OpBuilder &b, MaskSite &site) {
  Value zero = arith::ConstantIntOp::create(b, site.loc(), 0, 32);
  return {zero, site.keyCount(b)};
}

MaskOpInterface heddle::transformer::maskOf(Value mask) {
  return cast<MaskOpInterface>(mask.getDefiningOp());
}
