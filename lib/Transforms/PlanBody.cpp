//===- PlanBody.cpp - Plans of tiled bodies -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan of a body follows from its products, reductions and tiles, whichever
// op of the model it computes.
//
//   CPU   products with weights prefetch, long ones go by blocks of features; loops over
//         keys are outside of the rows
//   GPU   a workgroup of at most 64 invocations shares a tile, 128 where sums are many, up to 256 where
//         they stage their operands; for few rows 128 stage weights, most of them for the few that multiply

#include "Tiling.h"

using namespace mlir;
using namespace heddle;
using kernel::ContractOp;
using kernel::Mapping;
using kernel::PlanAttr;

namespace {
/// Properties of a body on which its plan depends.
struct BodyFacts {
  int64_t rows = 1, columns = 1; ///< of the largest tiles
  ContractOp features, overRows; ///< the first product over features, and over rows
  bool wide = true;              ///< products have multiples of 32 columns
  bool reduces = false;          ///< some op reduces rows
  bool panels = false;           ///< some op stores to panels, four rows at once
  int64_t most = 0;              ///< columns of a product over features
  int64_t sums = 0;              ///< that products over features hold at once, for a row of a tile

  /// Whether a row of a tile holds the sums of more than one product.
  bool sumsSeveral();
};
} // namespace

/// Sums for a row of a product with so many columns: codes have those of a block of features beside those of
/// all.
static int64_t sumsOfRow(ContractOp product, int64_t columns) {
  return formatOf(product.getFormat().weights).isCode() ? 2 * columns : columns;
}

bool BodyFacts::sumsSeveral() { return sums > sumsOfRow(features, most); }

static BodyFacts factsOf(kernel::FuncOp body) {
  BodyFacts facts;
  llvm::DenseMap<Block *, int64_t> sums; // what follows the products needs all of a block
  body.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type)) {
        facts.rows = std::max(facts.rows, tile.getDimSize(0));
        facts.columns = std::max(facts.columns, tile.getDimSize(1));
      }
    facts.reduces |= isa<kernel::ReduceOp>(op);
    if (auto store = dyn_cast<kernel::StoreOp>(op))
      facts.panels |= cast<kernel::ViewType>(store.getView().getType()).getPanel() != 0;
    if (auto product = dyn_cast<ContractOp>(op)) {
      facts.wide &= product.getType().getDimSize(1) % 32 == 0;
      ContractOp &first = product.getRows() ? facts.overRows : facts.features;
      if (!first)
        first = product;
      if (!product.getRows()) {
        const int64_t columns = product.getType().getDimSize(1);
        facts.most = std::max(facts.most, columns);
        facts.sums = std::max(facts.sums, sums[product->getBlock()] += sumsOfRow(product, columns));
      }
    }
  });
  return facts;
}

//===- CPU ---------------------------------------------------------------===//

/// Features of a k-block, 0 for all at once. A tile of columns of the weight and one of rows of the
/// input then stay in a cache of 1 MiB. Blocks are multiples of the format's sumBlock.
static int64_t featureBlock(ContractOp product) {
  const NumberFormat &format = product.getFormat();
  int64_t features =
      cast<kernel::ViewType>(product.getLhs().getType()).getDims().back().extent.value;
  int64_t perFloat = formatOf(format.rows).isCode() ? 4 : 1, most = 512 * perFloat,
          whole = 1024 * perFloat;
  if (features <= whole)
    return 0;
  int64_t blocks = llvm::divideCeil(features, most);
  return llvm::alignTo(llvm::divideCeil(features, blocks), format.sumBlock);
}

static PlanAttr cpuPlan(kernel::FuncOp body, BodyFacts facts) {
  const Mapping mapping = facts.overRows ? Mapping::CpuStrips : Mapping::CpuTiles;
  if (facts.features && facts.features.readsWeights())
    return PlanAttr::get(body.getContext(), mapping, ArrayRef<int64_t>(),
                         featureBlock(facts.features), 1);
  return PlanAttr::get(body.getContext(), mapping);
}

//===- GPU ---------------------------------------------------------------===//

/// Invocations that share a chunk of keys of one query: four keys each.
static constexpr int64_t acrossChunk = 16;

/// Plan of attention with one query: as many chunks of keys at once as the level has invocations for, if their
/// weights and sums of values fit the workgroup's memory. Processors run level 0, where invocations without a
/// chunk cost time.
static PlanAttr planSplitKeys(kernel::FuncOp body, BodyFacts &facts, const GpuTarget &gpu) {
  const int64_t bytes = sizeof(float) * (facts.features.getType().getDimSize(1) + acrossChunk + 4 +
                                         facts.overRows.getType().getDimSize(1));
  int64_t chunks = gpu.level == 0 ? 4 : gpu.invocations / acrossChunk;
  while (chunks > 1 && chunks * bytes > gpu.sharedBytes)
    chunks /= 2;
  return PlanAttr::get(body.getContext(), Mapping::SplitKeys, {chunks, acrossChunk});
}

/// Plan of a product with few rows. It is bound by loading weights, so as many loads are in flight as registers
/// hold.
static PlanAttr planFewRows(kernel::FuncOp body, BodyFacts &facts, const TileSizes &sizes) {
  // Two blocks of 2 KiB of weights and 1 KiB of rows. Matrices take 4 and 2 KiB, and twice as much where columns,
  // thus workgroups, are few, unless the sums of a second product take the registers. Only rows that are stored as
  // they are multiplied leave registers for a second block; codes, which are a fraction of the bytes, gain nothing
  // by it.
  int64_t ahead = 2, block = 32;
  if (sizes.multipliesMatrices) {
    const int64_t columns =
        cast<kernel::ViewType>(facts.features.getRhs().getType()).getDims().front().extent.value;
    const bool isLong = columns <= fewColumns && !facts.sumsSeveral();
    const NumberFormat &format = facts.features.getFormat();
    if (formatOf(format.rows).isCode() || format.rows != format.weights)
      ahead = 1;
    block = isLong ? 128 : 64;
  }
  constexpr int64_t across = 16;
  const Mapping mapping = sizes.multipliesMatrices ? Mapping::MatrixFewRows : Mapping::FewRows;
  return PlanAttr::get(body.getContext(), mapping, {facts.rows, across}, block, ahead);
}

