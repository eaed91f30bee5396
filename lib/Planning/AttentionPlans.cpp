//===- AttentionPlans.cpp - Plans of attention ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of attention:
//
//   CPU   a tile of rows has a strip of scores; with one query, the heads that share keys are
//         the rows of a tile
//   GPU   matrix units compute both products if they can; otherwise
//         one query                     chunks of keys in parallel
//         small heads, simple masks     one row for each invocation
//         else                          blocks of rows and columns

#include "Plans.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/IR/WithoutMatrices.h"
#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::planning;
using namespace heddle::transformer;
using kernel::Mapping;
using kernel::PlanAttr;

//===- Masks -------------------------------------------------------------===//

/// Whether a mask is equal for all heads and depends on a query only by its index.
static bool isOfAllHeads(Value mask) {
  if (!mask)
    return true;
  Operation *op = mask.getDefiningOp();
  if (isa<MaskAndOp, MaskOrOp, MaskNotOp>(op))
    return llvm::all_of(op->getOperands(), isOfAllHeads);
  return isa<MaskCausalOp, MaskWindowOp, MaskLengthsOp, MaskPrefixOp>(op);
}

/// Whether a mask is a conjunction of packed documents and of masks that `isOfAllHeads` accepts.
static bool isOfBands(Value mask) {
  if (!mask)
    return true;
  Operation *op = mask.getDefiningOp();
  if (isa<MaskAndOp>(op))
    return llvm::all_of(op->getOperands(), isOfBands);
  auto documents = dyn_cast<MaskDocumentsOp>(op);
  return documents ? documents.getStarts() : isOfAllHeads(mask);
}

//===- The attention of a definition -------------------------------------===//

namespace {
struct AttentionQuestion : Question {
  AttentionQuestion(const Question &q, AttentionOp op) : Question(q), attention(op) {}

  AttentionOp op() const { return attention; }
  bool hasOneQuery() const { return op().getQuery().getType().getDimSize(2) == 1; }
  int64_t valueColumns() const { return padded(views.featuresOf(op().getValue())); }
  /// Maximum of the features of a query and of a value.
  int64_t features() const {
    return std::max(views.featuresOf(op().getQuery()), views.featuresOf(op().getValue()));
  }
  /// Products of a tile of `rows` queries and one chunk of keys.
  Products products(int64_t rows) const {
    const NumberFormat *format = views.productOf(op().getQuery(), op().getKey());
    return {format,
            rows,
            sizes.chunk,
            valueColumns(),
            sumsOfRow(*format, sizes.chunk),
            sizes.chunk % 32 == 0 && valueColumns() % 32 == 0};
  }

private:
  AttentionOp attention;
};
} // namespace

/// Number of query heads that share a key head, if they can be the rows of one tile; else 0.
static int64_t sharingHeads(const AttentionQuestion &q) {
  AttentionOp op = q.op();
  auto isOutput = [&](Value yielded) { // one row of each head, even if heads are merged
    return yielded == op.getOutput() || yielded.getDefiningOp<MergeHeadsOp>();
  };
  ArrayRef<int64_t> query = op.getQuery().getType().getShape(),
                    key = op.getKey().getType().getShape();
  if (!q.hasOneQuery() || query[1] == key[1] || op.getSinks() || op.getDropoutKey() ||
      op.getRules().bias || !isOfAllHeads(op.getMask()) ||
      !llvm::all_of(yieldedValues(q.def()), isOutput))
    return 0;
  return query[1] / key[1];
}

//===- CPU ---------------------------------------------------------------===//

/// Largest number of rows whose values fit the tile's limit.
static int64_t cpuRows(const AttentionQuestion &q, int64_t sharing) {
  const int64_t columns = padded(q.op().getValue().getType().getShape().back());
  auto fits = [&](int64_t rows) { return columns <= q.sizes.mostValues / rows; };
  if (sharing && sharing <= q.sizes.attentionRows.front() && fits(sharing))
    return sharing;
  if (q.hasOneQuery())
    return 1; // one register tile of the row
  const auto found = llvm::find_if(q.sizes.attentionRows, fits);
  return found == q.sizes.attentionRows.end() ? q.sizes.attentionRows.back() : *found;
}

