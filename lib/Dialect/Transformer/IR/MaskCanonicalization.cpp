//===- MaskCanonicalization.cpp - Canonicalization of masks ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical forms of masks: constant masks are dropped, bands are merged, nots
// are moved to masks that become bands, and tables that equal bands become
// bands. A band gives kernels loop bounds in closed form; a table does not.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle::transformer;

//===- All or nothing ----------------------------------------------------===//

std::optional<bool> heddle::transformer::constantTruth(Value mask) {
  if (auto inner = mask.getDefiningOp<MaskNotOp>()) {
    std::optional<bool> truth = constantTruth(inner.getMask());
    return truth ? std::optional(!*truth) : std::nullopt;
  }
  DenseElementsAttr table;
  if (auto dense = mask.getDefiningOp<MaskDenseOp>())
    if (matchPattern(dense.getTable(), m_Constant(&table)) && table.isSplat())
      return table.getSplatValue<bool>();
  APInt yielded;
  if (auto where = mask.getDefiningOp<MaskWhereOp>())
    if (matchPattern(where.getBody().front().getTerminator()->getOperand(0),
                     m_ConstantInt(&yielded)))
      return yielded.isOne();
  return std::nullopt;
}

/// Whether every attention that uses the mask is known to have these sizes. A size of 1 fits all.
static bool isUsedWithSizes(Value mask, int64_t batch, int64_t queries, int64_t keys) {
  llvm::SetVector<Value> open;
  open.insert(mask);
  for (size_t n = 0; n < open.size(); ++n)
    for (Operation *user : open[n].getUsers()) {
      if (user->getNumResults() == 1 && isa<MaskType>(user->getResult(0).getType())) {
        open.insert(user->getResult(0));
        continue;
      }
      auto is = [&](int64_t size, unsigned operand, unsigned dim) {
        auto heads = cast<RankedTensorType>(user->getOperand(operand).getType());
        return size == 1 || heads.getDimSize(dim) == size;
      };
      if (!is(batch, 0, 0) || !is(queries, 0, 2) || !is(keys, 1, 2))
        return false;
    }
  return true;
}

/// Whether the sizes of a constant table are known to fit every attention that uses the mask. If
/// not, they are checked at run time, and dropping the table would drop the check.
static bool fitsWhereUsed(Value mask) {
  while (auto inner = mask.getDefiningOp<MaskNotOp>())
    mask = inner.getMask();
  auto dense = mask.getDefiningOp<MaskDenseOp>();
  if (!dense)
    return true;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(dense.getTable().getType()).getShape();
  return isUsedWithSizes(mask, shape[0], shape[2], shape[3]);
}

namespace {

/// and(m, true) ──▶ m        and(m, false) ──▶ false
/// or(m, false) ──▶ m        or(m, true)   ──▶ true
/// Packed documents are kept, because sizes and positions count within them under any other mask.
template <typename Op>
struct DropConstant : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr bool neutral = std::is_same_v<Op, MaskAndOp>;
    for (auto [mask, other] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      std::optional<bool> truth = constantTruth(mask);
      if (!truth || !fitsWhereUsed(mask) || (*truth != neutral && packedDocumentsOf(other)))
        continue;
      rewriter.replaceOp(op, *truth == neutral ? other : mask);
      return success();
    }
    return rewriter.notifyMatchFailure(
        op, "expected an operand that allows everything or nothing and checks no size");
  }
};

/// attention mask(true) ──▶ attention
struct DropMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (!op.getMask() || constantTruth(op.getMask()) != true || !fitsWhereUsed(op.getMask()))
      return rewriter.notifyMatchFailure(
          op, "expected a mask that allows everything and checks no size");
    rewriter.modifyOpInPlace(op, [&] {
      op.getMaskMutable().clear();
      op.removeHiddenScoreAttr(); // no pair is hidden any more
    });
    return success();
  }
};

//===- Bands -------------------------------------------------------------===//

/// A window; a causal mask is a window that reaches back to the first key.
struct Window {
  int64_t before, after;
  Value offset;
};

} // namespace

constexpr int64_t everything = std::numeric_limits<int32_t>::max();

