//===- LinearColumns.cpp - Columns of a linear layer's kernel -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Planning/LinearColumns.h"

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Size;

//===- Parts -------------------------------------------------------------===//

/// The first linear that a value depends on.
static LinearOp linearBefore(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<LinearOp>(op))
    return dyn_cast_or_null<LinearOp>(op);
  for (Value operand : op->getOperands())
    if (LinearOp linear = linearBefore(operand))
      return linear;
  return {};
}

/// Whether a result is heads. The places of a map are rows, as its layout says.
static bool isHeads(const DefinitionViews &views, size_t result) {
  return views.viewType(views.firstResult() + result).getRank() == 4;
}

static LinearPart partOf(Value value, LinearOp linear, bool heads) {
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  const bool overHeads =
      heads && shape[1] > 1 && shape[3] % 16 != 0 && !paddedHeadsOfProduct(linear.getResult());
  return {value, linear, {}, heads, overHeads, value.getDefiningOp<RotaryOp>()};
}

FailureOr<SmallVector<LinearPart>> heddle::linearParts(const DefinitionViews &views) {
  SmallVector<LinearPart> parts;
  kernel::DefOp def = views.def;
  for (auto [result, value] : llvm::enumerate(yieldedValues(def))) {
    auto *part = llvm::find_if(parts, [&](const LinearPart &p) { return p.yielded == value; });
    if (part == parts.end()) {
      LinearOp linear = linearBefore(value);
      if (!linear)
        return def.emitOpError() << "expected a linear before result " << result << ", found none";
      parts.push_back(partOf(value, linear, isHeads(views, result)));
      part = &parts.back();
    }
    part->results.push_back(result);
  }
  return parts;
}

int64_t heddle::storedColumns(const DefinitionViews &views, LinearOp linear) {
  return padded(views.viewTypeOf(linear.getWeight()).getDim(0).extent.value / linear.getGroups());
}

int64_t heddle::headColumns(const DefinitionViews &views, const LinearPart &part) {
  return padded(
      views.viewType(views.firstResult() + part.results[0]).getDims().back().extent.value);
}

int64_t heddle::unitOf(const DefinitionViews &views, const LinearPart &part) {
  return part.heads && !part.overHeads ? headColumns(views, part)
                                       : storedColumns(views, part.linear);
}

//===- Loops -------------------------------------------------------------===//

namespace {
/// Builds the loops of parts; each loop takes the next tile of a list.
class LoopList {
public:
  LoopList(const DefinitionViews &views, ArrayRef<int64_t> tiles) : views(views), tiles(tiles) {}

  void add(const LinearPart &part) { part.rotary ? addRotated(part) : addWhole(part); }
  bool hasAllTiles() const { return next == tiles.size(); }

  SmallVector<ColumnLoop> loops;

private:
  int64_t nextTile() {
    const size_t index = next++;
    return index < tiles.size() ? tiles[index] : 1;
  }
  /// Adds a loop over all columns. If the tile does not divide them, adds a loop over the columns
  /// that it divides and a loop over the tail.
  void addWhole(const LinearPart &part) {
    const int64_t all = storedColumns(views, part.linear), unit = unitOf(views, part),
                  tile = nextTile(), wide = unit / tile * tile, rest = unit - wide;
    auto addRange = [&](int64_t first, int64_t columns, int64_t of) {
      if (columns == unit)
        loops.push_back({&part, of, all});
      else
        loops.push_back({&part, of, all / unit * columns, unit < all ? columns : 0, first});
    };
    if (wide)
      addRange(0, wide, tile);
    if (rest)
      addRange(wide, rest, nextTile());
  }
  void addRotated(const LinearPart &part) {
    RotaryOp rotary = part.rotary;
    const int64_t all = storedColumns(views, part.linear), head = headColumns(views, part),
                  rotated = rotary.getRotatedSize();
    auto addRange = [&](int64_t first, int64_t columns, bool rotates) {
      loops.push_back({&part, nextTile(), all / head * columns, columns, first, rotates});
    };
    addRange(0, rotated / 2, true);
    if (rotated < head)
      addRange(rotated, head - rotated, false);
  }

  const DefinitionViews &views;
  ArrayRef<int64_t> tiles;
  size_t next = 0;
};
} // namespace

FailureOr<SmallVector<ColumnLoop>> heddle::columnLoops(const DefinitionViews &views,
                                                       ArrayRef<LinearPart> parts,
                                                       ArrayRef<int64_t> tiles) {
  LoopList list(views, tiles);
  for (const LinearPart &part : parts)
    list.add(part);
  kernel::DefOp def = views.def;
  if (!list.hasAllTiles())
    return def.emitOpError() << "expected a plan with a tile of columns for each of "
                             << list.loops.size() << " loops, found " << tiles.size();
  return list.loops;
}

bool heddle::rotatesTiles(RotaryOp op) { return op.getRotatedSize() % 32 == 0; }

//===- Rows --------------------------------------------------------------===//

SmallVector<unsigned> heddle::rowsOfSequences(const DefinitionViews &views) {
  kernel::DefOp def = views.def;
  for (size_t result = 0; result < def.getNumResults(); ++result)
    if (!isHeads(views, result))
      return {};
  SmallVector<unsigned> rows;
  for (Value argument : def.getBody().getArguments()) {
    const int64_t number = views.viewOf(argument);
    if (number < 0 || views.viewType(number).getRank() < 3)
      continue;
    kernel::ViewType view = views.viewType(number);
    if (view.getRank() != 3 || view.getDim(1).extent != Size(1) || view.getDim(1).pitch != Size(1))
      return {};
    rows.push_back(number);
  }
  return rows;
}

Size heddle::rowsOfLinear(const DefinitionViews &views) {
  kernel::DefOp def = views.def;
  LinearOp linear = *def.getBody().front().getOps<LinearOp>().begin();
  kernel::ViewType input = views.viewTypeOf(linear.getInput());
  return input.getDim(rowsOfSequences(views).empty() ? input.getRank() - 2 : 0).extent;
}
