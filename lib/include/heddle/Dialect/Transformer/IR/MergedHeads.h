//===- MergedHeads.h - Padding of merged heads -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"

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

} // namespace heddle::transformer
