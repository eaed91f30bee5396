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

FailureOr<KernelPlan> planning::planGradient(const Question &q, Root root) {
  if (!q.isCpu())
    return q.def().emitOpError("expected a CPU as the target of training, found a GPU, which is "
                               "not supported yet");
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
  const bool isOfPositions =
      llvm::any_of(q.def().getBody().front(), llvm::IsaPred<transformer::GradientPositionsOp>);
  const int64_t rows = root == Root::Transpose ? 16 : isOfPositions ? 8 : 1;
  return KernelPlan{PlanAttr::get(q.context(), Mapping::CpuTiles,
                                  {rows, firstDividing(q.sizes.copyColumns, stored)}),
                    "rows are added in order, for some columns"};
}