/// The mask as a window, if it is one.
static std::optional<Window> windowOf(MaskOpInterface mask) {
  if (auto causal = dyn_cast<MaskCausalOp>(*mask))
    return Window{everything, 0, causal.getOffset()};
  if (auto window = dyn_cast<MaskWindowOp>(*mask))
    return Window{static_cast<int64_t>(window.getBefore()), static_cast<int64_t>(window.getAfter()),
                  window.getOffset()};
  return std::nullopt;
}

/// Creates a window, or `causal` if it reaches back to the first key and ends with the query.
static Value createWindow(PatternRewriter &rewriter, Location loc, const Window &window) {
  if (window.before == everything && window.after == 0)
    return MaskCausalOp::create(rewriter, loc, window.offset);
  return MaskWindowOp::create(rewriter, loc, rewriter.getType<MaskType>(), window.before,
                              window.after, window.offset);
}

/// Merges the first two windows of equal offset among `conjuncts` into one, in place of the first.
static bool mergeWindows(SmallVectorImpl<Value> &conjuncts, Location loc,
                         PatternRewriter &rewriter) {
  for (size_t n = 0; n < conjuncts.size(); ++n)
    for (size_t m = n + 1; m < conjuncts.size(); ++m) {
      std::optional<Window> x = windowOf(maskOf(conjuncts[n])), y = windowOf(maskOf(conjuncts[m]));
      if (!x || !y || x->offset != y->offset)
        continue;
      conjuncts[n] = createWindow(
          rewriter, loc, {std::min(x->before, y->before), std::min(x->after, y->after), x->offset});
      conjuncts.erase(conjuncts.begin() + m);
      return true;
    }
  return false;
}

/// Whether a mask occurs twice in a tree of `and`.
static bool repeats(Value mask) {
  SmallVector<Value> open{mask};
  llvm::SmallDenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      return true;
    if (auto both = next.getDefiningOp<MaskAndOp>())
      open.append({both.getLhs(), both.getRhs()});
  }
  return false;
}

namespace {

/// and(and(causal, m), window) ──▶ and(window, m), if both have the same offset. A repeated mask is
/// kept once.
struct MergeConjuncts : OpRewritePattern<MaskAndOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MaskAndOp op, PatternRewriter &rewriter) const override {
    if (llvm::any_of(op->getUsers(), llvm::IsaPred<MaskAndOp>))
      return rewriter.notifyMatchFailure(op, "expected the root of a conjunction");
    SmallVector<Value> conjuncts;
    for (MaskOpInterface mask : conjunctsOf(op))
      conjuncts.push_back(mask->getResult(0));
    bool merged = mergeWindows(conjuncts, op.getLoc(), rewriter);
    if (!merged && !repeats(op))
      return rewriter.notifyMatchFailure(
          op, "expected two windows of the same offset, or a mask that stands twice");
    Value result = conjuncts.front();
    for (Value next : ArrayRef(conjuncts).drop_front())
      result = MaskAndOp::create(rewriter, op.getLoc(), result, next);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// not(and(not(a), not(b))) ──▶ or(a, b)        not(or(a, b)) ──▶ and(not(a), not(b))
/// The second rewrite applies only if both complements are simple: nots, or bands with one end.
struct MoveNot : OpRewritePattern<MaskNotOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MaskNotOp op, PatternRewriter &rewriter) const override {
    auto both = op.getMask().getDefiningOp<MaskAndOp>();
    auto either = op.getMask().getDefiningOp<MaskOrOp>();
    auto isNot = [](Value mask) { return bool(mask.getDefiningOp<MaskNotOp>()); };
    auto isSimple = [&](Value mask) {
      return isNot(mask) || isa<MaskCausalOp, MaskLengthsOp, MaskPrefixOp>(mask.getDefiningOp());
    };
    auto negated = [&](Value mask) -> Value {
      auto inner = mask.getDefiningOp<MaskNotOp>();
      return inner ? inner.getMask() : Value(MaskNotOp::create(rewriter, op.getLoc(), mask));
    };
    if (both && isNot(both.getLhs()) && isNot(both.getRhs()))
      rewriter.replaceOpWithNewOp<MaskOrOp>(op, negated(both.getLhs()), negated(both.getRhs()));
    else if (either && isSimple(either.getLhs()) && isSimple(either.getRhs()))
      rewriter.replaceOpWithNewOp<MaskAndOp>(op, negated(either.getLhs()),
                                             negated(either.getRhs()));
    else
      return rewriter.notifyMatchFailure(op,
                                         "expected and, or of masks whose complements are simple");
    return success();
  }
};

