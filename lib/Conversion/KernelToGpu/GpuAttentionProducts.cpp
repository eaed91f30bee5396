//===- GpuAttentionProducts.cpp - The products of an attention ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file stages the operands of GpuAttention, multiplies them on matrix units, and adds
// the products of non-finite values.
#include "GpuAttention.h"

#include "GpuLoops.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;
using heddle::kernel::Fragment;
using heddle::kernel::ProductOpInterface;

namespace heddle {

//===- Queries ------------------------------------------------------------===//

/// Stages the queries and loads their matrices. Rows that do not exist are copies of the last one.
void GpuAttention::stageQueries() {
  const BoundView view = e.view(keys.getLhs());
  const int64_t rows = keys.getType().getDimSize(0), quads = features / kHalves,
                stored = padded(view.type.getDims().back().pitch.value);
  Value last = e.sub(view.extents.front(), e.constant(1)), first = e.scalar(keys.getLhsIndex());
  GpuMatrixStaging staging(e, view, {rows, quads}, queries);
  staging.placeRows(
      [&](Value row) {
        Value start = e.mul(e.minimum(e.add(first, row), last), stored);
        return e.memory.vec4Index(view, {e.add(view.offset, start), 0});
      },
      [](Value row) { return row; });
  if (staging.isRounded())
    staging.scaleRows({stored, features, 0});
  Registers loaded;
  staging.fetch(e.constant(0), nullptr, loaded);
  e.workgroup.barrier();
  staging.store(loaded);
  e.workgroup.barrier();
  for (int64_t i = 0; i < down; ++i)
    for (int64_t k = 0; k < features && !isWide(); k += shape.k)
      lefts.push_back(loadLeft(i, k));
  for (int64_t row = 0; row < e.placement.rows && staging.isRounded(); ++row) {
    Value scale = staging.scaleOf(e.add(e.rowBase(), e.constant(row)));
    if (scaling) {
      DenseElementsAttr factor;
      matchPattern(scaling->getOperand(1), m_Constant(&factor));
      auto number = builder.getF32FloatAttr(factor.getSplatValue<float>());
      scale = arith::MulFOp::create(builder, loc, scale,
                                    arith::ConstantOp::create(builder, loc, number));
    }
    rowScales.push_back(scale);
  }
}

Value GpuAttention::loadLeft(int64_t i, int64_t k) {
  const int64_t pitch = pitchOf(features);
  Value row = e.add(firstOfTeam, e.constant(i * shape.m));
  Value quad = e.add(e.mul(row, pitch), e.constant(k / kHalves));
  Value place = e.entry.shared(queries.use, e.vec4Type(), queries.entries, quad);
  return load(Use::MatrixA, place, pitch, Layout::RowMajor);
}

//===- Scores -------------------------------------------------------------===//

int64_t GpuAttention::copiesOf(ProductOpInterface op) {
  return part * (op == keys ? features : valueColumns) / kHalves / invocations();
}

/// Loads this invocation's vec4s of the part that begins with key `first` of the chunk: `copies` of
/// them, beginning with number `from`. Rows, or panels, are contiguous in memory, and an invocation
/// takes the vec4s that are one workgroup apart.
GpuAttention::Registers GpuAttention::fetch(ProductOpInterface op, Value first, int64_t from,
                                            int64_t copies) {
  const BoundView view = e.view(op.getRhs());
  const int64_t halves = op == keys ? features : valueColumns;
  Value start = e.mul(e.add(e.scalar(op.getRhsIndex()), first), halves);
  start = e.memory.vec4Index(view, {e.add(view.offset, start), 0});
  auto load = [&](function_ref<Value(int64_t)> placeOf) {
    Registers loaded;
    for (int64_t i = from; i < from + copies; ++i)
      loaded.push_back(spirv::LoadOp::create(
          builder, loc, e.entry.vec4(view.argument, placeOf(i * invocations()))));
    return loaded;
  };
  Value own = e.add(e.number, start);
  auto same = [&](int64_t number) { return e.add(own, e.constant(number)); };
  if (op == keys)
    return load(same);
  // Keys after the last one are copies of it with weights of zero. It may precede this part.
  Value count = e.scalar(values.getRows());
  Value isPart = e.compare(arith::CmpIPredicate::slt, count, e.constant(chunk));
  Value last = e.sub(e.sub(e.maximum(count, e.constant(1)), first), e.constant(1));
  last = e.mul(last, halves / kHalves);
  SmallVector<Type> types(copies, e.vec4Type());
  auto branch = scf::IfOp::create(builder, loc, types, isPart, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, load([&](int64_t behind) {
                         Value number = e.add(e.number, e.constant(behind));
                         Value quad = arith::RemUIOp::create(builder, loc, number,
                                                             e.constant(halves / kHalves));
                         return e.add(e.add(e.minimum(e.sub(number, quad), last), quad), start);
                       }));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, load(same));
  return Registers(branch.getResults());
}

