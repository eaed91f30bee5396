//===- TileRowNumbers.cpp - Rows that are dropped -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of row_numbers, in which a grid point stores the example and the position of one row, and
// dropout of tiles of rows.

#include "TileDropout.h"
#include "Tilers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

LogicalResult heddle::tileRowNumbers(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<RowNumbersOp>();
  if (!op)
    return f.def.emitOpError("expected a row_numbers that is yielded");
  TileBuilder &t = f.t;
  kernel::ViewType out = f.viewType(f.firstResult());
  SmallVector<kernel::Size> sizes;
  for (const kernel::ViewDim &dim : out.getDims())
    sizes.push_back(dim.extent);
  SmallVector<int64_t> tiles(sizes.size(), 1);
  tiles.back() = f.plan.getRows(); // both numbers of a row
  f.createFunc(sizes, tiles);
  SmallVector<Value> points;
  for (int64_t axis = 0; axis + 1 < out.getRank(); ++axis)
    points.push_back(f.func.getGridIndex(axis));
  Value zero = t.index(0), number = points[0], position = points.size() > 1 ? points[1] : zero;
  if (Value documents = op.getDocuments()) {
    DocumentRow row = findRow(f, documents, position);
    number = row.document;
    position = row.position;
  }
  Value example =
      kernel::ReadOp::create(t.b, t.loc, f.view(f.viewOf(op.getExamples())), ValueRange{number});
  RankedTensorType type = t.type(2, 1, t.b.getI32Type());
  Value place = t.iota(/*rows=*/true, zero, type);
  Value tile = t.select(t.less(place, t.constantI(1, place)), t.broadcast(example, type),
                        t.broadcast(t.i32(position), type));
  kernel::StoreVectorOp::create(t.b, t.loc, tile, f.slice(f.view(f.firstResult()), points), zero,
                                t.index(2));
  return success();
}

//===- Models ------------------------------------------------------------===//

namespace {
struct RowNumbersModel
    : Tiler<RowNumbersModel, RowNumbersOp, kernel::Root::RowNumbers, tileRowNumbers> {};

struct DropoutModel : ElementModel<DropoutModel, DropoutOp> {
  bool canFollow(Operation *op, kernel::Root root, ArrayRef<Operation *> before) const {
    return root == kernel::Root::Embedding || ElementModel::canFollow(op, root, before);
  }
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<DropoutOp>(operation);
    FailureOr<Value> x = tiles.of(op.getInput());
    if (failed(x) || !op.getKey())
      return x;
    TileBuilder &t = tiles.t;
    Type i32 = t.b.getI32Type();
    RankedTensorType one = t.type(tiles.rows, 1, i32);
    Value row = t.iota(/*rows=*/true, tiles.i, one), numbers = tiles.matrix(op.getRows());
    auto number = [&](int64_t column) -> Value {
      return kernel::LookupOp::create(t.b, t.loc, one, numbers,
                                      ValueRange{row, t.constantI(column, row)});
    };
    TileDropout dropout(tiles.f, op.getKey(), op.getSite(), op.getProbability().convertToDouble());
    Value column = t.iota(/*rows=*/false, tiles.j, t.type(1, tiles.columns, i32));
    Value factors = dropout.factors(t.type(tiles.rows, tiles.columns), column,
                                    /*position=*/number(1), /*example=*/number(0));
    return t.mul(*x, factors);
  }
  StringRef getNameWord(Operation *) const { return "dropout"; }
};
} // namespace

void heddle::attachDropoutTilers(MLIRContext *context) {
  RowNumbersOp::attachInterface<RowNumbersModel>(*context);
  DropoutOp::attachInterface<DropoutModel>(*context);
}
