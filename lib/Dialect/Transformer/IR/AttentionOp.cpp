//===- AttentionOp.cpp - Attention and the masks that it uses -------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of attention, which also checks that the tables of its mask fit,
// the verifiers, folds and names of the mask ops.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle::transformer;

namespace {
/// Sizes of an attention; a size is dynamic where no operand knows it.
struct Sizes {
  int64_t batch, heads, queries, keys, keyHeads, features, valueFeatures;

  explicit Sizes(Value query, Value key, Value value) {
    auto q = cast<RankedTensorType>(query.getType()), k = cast<RankedTensorType>(key.getType()),
         v = cast<RankedTensorType>(value.getType());
    auto known = [](int64_t a, int64_t b) { return ShapedType::isDynamic(a) ? b : a; };
    batch = known(q.getDimSize(0), known(k.getDimSize(0), v.getDimSize(0)));
    heads = q.getDimSize(1);
    queries = q.getDimSize(2);
    keys = known(k.getDimSize(2), v.getDimSize(2));
    keyHeads = k.getDimSize(1);
    features = q.getDimSize(3);
    valueFeatures = v.getDimSize(3);
  }
};
} // namespace

static bool differ(int64_t a, int64_t b) {
  return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query, Value key,
                        Value value, Value mask, float scale, WeightsResult weights, bool lse) {
  Sizes s(query, key, value);
  Type f32 = builder.getF32Type();
  Type output = RankedTensorType::get({s.batch, s.heads, s.queries, s.valueFeatures}, f32);
  Type lseType, weightsType;
  if (lse)
    lseType = RankedTensorType::get({s.batch, s.heads, s.queries}, f32);
  if (weights == WeightsResult::PerHead)
    weightsType = RankedTensorType::get({s.batch, s.heads, s.queries, s.keys}, f32);
  if (weights == WeightsResult::Averaged)
    weightsType = RankedTensorType::get({s.batch, s.queries, s.keys}, f32);
  build(builder, state, output, lseType, weightsType, query, key, value, mask,
        builder.getF32FloatAttr(scale),
        weights == WeightsResult::Averaged ? builder.getUnitAttr() : UnitAttr());
}

//===----------------------------------------------------------------------===//
// Verifying
//===----------------------------------------------------------------------===//

/// C1 to C5: query, key and value fit each other.
static LogicalResult verifyOperands(AttentionOp op, const Sizes &s) {
  auto size = [](Value v, int64_t i) { return cast<RankedTensorType>(v.getType()).getDimSize(i); };
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  for (auto [name, other] : {std::pair("key", key), std::pair("value", value)})
    if (differ(size(other, 0), size(query, 0)))
      return op.emitOpError("C1: batch of ")
             << name << " " << size(other, 0) << " must equal batch of query " << size(query, 0);
  if (differ(size(key, 0), size(value, 0)))
    return op.emitOpError("C1: batch of value ")
           << size(value, 0) << " must equal batch of key " << size(key, 0);
  if (size(key, 3) != s.features)
    return op.emitOpError("C2: features of key ")
           << size(key, 3) << " must equal features of query " << s.features;
  if (s.keyHeads == 0 || s.heads % s.keyHeads != 0)
    return op.emitOpError("C3: key heads ") << s.keyHeads << " must divide query heads " << s.heads;
  if (size(value, 1) != s.keyHeads)
    return op.emitOpError("C4: value heads ")
           << size(value, 1) << " must equal key heads " << s.keyHeads;
  if (differ(size(value, 2), size(key, 2)))
    return op.emitOpError("C5: rows of value ")
           << size(value, 2) << " must equal rows of key " << size(key, 2);
  return success();
}

/// One result against the shape that it must have; heads and features must be written.
static LogicalResult verifyResult(AttentionOp op, StringRef constraint, Value result,
                                  ArrayRef<int64_t> expected, ArrayRef<StringRef> names) {
  auto type = cast<RankedTensorType>(result.getType());
  if (type.getRank() != static_cast<int64_t>(expected.size()))
    return op.emitOpError(constraint)
           << " must have rank " << expected.size() << ", found " << type;
  for (auto [i, size] : llvm::enumerate(expected)) {
    bool fixed = names[i] == "heads" || names[i] == "features";
    if (differ(type.getDimSize(i), size) || (fixed && type.getDimSize(i) != size))
      return op.emitOpError(constraint) << " must have " << size << " " << names[i]
                                        << " in dimension " << i << ", found " << type;
  }
  return success();
}

/// C8 and C9.
static LogicalResult verifyWeights(AttentionOp op, const Sizes &s) {
  if (!op.getWeights() && op.getAverageWeights())
    return op.emitOpError("C9: average_weights needs the result weights");
  if (!op.getWeights())
    return success();
  if (op.getAverageWeights())
    return verifyResult(op, "C8: averaged weights", op.getWeights(), {s.batch, s.queries, s.keys},
                        {"sentences", "queries", "keys"});
  return verifyResult(op, "C8: weights", op.getWeights(), {s.batch, s.heads, s.queries, s.keys},
                      {"sentences", "heads", "queries", "keys"});
}