/// Returns the place of the first vec4 that this invocation copies. Its vec4s are one workgroup
/// apart, so the number of the invocation and the offset of a vec4 have no bit in common. A place
/// is therefore the sum of the invocation's place, in a register, and the offset's, a constant.
Value GpuAttention::placeOf(ArrayRef<Field> fields) {
  Value place;
  for (auto [unit, count, pitch] : fields) {
    Value x = builder.createOrFold<arith::DivUIOp>(loc, e.number, e.constant(unit));
    if (count)
      x = builder.createOrFold<arith::RemUIOp>(loc, x, e.constant(count));
    place = place ? e.add(place, e.mul(x, pitch)) : e.mul(x, pitch);
  }
  return place;
}

int64_t GpuAttention::placeOf(ArrayRef<Field> fields, int64_t number) {
  int64_t place = 0;
  for (auto [unit, count, pitch] : fields)
    place += (count ? number / unit % count : number / unit) * pitch;
  return place;
}

/// Computes the places of copies in workgroup memory. Keys are panels, in which a vec4 has a word
/// of each of four keys. Its place is the vec4 of the first key, and the word in that vec4. A vec4
/// of values is stored as it is.
void GpuAttention::placeCopies() {
  const int64_t pitch = pitchOf(features), inPanel = features / 2 * kVec4;
  keyFields = {{inPanel, 0, kPanel * pitch},
               {1, kVec4, kVec4 * pitch},
               {kVec4 * kVec4, features / kHalves, 1}};
  wordFields = {{kVec4, kVec4, 1}};
  valueFields = {{1, 0, 1}, {valueColumns / kHalves, 0, 1}};
  keyPlace = placeOf(keyFields);
  wordPlace = placeOf(wordFields);
  valuePlace = placeOf(valueFields);
}

void GpuAttention::storeKeys(int64_t from, ArrayRef<Value> loaded) {
  const int64_t pitch = pitchOf(features);
  for (auto [i, quad] : llvm::enumerate(loaded)) {
    const int64_t start = (from + static_cast<int64_t>(i)) * invocations(),
                  key = placeOf(keyFields, start);
    Value word = e.add(wordPlace, e.constant(placeOf(wordFields, start)));
    for (int64_t j = 0; j < kVec4; ++j)
      spirv::StoreOp::create(builder, loc,
                             tileAt(e.add(keyPlace, e.constant(key + j * pitch)), word),
                             vector::ExtractOp::create(builder, loc, quad, j));
  }
}

void GpuAttention::storeValues(int64_t from, ArrayRef<Value> loaded) {
  auto store = [&](bool finite) {
    for (auto [i, quad] : llvm::enumerate(loaded)) {
      const int64_t start = (from + static_cast<int64_t>(i)) * invocations();
      Value place = e.add(valuePlace, e.constant(placeOf(valueFields, start)));
      spirv::StoreOp::create(builder, loc, tileAt(place), finite ? withoutNonFinite(quad) : quad);
    }
  };
  e.onlyIf(again, [&] { store(true); }, [&] { store(false); });
}

/// Calls `copy` for a few copies at a time, so that they take few registers.
void GpuAttention::inTurns(int64_t from, int64_t all, function_ref<void(int64_t, int64_t)> copy) {
  for (; from < all; from += kMostCopies)
    copy(from, std::min(kMostCopies, all - from));
}

/// Whether the first row and the number of rows of the values are known before the scores.
bool GpuAttention::knowsValues() {
  return llvm::all_of(ValueRange{values.getRhsIndex(), values.getRows()}, [&](Value index) {
    Operation *op = index.getDefiningOp();
    return !op || !loop->isProperAncestor(op) || op->isBeforeInBlock(keys);
  });
}

/// Calls `body` for `count` blocks with `products` products of matrices each. Many blocks or
/// products become a loop, which drivers compile faster.
void GpuAttention::overBlocks(int64_t count, int64_t products, function_ref<void(Value)> body) {
  constexpr int64_t most = 4, mostProducts = 32;
  if (count <= most && count * products <= mostProducts) {
    for (int64_t number = 0; number < count; ++number) {
      if (number)
        e.entry.forgetShared(); // or drivers load all matrices ahead
      body(e.constant(number));
    }
    return;
  }
  Registers none;
  e.loopOver(e.constant(0), e.constant(count), 1, none, [&](Value number) {
    builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, builder.getUnitAttr());
    body(number);
  });
}

