//===- GpuAttentionProducts.cpp - The products of an attention ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements AttentionScores and AttentionValues: the products on matrix units, and
// the products of non-finite values.
#include "GpuAttentionTile.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;
using heddle::kernel::Fragment;

namespace heddle {

//===- Queries ------------------------------------------------------------===//

/// Rows that do not exist are copies of the last one.
void AttentionScores::stageQueries(std::optional<float> factor) {
  const BoundView view = e.view(tile.keys.getLhs());
  const int64_t features = tile.features, stored = padded(view.type.getDims().back().pitch.value);
  Value last = e.sub(view.extents.front(), e.constant(1)),
        first = e.scalar(tile.keys.getLhsIndex());
  GpuMatrixStaging copies(e, view, {tile.rows, features / kHalves}, tile.queries);
  copies.placeRows(
      [&](Value row) {
        Value start = e.mul(e.minimum(e.add(first, row), last), stored);
        return e.memory.vec4Index(view, {e.add(view.offset, start), 0});
      },
      [](Value row) { return row; });
  if (copies.isRounded()) {
    copies.scaleRows({stored, features, 0});
    copies.takeFactors();
  }
  Registers loaded;
  copies.fetch(e.constant(0), nullptr, loaded);
  e.workgroup.barrier();
  copies.store(loaded);
  e.workgroup.barrier();
  for (int64_t i = 0; i < tile.down; ++i)
    for (int64_t k = 0; k < features && !tile.isWide(); k += shape.k)
      queries.push_back(loadQueries(i, k));
  for (int64_t row = 0; row < e.placement.rows && copies.isRounded(); ++row) {
    Value scale = copies.scaleOf(e.add(e.rowBase(), e.constant(row)));
    if (factor)
      scale =
          e.mulf(scale, arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(*factor)));
    rowScales.push_back(scale);
  }
}

Value AttentionScores::loadQueries(int64_t i, int64_t k) {
  const int64_t pitch = tile.pitchOf(tile.features);
  Value row = e.add(tile.firstRow, e.constant(i * shape.m));
  Value vec4 = e.add(e.mul(row, pitch), e.constant(k / kHalves));
  Value place = e.entry.shared(tile.queries.use, e.vec4Type(), tile.queries.entries, vec4);
  return tile.load(Use::MatrixA, place, pitch, Layout::RowMajor);
}

//===- Scores -------------------------------------------------------------===//

/// Multiplies `blocks` matrices of staged keys, from key `column` on, and stores the scores to the
/// strip. The staged keys begin with key `first` of the chunk.
void AttentionScores::multiplyBlock(Value column, int64_t blocks, Value first) {
  const int64_t pitch = tile.pitchOf(tile.features), steps = tile.features / shape.k;
  Registers scores(tile.down * blocks, tile.zeroSum());
  for (int64_t k = 0; k < steps; ++k)
    for (int64_t i = 0; i < tile.down; ++i) {
      Value left = tile.isWide() ? loadQueries(i, k * shape.k) : queries[i * steps + k];
      for (int64_t block = 0; block < blocks; ++block) {
        Value vec4 = e.add(e.mul(e.add(column, e.constant(block * shape.n)), pitch),
                           e.constant(k * shape.k / kHalves));
        Value right = tile.load(Use::MatrixB, tile.operandAt(vec4), pitch, Layout::ColumnMajor);
        Value &sum = scores[i * blocks + block];
        sum = tile.unit.multiplyAdd(left, right, sum);
      }
    }
  Value before = e.memory.quarter(e.add(first, column));
  for (auto [n, sum] : llvm::enumerate(scores)) {
    const int64_t i = static_cast<int64_t>(n) / blocks, block = static_cast<int64_t>(n) % blocks;
    Value vec4 = e.add(tile.subgroupVec4(i * shape.m, block * shape.n / kVec4), before);
    tile.unit.store(sum, tile.stripAt(vec4), tile.stripPitch());
  }
}

/// Multiplies the staged part of a chunk. If queries are in workgroup memory, each matrix of
/// queries that is loaded is multiplied by several matrices of keys.
void AttentionScores::multiplyPart(Value first) {
  const int64_t blocks = tile.isWide() ? 2 : 1, columns = blocks * shape.n;
  tile.overBlocks(tile.part / columns, blocks * tile.down * tile.features / shape.k,
                  [&](Value number) { multiplyBlock(e.mul(number, columns), blocks, first); });
}