static KernelPlan planCpuAttention(const AttentionQuestion &q) {
  const int64_t sharing = sharingHeads(q), rows = cpuRows(q, sharing);
  return {PlanAttr::get(q.context(), Mapping::CpuStrips, {rows, q.sizes.chunk}, {}, 0, 0, sharing),
          sharing ? "the heads of one query that share keys are rows, so that keys are read once"
                  : "the scores of a chunk of keys are a strip on the stack"};
}

//===- GPU without matrix units ------------------------------------------===//

/// Queries in a tile if each invocation takes one query.
static constexpr int64_t ownQueries = 64;

/// Whether an invocation can take a whole query: its output fits the registers, and scores need no
/// loops over elements. Drivers of 2022 spill registers in loops with more features or with f16.
static bool fitsOwnQueries(const AttentionQuestion &q) {
  constexpr int64_t most = 64;
  AttentionOp op = q.op();
  return isOfAllHeads(op.getMask()) && !op.getRules().bias && !op.getHiddenScoreAttr() &&
         q.views.elementOf(op.getKey()) != DType::F16 && q.features() <= most;
}

/// Invocations that share a chunk of keys of one query: four keys each.
static constexpr int64_t acrossChunk = 16;

/// Plan of attention with one query. The level's invocations and workgroup memory, which holds the
/// weights and the sums of values of each chunk, limit the number of concurrent chunks. CPU drivers
/// run level 0, which has at most four because idle invocations cost time there.
static KernelPlan planSplitKeys(const AttentionQuestion &q) {
  const int64_t bytes = sizeof(float) * (q.sizes.chunk + acrossChunk + 4 + q.valueColumns());
  int64_t chunks = q.gpu->level == 0 ? 4 : q.gpu->invocations / acrossChunk;
  while (chunks > 1 && chunks * bytes > q.gpu->sharedBytes)
    chunks /= 2;
  return {PlanAttr::get(q.context(), Mapping::SplitKeys, {1, q.sizes.chunk}, {chunks, acrossChunk}),
          "one query has too few rows for a workgroup, so its keys are split among invocations"};
}

/// Plan with four by four scores of an invocation, which leaves registers for more than the scores.
static KernelPlan planQuads(const Question &q, const char *reason) {
  constexpr int64_t quad = 4;
  const std::array<int64_t, 2> tile{q.sizes.attentionRows.back(), q.sizes.chunk};
  return {PlanAttr::get(q.context(), Mapping::Blocked, tile, {tile[0] / quad, tile[1] / quad}),
          reason};
}

static KernelPlan planGpuAttention(const AttentionQuestion &q) {
  if (q.op().getDropoutKey())
    return planQuads(q, "registers hold the scores of a chunk and the random words of dropout");
  if (q.hasOneQuery() && !packedDocumentsOf(q.op().getMask()))
    return planSplitKeys(q);
  const int64_t rows = *llvm::find_if(
      q.sizes.attentionRows, [&](int64_t rows) { return rows != ownQueries || fitsOwnQueries(q); });
  if (rows == ownQueries)
    return {PlanAttr::get(q.context(), Mapping::OwnRows, {rows, q.sizes.chunk}, {rows, 1}),
            "a query's output fits the registers of one invocation, which then exchanges nothing"};
  return planBlocked(q, q.products(rows), {rows, q.sizes.chunk});
}

//===- GPU with matrix units ---------------------------------------------===//