/// Multiplies `blocks` matrices of staged keys, from key `column` on, and stores the scores to the
/// strip. The staged keys begin with key `first` of the chunk.
void GpuAttention::multiplyKeysOf(Value column, int64_t blocks, Value first) {
  const int64_t pitch = pitchOf(features), steps = features / shape.k;
  Registers scores(down * blocks, zeroSum());
  for (int64_t k = 0; k < steps; ++k)
    for (int64_t i = 0; i < down; ++i) {
      Value left = isWide() ? loadLeft(i, k * shape.k) : lefts[i * steps + k];
      for (int64_t block = 0; block < blocks; ++block) {
        Value quad = e.add(e.mul(e.add(column, e.constant(block * shape.n)), pitch),
                           e.constant(k * shape.k / kHalves));
        Value right = load(Use::MatrixB, tileAt(quad), pitch, Layout::ColumnMajor);
        Value &sum = scores[i * blocks + block];
        sum = unit.multiplyAdd(left, right, sum);
      }
    }
  Value before = e.memory.quarter(e.add(first, column));
  for (auto [n, sum] : llvm::enumerate(scores)) {
    const int64_t i = static_cast<int64_t>(n) / blocks, block = static_cast<int64_t>(n) % blocks;
    Value quad = e.add(teamQuad(i * shape.m, block * shape.n / kVec4), before);
    unit.store(sum, stripAt(quad), stripPitch());
  }
}

/// Multiplies the staged part of a chunk. If queries are in workgroup memory, each matrix of
/// queries that is loaded is multiplied by several matrices of keys.
void GpuAttention::multiplyKeysFrom(Value first) {
  const int64_t blocks = isWide() ? 2 : 1, columns = blocks * shape.n;
  overBlocks(part / columns, blocks * down * features / shape.k,
             [&](Value number) { multiplyKeysOf(e.mul(number, columns), blocks, first); });
}

FailureOr<Fragment> GpuAttention::multiplyKeys() {
  const int64_t ahead = std::min(copiesOf(keys), kMostCopies);
  storedValues = !isWide() && copiesOf(values) <= kMostCopies && knowsValues();
  Registers loadedValues;
  overBlocks(chunk / part, part / shape.n * down * features / shape.k, [&](Value number) {
    Value first = e.mul(number, part);
    Registers loaded = fetch(keys, first, 0, ahead);
    e.workgroup.barrier(); // all have read the previous part
    storeKeys(0, loaded);
    inTurns(ahead, copiesOf(keys), [&](int64_t from, int64_t copies) {
      storeKeys(from, fetch(keys, first, from, copies));
    });
    if (storedValues)
      loadedValues = fetch(values, first, 0, copiesOf(values));
    e.workgroup.barrier();
    multiplyKeysFrom(first);
  });
  e.workgroup.barrier(); // all have read the keys
  if (storedValues)
    storeValues(0, loadedValues);
  Fragment result = e.shapeOf(keys.getType());
  result.registers = readStrip(chunk);
  if (rowScales.empty())
    return result;
  for (auto [i, score] : llvm::enumerate(result.registers))
    score = arith::MulFOp::create(builder, loc, score,
                                  e.splat(rowScales[i / result.vectors], score.getType()));
  return result;
}

/// Loads this invocation's elements of its rows from the strip.
GpuAttention::Registers GpuAttention::readStrip(int64_t columns) {
  Registers registers;
  for (int64_t row = 0; row < e.placement.rows; ++row)
    for (int64_t j = 0; j < e.fragmentVectors(columns); ++j)
      registers.push_back(spirv::LoadOp::create(builder, loc, stripAt(stripQuad(row, j))));
  return registers;
}

//===- Weighted values ----------------------------------------------------===//

/// Rounds four weights and packs them into two words. If the weights of a row are NaN, so is their
/// sum, so the weights need not stay NaN as bf16.
GpuAttention::Registers GpuAttention::rounded(Value weights) {
  if (isBf16()) {
    Type words = VectorType::get({kVec4}, builder.getI32Type());
    Value kept = arith::AndIOp::create(builder, loc, e.nearestWords(weights),
                                       e.wordConstant(static_cast<int32_t>(0xffff0000), words));
    auto [first, second] = e.words.packFour(e.asFloats(kept), builder.getBF16Type());
    return {first, second};
  }
  auto halves = VectorType::get({kVec4}, builder.getF16Type()),
       pairs = VectorType::get({kVec4 / 2}, builder.getF32Type());
  Value packed = spirv::FConvertOp::create(builder, loc, halves, weights);
  packed = spirv::BitcastOp::create(builder, loc, pairs, packed);
  return {vector::ExtractOp::create(builder, loc, packed, 0),
          vector::ExtractOp::create(builder, loc, packed, 1)};
}

