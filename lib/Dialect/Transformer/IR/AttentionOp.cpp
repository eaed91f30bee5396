//===- AttentionOp.cpp - Attention ----------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builder and verifier of attention. Constraints of its mask and score rules
// are in AttentionRules.cpp.

#include "AttentionRules.h"
#include "ShapeChecks.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using heddle::transformer::detail::differ;

namespace {
/// Sizes of an attention; dynamic if no operand has a static size.
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

//===- Building ----------------------------------------------------------===//

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query, Value key,
                        Value value, Value mask, float scale, WeightsResult weights, bool lse,
                        ScoreRules rules, Value valueScales) {
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
  build(builder, state, output, lseType, weightsType, query, key, value, mask, rules.bias,
        rules.sinks, rules.keyCounts, rules.keyScales, valueScales, /*dropout_key=*/Value(),
        /*examples=*/Value(), /*site=*/Value(), builder.getF32FloatAttr(scale), rules.softcap,
        rules.hiddenScore, /*dropout=*/FloatAttr(),
        weights == WeightsResult::Averaged ? builder.getUnitAttr() : UnitAttr(),
        /*kept=*/UnitAttr());
}

//===- Verifying ---------------------------------------------------------===//

/// C1 to C5: query, key and value have matching shapes.
static LogicalResult verifyOperands(AttentionOp op, const Sizes &s) {
  auto size = [](Value v, int64_t i) { return cast<RankedTensorType>(v.getType()).getDimSize(i); };
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  for (auto [name, other] : {std::pair("key", key), std::pair("value", value)})
    if (differ(size(other, 0), size(query, 0)))
      return op.emitOpError("C1: expected batch of ")
             << name << " equal to batch of query " << size(query, 0) << ", found "
             << size(other, 0);
  if (differ(size(key, 0), size(value, 0)))
    return op.emitOpError("C1: expected batch of value equal to batch of key ")
           << size(key, 0) << ", found " << size(value, 0);
  if (size(key, 3) != s.features)
    return op.emitOpError("C2: expected features of key equal to features of query ")
           << s.features << ", found " << size(key, 3);
  if (s.keyHeads == 0 || s.heads % s.keyHeads != 0)
    return op.emitOpError("C3: expected key heads that divide query heads ")
           << s.heads << ", found " << s.keyHeads;
  if (size(value, 1) != s.keyHeads)
    return op.emitOpError("C4: expected value heads equal to key heads ")
           << s.keyHeads << ", found " << size(value, 1);
  if (differ(size(value, 2), size(key, 2)))
    return op.emitOpError("C5: expected rows of value equal to rows of key ")
           << size(key, 2) << ", found " << size(value, 2);
  return success();
}

/// Checks the shape of a result, whose heads and features must be static.
static LogicalResult verifyResult(AttentionOp op, StringRef constraint, Value result,
                                  ArrayRef<int64_t> expected, ArrayRef<StringRef> names) {
  auto type = cast<RankedTensorType>(result.getType());
  if (type.getRank() != static_cast<int64_t>(expected.size()))
    return op.emitOpError(constraint) << " of rank " << expected.size() << ", found " << type;
  for (auto [i, size] : llvm::enumerate(expected)) {
    bool fixed = names[i] == "heads" || names[i] == "features";
    if (differ(type.getDimSize(i), size) || (fixed && type.getDimSize(i) != size))
      return op.emitOpError(constraint)
             << " with " << size << " " << names[i] << " in dimension " << i << ", found " << type;
  }
  return success();
}

/// C8 and C9: the weights.
static LogicalResult verifyWeights(AttentionOp op, const Sizes &s) {
  if (!op.getWeights() && op.getAverageWeights())
    return op.emitOpError("C9: expected the result weights with average_weights, found none");
  if (!op.getWeights())
    return success();
  if (op.getAverageWeights())
    return verifyResult(op, "C8: expected averaged weights", op.getWeights(),
                        {s.batch, s.queries, s.keys}, {"sequences", "queries", "keys"});
  return verifyResult(op, "C8: expected weights", op.getWeights(),
                      {s.batch, s.heads, s.queries, s.keys},
                      {"sequences", "heads", "queries", "keys"});
}

/// C6 to C9: all results.
static LogicalResult verifyResults(AttentionOp op, const Sizes &s) {
  LogicalResult output = verifyResult(op, "C6: expected output", op.getOutput(),
                                      {s.batch, s.heads, s.queries, s.valueFeatures},
                                      {"sequences", "heads", "queries", "features"});
  if (failed(output) || !op.getLse())
    return failed(output) ? output : verifyWeights(op, s);
  LogicalResult lse =
      verifyResult(op, "C7: expected lse", op.getLse(), {s.batch, s.heads, s.queries},
                   {"sequences", "heads", "queries"});
  return failed(lse) ? lse : verifyWeights(op, s);
}

LogicalResult AttentionOp::verify() {
  Sizes s(getQuery(), getKey(), getValue());
  if (!getScale().isFinite())
    return emitOpError("C11: expected a finite scale, found ") << getScaleAttr();
  if (failed(verifyDropout(*this)))
    return failure();
  if (getDropoutKey() && getWeights())
    return emitOpError("C21: expected no result weights with key, found one");
  return success(
      succeeded(verifyOperands(*this, s)) && succeeded(verifyResults(*this, s)) &&
      succeeded(verifyRules(*this, {s.batch, s.heads, s.queries, s.keys}, getMask(), getRules())) &&
      succeeded(verifyKept(*this, "key", getKey(), getKeyScales(), getMask())) &&
      succeeded(verifyKept(*this, "value", getValue(), getValueScales(), getMask())));
}

//===- TransformerOpInterface----------------------------------------------===//

void AttentionOp::inferShapes(SymbolicShapes &shapes) {
  Shape q = shapes.of(getQuery()), k = shapes.of(getKey()), v = shapes.of(getValue());
  shapes.require(q[0], k[0], "the batch of queries and keys");
  shapes.require(k[0], v[0], "the batch of keys and values");
  shapes.require(k[2], v[2], "the number of keys and values");
  if (getValueScales())
    requireScales(shapes, getValue(), getValueScales());
  shapes.set(getOutput(), Shape{q[0], q[1], q[2], v[3]});
  if (getLse())
    shapes.set(getLse(), Shape{q[0], q[1], q[2]});
  if (getWeights())
    shapes.set(getWeights(), weightsShape(q, k, getAverageWeights()));
  requireRuleShapes(shapes, *this, {q[0], q[1], q[2], k[2]});
  MaskDocumentsOp documents = packedDocumentsOf(getMask());
  if (getExamples())
    shapes.require(shapes.of(getExamples())[0],
                   documents ? shapes.of(documents.getQueries())[0] - 1 : q[0],
                   "the examples and the sequences of a dropout");
}

SizeExpr AttentionOp::countFlops(const SymbolicShapes &shapes) {
  const Shape &q = shapes.of(getQuery()), &v = shapes.of(getValue());
  SizeExpr keys = v[2];
  // Estimate packed documents as if they had equal lengths.
  if (MaskDocumentsOp packed = packedDocumentsOf(getMask()))
    keys = SizeExpr::ceilDiv(keys, SizeExpr::max(shapes.of(packed.getKeys())[0] - 1, 1));
  return q[0] * q[1] * q[2] * keys * (q[3] + v[3]) * 2;
}
