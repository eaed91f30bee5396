//===- ProductRewrites.h - Rewrites that several passes share --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites of f32 products and of kept rows to a number format.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle::transformer {

inline bool isF32(mlir::Value value) { return mlir::getElementTypeOrSelf(value.getType()).isF32(); }
inline bool isF32Weight(mlir::Value value) {
  return isF32(value) && value.getDefiningOp<WeightOp>();
}

/// The matrix operands of a product.
inline llvm::SmallVector<mlir::OpOperand *> matricesOf(TransformerOpInterface op) {
  llvm::SmallVector<mlir::OpOperand *> matrices;
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (op.storageOf(operand) == OperandStorage::Panels)
      matrices.push_back(&operand);
  return matrices;
}

/// Whether a product computes the logits of a router. Its operands are not narrowed, because a
/// rounded logit may choose another expert.
inline bool scoresExperts(LinearOp op) {
  return !op->use_empty() && llvm::all_of(op->getUsers(), llvm::IsaPred<RouteOp>);
}

/// Gives every f32 `linear` and `ffn` whose matrices are tensors of the checkpoint the operands of
/// `format`. Other products are unchanged.
void quantizeProducts(mlir::ModuleOp module, const NumberFormat &format);

/// Values that sessions keep, in the type of caches.
using KeptValues = llvm::DenseSet<mlir::Value>;
/// Converts states that only attention reads, and keys and values marked as kept, to the type of
/// caches. If the user requested that type (`isAsked`), reports an error if other ops read a state
/// that attention reads.
llvm::FailureOr<KeptValues> keepRows(mlir::ModuleOp module, DType type, bool isAsked);

} // namespace heddle::transformer