FailureOr<Fragment> AttentionScores::multiply(bool takesValues) {
  const int64_t ahead = std::min(staging.copiesOf(tile.keys), AttentionStaging::mostCopies);
  Registers values;
  tile.overBlocks(tile.chunk / tile.part, tile.part / shape.n * tile.down * tile.features / shape.k,
                  [&](Value number) {
                    Value first = e.mul(number, tile.part);
                    Registers loaded = staging.fetch(tile.keys, first, 0, ahead);
                    e.workgroup.barrier(); // all have read the previous part
                    staging.storeKeys(0, loaded);
                    staging.copyKeys(first, ahead);
                    if (takesValues)
                      values = staging.fetch(tile.values, first, 0, staging.copiesOf(tile.values));
                    e.workgroup.barrier();
                    multiplyPart(first);
                  });
  e.workgroup.barrier(); // all have read the keys
  if (takesValues)
    staging.storeValues(0, values);
  Fragment result = e.shapeOf(tile.keys.getType());
  result.registers = tile.readStrip(tile.chunk);
  if (rowScales.empty())
    return result;
  for (auto [i, score] : llvm::enumerate(result.registers))
    score = e.mulf(score, e.splat(rowScales[i / result.vectors], score.getType()));
  return result;
}

//===- Weighted values ----------------------------------------------------===//

/// Rounds four weights and packs them into two words. If the weights of a row are NaN, so is their
/// sum, so the weights need not stay NaN as bf16.
AttentionValues::Registers AttentionValues::rounded(Value weights) {
  if (tile.isBf16()) {
    Type words = VectorType::get({kVec4}, builder.getI32Type());
    Value high =
        e.bitAnd(e.nearestWords(weights), e.wordConstant(static_cast<int32_t>(0xffff0000), words));
    auto [first, second] = e.words.packFour(e.asFloats(high), builder.getBF16Type());
    return {first, second};
  }
  return e.words.roundToHalves(weights);
}

/// Stores the weights of this invocation's rows over their scores, as numbers of 16 bits.
void AttentionValues::storeWeights(const Fragment &weights) {
  e.entry.meetSubgroup(); // all have read their scores
  for (int64_t row = 0; row < weights.rows; ++row)
    for (int64_t j = 0; j < weights.vectors; j += 2) {
      Registers words;
      for (int64_t part = 0; part < 2; ++part)
        llvm::append_range(words, rounded(weights.at(row, j + part)));
      Value vec4 = e.add(tile.ownWeights, e.constant(row * tile.stripPitch() +
                                                     j / 2 * AttentionTile::rowInvocations));
      e.store(tile.stripAt(vec4), e.vectorOf(words));
    }
}

/// Multiplies the staged values of one matrix, from `key` on, by their weights. The staged values
/// begin with key `first` of the chunk.
void AttentionValues::multiplyBlock(Value key, Value first, ArrayRef<Value> products) {
  const int64_t across = tile.valueColumns / shape.n, pitch = tile.pitchOf(tile.valueColumns);
  Registers weights;
  for (int64_t i = 0; i < tile.down; ++i) {
    Value before = e.shiftedRight(e.add(first, key), 3);
    Value vec4 = e.add(tile.subgroupVec4(i * shape.m, 0), before);
    weights.push_back(
        tile.load(Use::MatrixA, tile.stripAt(vec4), tile.stripPitch(), Layout::RowMajor));
  }
  for (int64_t j = 0; j < across; ++j) {
    Value vec4 = e.add(e.mul(key, pitch), e.constant(j * shape.n / kHalves));
    Value right = tile.load(Use::MatrixB, tile.operandAt(vec4), pitch, Layout::RowMajor);
    for (int64_t i = 0; i < tile.down; ++i)
      tile.unit.accumulate(products[i * across + j], weights[i], right);
  }
}

