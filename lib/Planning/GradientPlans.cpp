//===- GradientPlans.cpp - Plans of weights' gradients --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of the kernels that add to the gradient of a weight.

#include "Plans.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::planning;
using kernel::Mapping;
using kernel::PlanAttr;
using kernel::Root;

/// The plan of a product over the rows of a batch. Small matrices have small tiles, so that the
/// threads share them evenly.
static KernelPlan planGradientProduct(const Question &q) {
  constexpr int64_t block = 256, manyTiles = 8, fewestLanes = 32;
  kernel::ViewType matrix = q.views.viewType(q.views.firstResult());
  const int64_t lanes = padded(matrix.getDim(0).extent.value), rows = matrix.getDim(1).extent.value;
  std::array<int64_t, 2> tile{96, std::max(firstDividing(q.sizes.copyColumns, lanes), fewestLanes)};
  auto tiles = [&] { return (rows + tile[0] - 1) / tile[0] * ((lanes + tile[1] - 1) / tile[1]); };
  while (tile[0] > 24 && tiles() < manyTiles)
    tile[0] /= 2;
  return {PlanAttr::get(q.context(), Mapping::CpuStrips, tile, {}, block),
          "the sums of a tile are in memory between blocks of rows, which a cache holds"};
}

/// The plan of a product over the rows of a batch on a GPU: four by four elements of an invocation,
/// and one chain over all rows.
static KernelPlan planGpuProduct(const Question &q) {
  constexpr int64_t quad = 4;
  kernel::ViewType matrix = q.views.viewType(q.views.firstResult());
  const std::array<int64_t, 2> tile{
      32, firstDividing(q.sizes.copyColumns, padded(matrix.getDim(0).extent.value))};
  return {PlanAttr::get(q.context(), Mapping::Blocked, tile, {tile[0] / quad, tile[1] / quad}),
          "the sums of an invocation are in its registers"};
}

/// The plan of other gradients on a GPU. A loop over rows carries sixteen columns.
static KernelPlan planGpuGradient(const Question &q, Root root, bool isOfPositions) {
  constexpr int64_t lanes = 16, across = 4;
  const bool isAlone = root == Root::GradientJoin || root == Root::Update;
  const std::array<int64_t, 2> tile{isAlone || root == Root::Transpose ? lanes
                                    : isOfPositions                    ? 8
                                                                       : 1,
                                    isAlone ? 64 : lanes};
  const int64_t down = root == Root::Transpose ? tile[0] / 4 : tile[0];
  return {PlanAttr::get(q.context(), Mapping::Strided, tile, {down, across}),
          isAlone ? "each element is computed alone" : "rows are added in order, for some columns"};
}

FailureOr<KernelPlan> planning::planGradient(const Question &q, Root root) {
  const bool isOfPositions =
      llvm::any_of(q.def().getBody().front().getOps<transformer::GradientPositionsOp>(),
                   [](transformer::GradientPositionsOp op) { return !op.getDocuments(); });
  if (!q.isCpu())
    return root == Root::GradientProduct ? planGpuProduct(q)
                                         : planGpuGradient(q, root, isOfPositions);
  if (root == Root::GradientProduct)
    return planGradientProduct(q);
  if (root == Root::GradientNorm)
    return KernelPlan{PlanAttr::get(q.context(), Mapping::CpuTiles, {1, 16}),
                      "one order of all squares"};
  if (root == Root::GradientJoin || root == Root::Update)
    return KernelPlan{PlanAttr::get(q.context(), Mapping::CpuTiles, {64, 64}),
                      "each element is computed alone"};
  kernel::ViewType result = q.views.viewType(q.views.firstResult());
  const int64_t stored = padded(result.getDims().back().extent.value);
  const int64_t rows = root == Root::Transpose ? 16 : isOfPositions ? 8 : 1;
  return KernelPlan{PlanAttr::get(q.context(), Mapping::CpuTiles,
                                  {rows, firstDividing(q.sizes.copyColumns, stored)}),
                    "rows are added in order, for some columns"};
}