/// Stores the weights of this invocation's rows over their scores, as numbers of 16 bits.
void GpuAttention::storeWeights(const Fragment &weights) {
  e.entry.meetSubgroup(); // all have read their scores
  for (int64_t row = 0; row < weights.rows; ++row)
    for (int64_t j = 0; j < weights.vectors; j += 2) {
      Registers words;
      for (int64_t part = 0; part < 2; ++part)
        llvm::append_range(words, rounded(weights.at(row, j + part)));
      Value quad = e.add(ownWeights, e.constant(row * stripPitch() + j / 2 * kPair));
      spirv::StoreOp::create(builder, loc, stripAt(quad),
                             vector::FromElementsOp::create(builder, loc, e.vec4Type(), words));
    }
}

/// Multiplies the staged values of one matrix, from `key` on, by their weights. The staged values
/// begin with key `first` of the chunk.
void GpuAttention::multiplyValuesOf(Value key, Value first, ArrayRef<Value> products) {
  const int64_t across = valueColumns / shape.n, pitch = pitchOf(valueColumns);
  Registers rows;
  for (int64_t i = 0; i < down; ++i) {
    Value before = arith::ShRUIOp::create(builder, loc, e.add(first, key), e.constant(3));
    Value quad = e.add(teamQuad(i * shape.m, 0), before);
    rows.push_back(load(Use::MatrixA, stripAt(quad), stripPitch(), Layout::RowMajor));
  }
  for (int64_t j = 0; j < across; ++j) {
    Value quad = e.add(e.mul(key, pitch), e.constant(j * shape.n / kHalves));
    Value right = load(Use::MatrixB, tileAt(quad), pitch, Layout::RowMajor);
    for (int64_t i = 0; i < down; ++i)
      unit.accumulate(products[i * across + j], rows[i], right);
  }
}

FailureOr<Fragment> GpuAttention::multiplyValues() {
  FailureOr<Fragment> weights = e.use(values.getLhs());
  if (failed(weights))
    return failure();
  const int64_t across = valueColumns / shape.n;
  Registers products = makeVariables();
  for (Value product : products)
    spirv::StoreOp::create(builder, loc, product, zeroSum());
  storeWeights(*weights);
  const int64_t each = down * across;
  overBlocks(chunk / part, part / shape.k * each, [&](Value number) {
    Value first = e.mul(number, part);
    if (isWide())
      e.workgroup.barrier(); // all have read the previous part
    if (!storedValues)
      inTurns(0, copiesOf(values), [&](int64_t from, int64_t copies) {
        storeValues(from, fetch(values, first, from, copies));
      });
    e.workgroup.barrier();
    overBlocks(part / shape.k, each,
               [&](Value block) { multiplyValuesOf(e.mul(block, shape.k), first, products); });
  });
  addNonFinite(products);
  Fragment result{{}, down, across};
  for (Value product : products)
    result.registers.push_back(spirv::LoadOp::create(builder, loc, product));
  return result;
}

FailureOr<Fragment> GpuAttention::emitProduct(ProductOpInterface op) {
  loc = e.loc;
  return op == keys ? multiplyKeys() : multiplyValues();
}

//===- Non-finite values --------------------------------------------------===//

/// Replaces halves of words whose exponent is all ones with zero.
Value GpuAttention::withoutNonFinite(Value quad) {
  Value words = e.asWords(quad);
  Type type = words.getType();
  const int32_t least = isBf16() ? 0x00800080 : 0x04000400,
                all = isBf16() ? 0x7f807f80 : 0x7c007c00;
  Value exponents = arith::AndIOp::create(builder, loc, words, e.wordConstant(all, type));
  Value over = arith::AddIOp::create(builder, loc, exponents, e.wordConstant(least, type));
  over = arith::ShRUIOp::create(builder, loc, over, e.wordConstant(15, type));
  over = arith::AndIOp::create(builder, loc, over, e.wordConstant(0x00010001, type));
  Value kept = arith::MulIOp::create(builder, loc, over, e.wordConstant(0xffff, type));
  kept = arith::XOrIOp::create(builder, loc, kept, e.wordConstant(-1, type));
  return e.asFloats(arith::AndIOp::create(builder, loc, words, kept));
}