FailureOr<Fragment> AttentionValues::multiply(bool isStaged) {
  FailureOr<Fragment> weights = e.use(tile.values.getLhs());
  if (failed(weights))
    return failure();
  const int64_t across = tile.valueColumns / shape.n, each = tile.down * across;
  Registers products = tile.makeVariables();
  for (Value product : products)
    e.store(product, tile.zeroSum());
  storeWeights(*weights);
  tile.overBlocks(tile.chunk / tile.part, tile.part / shape.k * each, [&](Value number) {
    Value first = e.mul(number, tile.part);
    if (tile.isWide())
      e.workgroup.barrier(); // all have read the previous part
    if (!isStaged)
      staging.copyValues(first);
    e.workgroup.barrier();
    tile.overBlocks(tile.part / shape.k, each,
                    [&](Value block) { multiplyBlock(e.mul(block, shape.k), first, products); });
  });
  addNonFinite(products);
  Fragment result{{}, tile.down, across};
  for (Value product : products)
    result.registers.push_back(e.load(product));
  return result;
}

//===- Non-finite values --------------------------------------------------===//

/// Returns weight `k` of a row of this invocation, as stored for the product.
Value AttentionValues::storedWeight(int64_t row, Value k) {
  auto shifted = [&](Value x, int64_t bits) -> Value { return e.shiftedRight(x, bits); };
  auto low = [&](Value x, int64_t mask) -> Value { return e.masked(x, mask); };
  Value vec4 = e.add(e.mul(e.add(e.rowBase(), e.constant(row)), tile.stripPitch()), shifted(k, 3));
  Value word = e.asWords(e.load(tile.stripAt(vec4, low(shifted(k, 1), 3))));
  Value half = arith::ShRUIOp::create(builder, loc, word, e.mul(low(k, 1), 16));
  if (tile.isBf16())
    return e.asFloats(e.shiftedLeft(half, 16));
  return e.widenedHalves(low(half, 0xffff));
}

/// Adds the products of a key's non-finite values and this invocation's weights for the key, in
/// `columns` columns from `first` on.
void AttentionValues::addNonFinite(Value k, int64_t first, int64_t columns, Registers &added) {
  const BoundView view = e.view(tile.values.getRhs());
  const int64_t vectors = e.fragmentVectors(columns);
  Value key = e.add(e.scalar(tile.values.getRhsIndex()), k);
  Value start = e.add(e.add(view.offset, e.mul(key, tile.valueColumns)), e.columnBase(columns));
  for (int64_t row = 0; row < e.placement.rows; ++row) {
    Value weight = e.splat(storedWeight(row, k), e.vec4Type());
    Value none =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, weight, e.zeroVector());
    for (int64_t j = 0; j < vectors; ++j) {
      Value number = e.loadVector(view, {start, first + e.vectorColumn(j, columns)});
      Value bits = e.asWords(number), exponent = e.wordConstant(0x7f800000, bits.getType());
      bits = e.bitAnd(bits, exponent);
      Value isFinite = e.compare(arith::CmpIPredicate::ne, bits, exponent);
      Value skip = e.bitOr(isFinite, none);
      Value &sum = added[row * vectors + j];
      Value product = e.mulf(weight, number);
      sum = e.select(skip, sum, e.addf(sum, product));
    }
  }
}

/// Adds the products of all non-finite values to `products`, in which they were zero. Columns move
/// in parts, which take few registers, through the half of the strip after the weights.
void AttentionValues::addNonFinite(ArrayRef<Value> products) {
  e.onlyIf(tile.again, [&] {
    const int64_t half = tile.chunk / 2, offset = half / kVec4;
    tile.overColumns(half, [&](int64_t first, int64_t columns) {
      const int64_t vectors = e.fragmentVectors(columns);
      Registers added(e.placement.rows * vectors, e.zeroVector());
      e.loopOver(e.constant(0), e.scalar(tile.values.getRows()), 1, added,
                 [&](Value k) { addNonFinite(k, first, columns, added); });
      e.entry.meetSubgroup(); // all have read the previous part
      for (auto [i, sum] : llvm::enumerate(added)) {
        const auto number = static_cast<int64_t>(i);
        Value vec4 = tile.ownVec4(number / vectors, number % vectors);
        e.store(tile.stripAt(e.add(vec4, e.constant(offset))), sum);
      }
      e.entry.meetSubgroup();
      tile.overMatrices(first, columns, offset, [&](int64_t number, Value place) {
        Value more = tile.load(Use::MatrixAcc, place, tile.stripPitch(), Layout::RowMajor);
        Value sum = e.load(products[number]);
        e.store(products[number], spirv::FAddOp::create(builder, loc, sum, more));
      });
    });
  });
}

} // namespace heddle