/// Whether matrix units can compute both products. They do not if the kernel yields statistics of
/// rows: the kernel that reads these computes the scores again without matrix units.
static bool usesMatrices(const AttentionQuestion &q) {
  constexpr std::array<int64_t, 3> features{32, 64, 128};
  AttentionOp op = q.op();
  bool yieldsStatistics = false;
  q.def().getBody().walk([&](AttentionStatisticsOp) { yieldsStatistics = true; });
  if (!q.gpu->matrixTiles || yieldsStatistics || op.getDropoutKey() || op.getRules().bias ||
      op.getHiddenScoreAttr() || op->hasAttr(withoutMatrices) || !isOfBands(op.getMask()))
    return false;
  const DType rows = q.views.elementOf(op.getQuery()),
              sides = rows == DType::F32 ? DType::F16 : rows;
  if (!llvm::is_contained({DType::F32, DType::BF16}, rows) || !q.gpu->matrixOf(rows, sides))
    return false;
  return llvm::all_of(ValueRange{op.getKey(), op.getValue()}, [&](Value side) {
    return q.views.elementOf(side) == sides &&
           llvm::is_contained(features, q.views.featuresOf(side));
  });
}

/// Plan of attention on matrix units. Workgroup memory of 32 KiB holds a chunk of 64 keys and the
/// scores of 64 rows, or of 32 rows if heads have more than 64 features. A subgroup computes one
/// matrix of rows, with two invocations for each row.
static KernelPlan planMatrixAttention(const AttentionQuestion &q) {
  const int64_t matrix = q.sizes.attentionRows.back(), widest = q.sizes.attentionRows.front(),
                rows = q.hasOneQuery()     ? matrix
                       : q.features() > 64 ? std::min<int64_t>(32, widest)
                                           : widest;
  return {PlanAttr::get(q.context(), Mapping::MatrixAttention, {rows, q.sizes.chunk},
                        {rows / matrix * q.gpu->subgroup / 2, 2}, 0, 0, sharingHeads(q)),
          "the level has matrix units for both products"};
}

FailureOr<KernelPlan> planning::planAttention(const Question &question) {
  AttentionOp op;
  question.def().getBody().walk([&](AttentionOp found) { op = found; });
  if (!op)
    return question.def().emitOpError("expected an attention");
  AttentionQuestion q(question, op);
  if (q.isCpu())
    return planCpuAttention(q);
  if (!usesMatrices(q))
    return planGpuAttention(q);
  return planMatrixAttention({{q.views, q.gpu, *q.gpu->matrixTiles}, op});
}

//===- Returned weights --------------------------------------------------===//

KernelPlan planning::planWeights(const Question &q) {
  constexpr int64_t columns = 16; // tiles never reach beyond a row's padding
  const int64_t rows = q.sizes.weightsRows;
  if (q.isCpu())
    return {PlanAttr::get(q.context(), Mapping::CpuTiles, {rows, columns}),
            "scores are computed again and stored tile by tile"};
  AttentionWeightsOp op;
  q.def().walk([&](AttentionWeightsOp found) { op = found; });
  const NumberFormat *format = q.views.productOf(op.getQuery(), op.getKey());
  return planBlocked(q, {format, rows, columns, 0, sumsOfRow(*format, columns), false},
                     {rows, columns});
}

//===- Gradients ---------------------------------------------------------===//

FailureOr<KernelPlan> planning::planAttentionGradient(const Question &q) {
  auto ops = q.def().getBody().front().getOps<ScoresOpInterface>();
  if (ops.empty())
    return q.def().emitOpError("expected a gradient of attention");
  if (!q.isCpu())
    return planQuads(q, "registers hold the scores of a chunk and their gradients");
  ScoresOpInterface op = *ops.begin();
  int64_t columns = 0; // of the sums in a tile
  for (Value result : op->getResults())
    if (auto type = cast<RankedTensorType>(result.getType()); type.getRank() == 4)
      columns += padded(type.getShape().back());
  auto fits = [&](int64_t rows) { return columns <= q.sizes.mostValues / rows; };
  const auto found = llvm::find_if(q.sizes.attentionRows, fits);
  const int64_t rows = found == q.sizes.attentionRows.end() ? q.sizes.attentionRows.back() : *found;
  return KernelPlan{
      PlanAttr::get(q.context(), Mapping::CpuStrips, {rows, q.sizes.chunk}, {}, 0, 0, 0),
      "the scores and their gradients of a chunk are strips on the stack"};
}
