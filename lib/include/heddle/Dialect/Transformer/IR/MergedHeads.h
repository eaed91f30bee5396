//===- MergedHeads.h - Padding of merged heads -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle::transformer {

/// Whether attention pads the heads that it merges. Heads that share keys are the rows of one tile
/// in a step. Memory holds these heads one after another if each is padded.
inline bool padsHeads(MergeHeadsOp merge) {
  auto heads = llvm::cast<mlir::ShapedType>(merge.getInput().getType());
  const int64_t count = heads.getDimSize(1), size = heads.getDimSize(3);
  auto attention = merge.getInput().getDefiningOp<AttentionOp>();
  const bool sharesKeys = attention && attention.getKey().getType().getDimSize(1) != count;
  return sharesKeys ? count > 1 && size % 16 != 0 : heddle::padsHeads(count, size);
}

/// Attribute of a module whose products do not pad heads. The gradient of a weight has one layout, and
/// its other operand may be rows that no attention pads.
inline constexpr llvm::StringLiteral unpaddedHeads = "transformer.unpadded_heads";

inline bool hasUnpaddedHeads(mlir::Operation *op) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  return module && module->hasAttr(unpaddedHeads);
}

} // namespace heddle::transformer