/// Words of a block of a narrow tile for matrices: four steps of them. Its workgroups are few, and each waits
/// for a block's loads: of whole cache lines there are more under way. Not of rows that are rounded as they
/// are staged, of groups or of two products at once, which have no registers or memory for that.
static int64_t blockOfMatrices(BodyFacts &facts, const GpuTarget &gpu, const TileSizes &sizes) {
  const NumberFormat &format = facts.features.getFormat();
  const MatrixShape *shape = gpu.matrixOf(format.rows, format.weights);
  if (!shape || format.rows != format.weights || facts.sumsSeveral())
    return sizes.stagedSteps;
  return std::max(sizes.stagedSteps, 4 * shape->k / formatOf(shape->operands).perWord);
}

/// Plan of a product with many rows whose operands are staged. An invocation has 8 x 8 sums. A narrow tile has fewer
/// invocations for nearly as much workgroup memory, so that fewer of them fit a processor: blocks are half
/// as long, of which two are under way where they are loaded early. With matrices an invocation has 4 x 8
/// sums instead, and a tile twice the invocations.
static PlanAttr planStaged(kernel::FuncOp body, BodyFacts &facts, const GpuTarget &gpu,
                           const TileSizes &sizes) {
  const bool isNarrow = facts.most <= narrowColumns,
             isShort = isNarrow && !sizes.multipliesMatrices,
             isCode = formatOf(facts.features.getFormat().weights).isCode();
  const int64_t ahead = isShort && !isCode ? 2 : 1,
                block = isShort    ? sizes.stagedSteps / 2
                        : isNarrow ? blockOfMatrices(facts, gpu, sizes)
                                   : sizes.stagedSteps,
                rows = isNarrow && sizes.multipliesMatrices ? 4 : 8,
                across = std::max<int64_t>(facts.most / 8, 4);
  const Mapping mapping = sizes.multipliesMatrices ? Mapping::Matrix : Mapping::Staged;
  return PlanAttr::get(body.getContext(), mapping, {facts.rows / rows, across}, block, ahead);
}

/// Plan of attention through matrix units: a subgroup has one matrix of rows, two invocations a row.
static PlanAttr planMatrixAttention(kernel::FuncOp body, BodyFacts &facts, const GpuTarget &gpu,
                                    const TileSizes &sizes) {
  const int64_t subgroups = facts.rows / sizes.attentionRows.back();
  return PlanAttr::get(body.getContext(), Mapping::MatrixAttention,
                       {subgroups * gpu.subgroup / 2, 2});
}

/// Plan of a body without a product. Four invocations share a row; if rows are reduced, each row has its own
/// four, which hold the sixteen lanes of a sum, or several fours that load for it.
static PlanAttr planStrided(kernel::FuncOp body, BodyFacts &facts, const TileSizes &sizes) {
  int64_t down = facts.reduces  ? facts.rows
                 : facts.panels ? facts.rows <= 32 && facts.columns < 128 ? 4 : 8
                                : 16,
          across = 4;
  if (facts.reduces && facts.rows <= rowsOfQuads(sizes, sizes.normRows, facts.columns))
    across = quadInvocations * quadsOfRow(sizes, facts.columns);
  return PlanAttr::get(body.getContext(), Mapping::Strided, {std::min(facts.rows, down), across});
}

/// Plan of a product whose invocations load their operands. Registers hold 8 x 16 sums of an invocation.
static PlanAttr planBlocked(kernel::FuncOp body, BodyFacts &facts) {
  const int64_t columns = facts.features ? facts.features.getType().getDimSize(1) : facts.columns,
                values = facts.overRows ? facts.overRows.getType().getDimSize(1) : 0,
                down = facts.rows <= 32 && std::max(columns, values) < 128 ? 4 : 8,
                across = facts.sums > 128 ? 16
                         : facts.wide     ? 8
                                          : 4;
  return PlanAttr::get(body.getContext(), Mapping::Blocked, {std::min(facts.rows, down), across});
}

static PlanAttr gpuPlan(kernel::FuncOp body, BodyFacts facts, const GpuTarget &gpu,
                        const TileSizes &sizes) {
  if (!facts.features && !facts.overRows)
    return planStrided(body, facts, sizes);
  if (facts.overRows && sizes.multipliesMatrices)
    return planMatrixAttention(body, facts, gpu, sizes);
  if (facts.overRows && facts.rows == 1)
    return planSplitKeys(body, facts, gpu);
  if (facts.overRows && facts.rows == ownQueries)
    return PlanAttr::get(body.getContext(), Mapping::OwnRows, {facts.rows, 1});
  if (!facts.overRows && facts.rows == sizes.fewRows)
    return planFewRows(body, facts, sizes);
  if (!facts.overRows && sizes.stagedSteps && facts.rows == sizes.linearRows)
    return planStaged(body, facts, gpu, sizes);
  return planBlocked(body, facts);
}

PlanAttr heddle::planBody(kernel::FuncOp body, const GpuTarget *gpu, const TileSizes &sizes) {
  BodyFacts facts = factsOf(body);
  return gpu ? gpuPlan(body, facts, *gpu, sizes) : cpuPlan(body, facts);
}
