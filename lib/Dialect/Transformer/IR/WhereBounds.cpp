//===- WhereBounds.cpp - Bounds of a formula over a tile ------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval arithmetic over the ops of a region.
//
//===----------------------------------------------------------------------===//

#include "MaskArith.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

using namespace mlir;
using namespace heddle::transformer;

TileTruth MaskWhereOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &) {
  MaskArith a{b, site.loc()};
  return {a.i1(true), a.i1(false)};
}
