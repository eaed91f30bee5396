//===- TileHeadProducts.cpp - Products of heads with weights per head -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of products per head. A grid point multiplies several rows of one head by rows of the head's
// part of the weight; the panels of the weight continue from head to head.

#include "Tiling.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

LogicalResult heddle::tileHeadProducts(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<HeadProductsOp>();
  if (!op)
    return f.def.emitOpError("expected a head_products that is yielded");
  kernel::ViewType in = f.viewType(f.viewOf(op.getInput()));
  kernel::Size heads = in.getDim(1).extent, length = in.getDim(2).extent;
  int64_t products = op.getType().getShape().back(), rows = f.plan.getRows(),
          columns = f.plan.getColumns()[0];
  f.createFunc({in.getDim(0).extent, length, products * heads.value}, {1, rows, columns});
  Value b = f.func.getGridIndex(0), i = f.func.getGridIndex(1), at = f.func.getGridIndex(2);
  // Counted in tiles, so that bounds are exact.
  Value number = t.div(at, t.index(columns)), inHead = t.index(products / columns);
  Value h = t.div(number, inHead);
  Value j = t.mul(arith::RemUIOp::create(t.b, t.loc, number, inHead), t.index(columns));
  Value matrix = f.slice(f.view(f.viewOf(op.getInput())), {b, h});
  Value sums = kernel::ContractOp::create(t.b, t.loc, t.type(rows, columns), matrix, i,
                                          f.view(f.viewOf(op.getWeight())), at);
  storeResults(f, t.mul(sums, op.getScale().convertToDouble()), {b, h, i, j},
               t.sub(f.sizeValue(length), i));
  return success();
}
