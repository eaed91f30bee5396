//===- ProductRewrites.h - Rewrites that several passes share --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products on f32 as products of a number format.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle::transformer {

/// The matrices of a product with weights.
inline llvm::SmallVector<mlir::OpOperand *> matricesOf(TransformerOpInterface op) {
  llvm::SmallVector<mlir::OpOperand *> matrices;
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (op.storageOf(operand) == OperandStorage::Panels)
      matrices.push_back(&operand);
  return matrices;
}

/// Every `linear` and `ffn` on f32 whose matrices are tensors of the checkpoint multiplies what the
/// format says. Others are left as they are.
void quantizeProducts(mlir::ModuleOp module, const NumberFormat &format);

} // namespace heddle::transformer