//===- Tables that are bands ---------------------------------------------===//

/// Bounds of j - i over the true pairs (i, j) of a table; bounds of j if the table has one row.
struct TableBand {
  int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
};

} // namespace

/// The band of a table, if the table is true exactly inside it.
static std::optional<TableBand> bandOfTable(DenseElementsAttr table, int64_t rows,
                                            int64_t columns) {
  TableBand band;
  auto truth = table.getValues<bool>();
  for (int64_t n = 0; n < rows * columns; ++n)
    if (truth[n]) {
      band.low = std::min(band.low, n % columns - n / columns);
      band.high = std::max(band.high, n % columns - n / columns);
    }
  for (int64_t n = 0; n < rows * columns; ++n) {
    int64_t ahead = n % columns - n / columns;
    if (truth[n] != (band.low <= ahead && ahead <= band.high))
      return std::nullopt;
  }
  return band;
}

/// Creates the mask low <= j <= high.
static Value createKeyRange(PatternRewriter &rewriter, Location loc, int64_t low, int64_t high) {
  auto where = MaskWhereOp::create(rewriter, loc, rewriter.getType<MaskType>());
  OpBuilder::InsertionGuard guard(rewriter);
  Block *body =
      rewriter.createBlock(&where.getBody(), {}, SmallVector<Type>(4, rewriter.getI32Type()),
                           SmallVector<Location>(4, loc));
  Value j = body->getArgument(3);
  auto number = [&](int64_t v) -> Value {
    return arith::ConstantIntOp::create(rewriter, loc, v, 32);
  };
  Value behind = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge, j, number(low));
  Value before = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sle, j, number(high));
  YieldOp::create(rewriter, loc, arith::AndIOp::create(rewriter, loc, behind, before));
  return where;
}

/// Creates a mask of low <= j - i <= high, with an explicit offset.
static Value createBand(PatternRewriter &rewriter, Location loc, const TableBand &band,
                        int64_t rows) {
  Value offset = arith::ConstantIntOp::create(rewriter, loc, band.high, 32);
  if (band.low <= 1 - rows) // reaches back to the first key of the last row
    return MaskCausalOp::create(rewriter, loc, offset);
  return MaskWindowOp::create(rewriter, loc, rewriter.getType<MaskType>(), band.high - band.low, 0,
                              offset);
}

namespace {

/// dense(constant) ──▶ causal, window or where(low <= j <= high), if the table equals that band
struct TableToBand : OpRewritePattern<MaskDenseOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MaskDenseOp op, PatternRewriter &rewriter) const override {
    DenseElementsAttr table;
    if (!matchPattern(op.getTable(), m_Constant(&table)) || table.isSplat())
      return rewriter.notifyMatchFailure(op, "expected a constant table of both truths");
    ArrayRef<int64_t> shape = table.getType().getShape();
    int64_t rows = shape[2], columns = shape[3];
    if (shape[0] != 1 || shape[1] != 1 || columns == 1)
      return rewriter.notifyMatchFailure(
          op, "expected a table of one sequence and one head, with keys");
    if (!isUsedWithSizes(op, /*batch=*/1, rows, columns))
      return rewriter.notifyMatchFailure(
          op, "expected attention of as many queries and keys as the table has");
    std::optional<TableBand> band = bandOfTable(table, rows, columns);
    if (!band)
      return rewriter.notifyMatchFailure(op, "expected a band");
    op.emitRemark("the constant table is a band and becomes ")
        << (rows == 1               ? MaskWhereOp::getOperationName()
            : band->low <= 1 - rows ? MaskCausalOp::getOperationName()
                                    : MaskWindowOp::getOperationName());
    rewriter.replaceOp(op, rows == 1 ? createKeyRange(rewriter, op.getLoc(), band->low, band->high)
                                     : createBand(rewriter, op.getLoc(), *band, rows));
    return success();
  }
};

} // namespace

void MaskAndOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropConstant<MaskAndOp>, MergeConjuncts>(context);
}

void MaskOrOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropConstant<MaskOrOp>>(context);
}

void MaskNotOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MoveNot>(context);
}

void MaskDenseOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TableToBand>(context);
}

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropMask>(context);
}