/// Returns weight `k` of a row of this invocation, as stored for the product.
Value GpuAttention::storedWeight(int64_t row, Value k) {
  auto shifted = [&](Value x, int64_t bits) -> Value {
    return arith::ShRUIOp::create(builder, loc, x, e.constant(bits));
  };
  auto low = [&](Value x, int64_t mask) -> Value {
    return arith::AndIOp::create(builder, loc, x, e.constant(mask));
  };
  Value quad = e.add(e.mul(e.add(e.rowBase(), e.constant(row)), stripPitch()), shifted(k, 3));
  Value word = e.asWords(spirv::LoadOp::create(builder, loc, stripAt(quad, low(shifted(k, 1), 3))));
  Value half = arith::ShRUIOp::create(builder, loc, word, e.mul(low(k, 1), 16));
  if (isBf16())
    return e.asFloats(arith::ShLIOp::create(builder, loc, half, e.constant(16)));
  return e.widenedHalves(low(half, 0xffff));
}

/// Adds the products of a key's non-finite values and this invocation's weights for the key, in
/// `columns` columns from `first` on.
void GpuAttention::addNonFinite(Value k, int64_t first, int64_t columns, Registers &added) {
  const BoundView view = e.view(values.getRhs());
  const int64_t vectors = e.fragmentVectors(columns);
  Value key = e.add(e.scalar(values.getRhsIndex()), k);
  Value start = e.add(e.add(view.offset, e.mul(key, valueColumns)), e.columnBase(columns));
  for (int64_t row = 0; row < e.placement.rows; ++row) {
    Value weight = e.splat(storedWeight(row, k), e.vec4Type());
    Value none =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, weight, e.zeroVector());
    for (int64_t j = 0; j < vectors; ++j) {
      Value number = e.loadVector(view, {start, first + e.vectorColumn(j, columns)});
      Value bits = e.asWords(number), exponent = e.wordConstant(0x7f800000, bits.getType());
      bits = arith::AndIOp::create(builder, loc, bits, exponent);
      Value isFinite = e.compare(arith::CmpIPredicate::ne, bits, exponent);
      Value skip = arith::OrIOp::create(builder, loc, isFinite, none);
      Value &sum = added[row * vectors + j];
      Value product = arith::MulFOp::create(builder, loc, weight, number);
      sum = e.select(skip, sum, arith::AddFOp::create(builder, loc, sum, product));
    }
  }
}

/// Adds the products of all non-finite values to `products`, in which they were zero. Columns move
/// in parts, which take few registers, through the half of the strip after the weights.
void GpuAttention::addNonFinite(ArrayRef<Value> products) {
  e.onlyIf(again, [&] {
    const int64_t half = chunk / 2, behind = half / kVec4;
    overParts(half, [&](int64_t first, int64_t columns) {
      const int64_t vectors = e.fragmentVectors(columns);
      Registers added(e.placement.rows * vectors, e.zeroVector());
      e.loopOver(e.constant(0), e.scalar(values.getRows()), 1, added,
                 [&](Value k) { addNonFinite(k, first, columns, added); });
      e.entry.meetSubgroup(); // all have read the previous part
      for (auto [i, sum] : llvm::enumerate(added)) {
        const auto number = static_cast<int64_t>(i);
        Value quad = stripQuad(number / vectors, number % vectors);
        spirv::StoreOp::create(builder, loc, stripAt(e.add(quad, e.constant(behind))), sum);
      }
      e.entry.meetSubgroup();
      overMatrices(first, columns, behind, [&](int64_t number, Value place) {
        Value more = load(Use::MatrixAcc, place, stripPitch(), Layout::RowMajor);
        Value sum = spirv::LoadOp::create(builder, loc, products[number]);
        spirv::StoreOp::create(builder, loc, products[number],
                               spirv::FAddOp::create(builder, loc, sum, more));
      });
    });
  });
}

/// Returns 1 if a condition holds for any invocation of the workgroup, else 0.
Value GpuAttention::isAnywhere(Value condition) {
  auto entry = [&] { // a vec4, so that arrays after it are aligned
    return e.entry.shared(SharedArray::Lanes, builder.getI32Type(), kVec4, e.constant(0));
  };
  e.onlyIf(e.compare(arith::CmpIPredicate::eq, e.number, e.constant(0)),
           [&] { spirv::StoreOp::create(builder, loc, entry(), e.constant(0)); });
  e.workgroup.barrier();
  e.onlyIf(condition, [&] { spirv::StoreOp::create(builder, loc, entry(), e.constant(1)); });
  e.workgroup.barrier();
  return spirv::LoadOp::create(builder, loc, entry());
}

} // namespace heddle