/// C6 to C9.
static LogicalResult verifyResults(AttentionOp op, const Sizes &s) {
  LogicalResult output =
      verifyResult(op, "C6: output", op.getOutput(), {s.batch, s.heads, s.queries, s.valueFeatures},
                   {"sentences", "heads", "queries", "features"});
  if (failed(output) || !op.getLse())
    return failed(output) ? output : verifyWeights(op, s);
  LogicalResult lse = verifyResult(op, "C7: lse", op.getLse(), {s.batch, s.heads, s.queries},
                                   {"sentences", "heads", "queries"});
  return failed(lse) ? lse : verifyWeights(op, s);
}

/// A table of `mask.dense`: each dimension is 1 or the attention's.
static LogicalResult verifyTable(AttentionOp op, MaskDenseOp mask, const Sizes &s) {
  auto type = cast<RankedTensorType>(mask.getTable().getType());
  if (type.getRank() != 4) // the mask's own verifier says so
    return success();
  static constexpr StringLiteral names[] = {"batch", "heads", "queries", "keys"};
  int64_t expected[] = {s.batch, s.heads, s.queries, s.keys};
  for (int64_t i = 0; i < 4; ++i)
    if (type.getDimSize(i) != 1 && differ(type.getDimSize(i), expected[i]))
      return op.emitOpError("C10: dimension ")
             << i << " of the dense mask (" << names[i] << ") must be 1 or " << expected[i]
             << ", found " << type.getDimSize(i);
  return success();
}

/// C10: every op that the mask is made of stands in this block and fits.
static LogicalResult verifyMask(AttentionOp op, const Sizes &s) {
  SmallVector<Value> open = {op.getMask()};
  llvm::SmallPtrSet<Value, 8> seen;
  auto sentences = [&](Value table) -> LogicalResult {
    auto type = table ? dyn_cast<RankedTensorType>(table.getType()) : RankedTensorType();
    if (!type || !differ(type.getDimSize(0), s.batch))
      return success();
    return op.emitOpError("C10: the mask has numbers for ")
           << type.getDimSize(0) << " sentences, the batch is " << s.batch;
  };
  while (!open.empty()) {
    Value mask = open.pop_back_val();
    if (!seen.insert(mask).second)
      continue;
    Operation *def = mask.getDefiningOp();
    if (!isa_and_nonnull<MaskOpInterface>(def) || def->getBlock() != op->getBlock())
      return op.emitOpError("C10: the mask must be made by mask ops of the same block");
    LogicalResult fits = success();
    if (auto causal = dyn_cast<MaskCausalOp>(def))
      fits = sentences(causal.getOffset());
    else if (auto lengths = dyn_cast<MaskLengthsOp>(def))
      fits = sentences(lengths.getLengths());
    else if (auto dense = dyn_cast<MaskDenseOp>(def))
      fits = verifyTable(op, dense, s);
    if (failed(fits))
      return fits;
    for (Value operand : def->getOperands())
      if (isa<MaskType>(operand.getType()))
        open.push_back(operand);
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  Sizes s(getQuery(), getKey(), getValue());
  if (!getScale().isFinite())
    return emitOpError("C11: scale must be finite, found ") << getScaleAttr();
  return success(succeeded(verifyOperands(*this, s)) && succeeded(verifyResults(*this, s)) &&
                 (!getMask() || succeeded(verifyMask(*this, s))));
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

LogicalResult heddle::transformer::detail::verifyStaysInBlock(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<MaskType>(operand.getType()) &&
        !isa_and_nonnull<MaskOpInterface>(operand.getDefiningOp()))
      return op->emitOpError("C1: a mask must be made by a mask op of the same block");
  for (Operation *user : op->getResult(0).getUsers()) {
    if (!isa<MaskOpInterface, AttentionOp, AttentionStatisticsOp, AttentionWeightsOp>(user))
      return op->emitOpError("C1: a mask is used by masks and attention only, found '")
             << user->getName() << "'";
    if (user->getBlock() != op->getBlock())
      return op->emitOpError("C1: a mask is used in its own block only");
  }
  return success();
}

LogicalResult MaskDenseOp::verify() {
  if (int64_t rank = cast<RankedTensorType>(getTable().getType()).getRank(); rank != 4)
    return emitOpError(
               "C2: table must have rank 4 [batch|1, heads|1, queries|1, keys|1], found rank ")
           << rank;
  return success();
}

OpFoldResult MaskAndOp::fold(FoldAdaptor) { return getLhs() == getRhs() ? getLhs() : Value(); }

OpFoldResult MaskNotOp::fold(FoldAdaptor) {
  auto inner = getMask().getDefiningOp<MaskNotOp>();
  return inner ? inner.getMask() : Value();
}

void MaskCausalOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "causal");
}
void MaskLengthsOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "real"); }
void MaskDenseOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "dense"); }
void MaskAndOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "both"); }
void MaskNotOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "not"); }
