//===- RowPlans.cpp - Plans of bodies without products --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of kernels without products: norms, softmax, quantization and copies. On a GPU, one
// group of four invocations holds the sixteen lanes of a row's sum. Several groups may share
// a row; the first then sums and the others load for it.

#include "Plans.h"

#include "heddle/Planning/LinearColumns.h"
#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::planning;
using namespace heddle::transformer;
using kernel::Mapping;
using kernel::PlanAttr;
using kernel::Root;

namespace {
/// The tile of a body without products.
struct RowTile {
  int64_t rows, columns;
  bool reduces = false; ///< the body reduces rows
  int64_t largest = 0;  ///< columns of the largest tile if different from `columns`
};
} // namespace

/// Tile of a body that reduces rows sixteen columns at a time.
static RowTile walked(int64_t rows) { return {rows, laneColumns, /*reduces=*/true}; }

/// Tile of a norm: one row if `rowsAtOnce` rows exceed the limit of values.
static RowTile tileOfNorm(const Question &q) {
  Operation *norm = yieldedValues(q.def()).front().getDefiningOp();
  constexpr int64_t rowsAtOnce = 4; // rows that a CPU reduces together
  const int64_t stored = padded(q.views.featuresOf(norm->getOperand(0)));
  const bool isLong = stored > q.sizes.mostValues / rowsAtOnce;
  return {isLong ? 1 : rowsOfQuads(q.sizes, q.sizes.normRows, stored), stored, true};
}

/// Rows and columns of a tile for rows of `features` that are quantized as a whole.
static RowTile tileOfWholeRows(const TileSizes &sizes, int64_t features) {
  const int64_t stored = padded(features);
  if (sizes.rowQuads == 1)
    return walked(sizes.softmaxRows);
  return {rowsOfQuads(sizes, sizes.softmaxRows, stored), stored, true};
}

/// Tile of a quantization. If groups of a GPU's invocations share rows, the tile has whole rows, or
/// one group of features for formats that scale groups.
static RowTile tileOfQuantize(const Question &q) {
  auto op = q.def().getBody().front().getTerminator()->getOperand(0).getDefiningOp<QuantizeOp>();
  const bool inGroups = cast<RankedTensorType>(op.getScales().getType()).getShape().back() > 1,
             isShared = q.sizes.rowQuads > 1;
  const int64_t group = op.getScaleGroup();
  const int64_t features = q.views.featuresOf(op.getInput());
  if (inGroups && isShared && features % group == 0 && group > laneColumns)
    return {q.sizes.softmaxRows, group, true, laneColumns};
  return inGroups ? walked(q.sizes.softmaxRows) : tileOfWholeRows(q.sizes, features);
}

/// Tile of a copy of heads and of the ops that are fused with it.
static RowTile tileOfRelayout(const Question &q) {
  constexpr int64_t panelRows = 16;
  kernel::DefOp def = q.def();
  kernel::ViewType out = q.views.viewType(q.views.firstResult());
  if (def.getBody().front().getTerminator()->getOperand(0).getDefiningOp<CacheQuantizeOp>())
    return walked(q.sizes.softmaxRows);
  if (def.packsDocuments())
    return {panelRows, padded(out.getDims().back().extent.value)};
  Value value = yieldedValues(def).front();
  const bool merges = isa_and_nonnull<MergeHeadsOp>(value.getDefiningOp());
  kernel::ViewType heads = merges ? q.views.viewType(0) : out;
  if (heads.getRank() == 1)
    return {q.sizes.copyRows, 1};
  const int64_t size = heads.getDims().back().extent.value, stored = padded(size);
  if (merges && size != stored && heads.getRank() == 4 && heads.getDim(1).extent.value > 1)
    return {q.sizes.copyRows, q.isCpu() && size % 4 == 0 ? stored : laneColumns};
  RotaryOp rotary = value.getDefiningOp<RotaryOp>();
  if (rotary && rotatesTiles(rotary)) { // halves of the rotated features, and the rest
    const int64_t rotated = rotary.getRotatedSize();
    return {q.sizes.copyRows, stored, false, std::max(rotated / 2, stored - rotated)};
  }
  return {q.sizes.copyRows, stored};
}

static RowTile tileOf(const Question &q, Root root) {
  const int64_t stored =
      padded(q.views.viewType(q.views.firstResult()).getDims().back().extent.value);
  switch (root) {
  case Root::Norm:
    return tileOfNorm(q);
  case Root::Quantize:
    return tileOfQuantize(q);
  case Root::Softmax:
  case Root::Loss:
  case Root::LossGradient:
  case Root::NormGradient:
    return walked(q.sizes.softmaxRows);
  case Root::LossMean:
  case Root::LossSum:
    return walked(1);
  case Root::Route:
    return walked(q.sizes.softmaxRows);
  case Root::ExpertCounts:
    return walked(1);
  case Root::ExpertPlaces:
    return walked(laneColumns);
  case Root::ExpertStarts:
    return {1, 1};
  case Root::ExpertRows:
    return {1, q.isCpu() ? stored : firstDividing(q.sizes.copyColumns, stored)};
  case Root::RowNumbers: // an example and a position
    return {2, 1};
  case Root::Shift:
    return {1, 1};
  case Root::Pool:
  case Root::PoolGradient:
    return {1, firstDividing(q.sizes.poolColumns, stored)};
  case Root::Patches:
    return {q.sizes.copyRows, laneColumns};
  case Root::Relayout:
    return tileOfRelayout(q);
  default:
    if (q.isCpu() && stored > dropoutColumns &&
        llvm::any_of(q.def().getBody().front(), llvm::IsaPred<DropoutOp>))
      return {q.sizes.copyRows, dropoutColumns};
    return {q.sizes.copyRows, firstDividing(q.sizes.copyColumns, stored)};
  }
}

/// Whether some result is stored in panels, which invocations write four rows at a time.
static bool storesPanels(const Question &q) {
  const unsigned first = q.views.firstResult();
  return llvm::any_of(llvm::seq<unsigned>(first, first + q.def().getNumResults()),
                      [&](unsigned view) { return q.views.viewType(view).getPanel() != 0; });
}

/// Invocations of a workgroup whose rows are in registers, and columns of all its rows. Sums need
/// the rows in workgroup memory, of which they take half.
static constexpr int64_t wideWorkgroup = 256, wideColumns = 4096;

/// Number of invocations that share a row of a tile and hold it in registers; 0: rows are walked.
/// Each has a multiple of two or three vec4s.
static int64_t invocationsOfRow(const Question &q, const RowTile &tile) {
  constexpr int64_t least = 512, fewest = 32;
  if (q.sizes.rowQuads == 1 || !tile.reduces || tile.largest || tile.columns < least ||
      tile.columns > wideColumns)
    return 0;
  int64_t invocations = wideWorkgroup;
  while (invocations >= fewest && tile.columns % (2 * 4 * invocations) != 0 &&
         tile.columns % (3 * 4 * invocations) != 0)
    invocations /= 2;
  return invocations >= fewest ? invocations : 0;
}

static KernelPlan planWideRows(const Question &q, const RowTile &tile, int64_t across) {
  int64_t rows = wideWorkgroup / across;
  while (rows * tile.columns > wideColumns)
    rows /= 2;
  return {PlanAttr::get(q.context(), Mapping::WideRows, {rows, tile.columns}, {rows, across}),
          "many invocations hold a row in registers, so that it is read once"};
}

static KernelPlan planOf(const Question &q, const RowTile &tile) {
  const std::array<int64_t, 2> sizes{tile.rows, tile.columns};
  if (q.isCpu())
    return {PlanAttr::get(q.context(), Mapping::CpuTiles, sizes),
            tile.reduces ? "a tile of rows is on a thread's stack" : "rows are copied in tiles"};
  if (const int64_t across = invocationsOfRow(q, tile))
    return planWideRows(q, tile, across);
  const int64_t columns = tile.largest ? tile.largest : tile.columns;
  int64_t down = 16, across = quadInvocations;
  std::string reason = "four invocations share a row";
  if (tile.reduces) {
    down = tile.rows;
    across *= quadsOfRow(q.sizes, columns);
    reason = across > quadInvocations ? "several groups of four invocations load for a row"
                                      : "four invocations hold the lanes of a row's sum";
  } else if (storesPanels(q)) {
    down = tile.rows <= 32 && columns < 128 ? 4 : 8;
    reason = "an invocation stores four rows of a panel at once";
  }
  return {PlanAttr::get(q.context(), Mapping::Strided, sizes, {std::min(tile.rows, down), across}),
          reason};
}

KernelPlan planning::planRows(const Question &q, Root root) { return planOf(q, tileOf(q, root)); }

/// Groups of invocations that share a row need a subgroup of all of them.
KernelPlan planning::planRounding(const Question &q, Value input) {
  const int64_t features = q.views.featuresOf(input);
  const RowTile tile = tileOfWholeRows(q.gpu->tiles, features);
  const Question asked{q.views, q.gpu, q.gpu->tiles};
  TileSizes sizes = q.gpu->tiles;
  if (q.gpu->subgroup >= laneColumns || invocationsOfRow(asked, tile))
    return planOf(asked, tile);
  sizes.rowQuads = 1;
  return planOf({q.views, q.gpu, sizes}, tileOfWholeRows(sizes, features));
}
