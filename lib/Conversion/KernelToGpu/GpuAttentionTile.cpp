//===- GpuAttentionTile.cpp - Tile of an attention ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements AttentionTile and AttentionStaging.
#include "GpuAttentionTile.h"

#include "GpuLoops.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;
using heddle::kernel::ProductOpInterface;

namespace heddle {

//===- The tile -----------------------------------------------------------===//

AttentionTile::AttentionTile(GpuEmitter &emitter, kernel::ContractOp keys,
                             kernel::ContractRowsOp values)
    : e(emitter), keys(keys), values(values), shape(*emitter.placement.matrix),
      unit(emitter, shape), rows(keys.getType().getDimSize(0)), chunk(keys.getType().getDimSize(1)),
      features(cast<kernel::ViewType>(keys.getLhs().getType()).getDims().back().extent.value),
      valueColumns(values.getType().getDimSize(1)) {
  constexpr int64_t most = 64; // features up to which registers hold queries
  subgroupRows = e.placement.subgroup / rowInvocations * e.placement.rows;
  down = subgroupRows / shape.m;
  part = std::max(features, valueColumns) > most ? chunk / 2 : chunk;
  const int64_t pitch = pitchOf(std::max(features, valueColumns));
  queries = operands = {kVec4, std::max(rows, part) * pitch};
  if (isWide()) {
    operands.entries = part * pitch;
    queries = {kVec4, rows * pitchOf(features), SharedArray::Left};
  }
}

void AttentionTile::place() {
  firstRow = e.mul(e.subgroup, subgroupRows);
  subgroupStrip = e.mul(firstRow, stripPitch());
  Value own = e.mul(e.rowBase(), stripPitch());
  ownStrip = e.add(own, e.memory.quarter(e.columnBase(chunk)));
  ownWeights = e.add(own, e.tx);
}

AttentionTile::Registers AttentionTile::makeVariables() {
  Registers variables;
  for (int64_t i = 0; i < down * valueColumns / shape.n; ++i)
    variables.push_back(unit.variable(unit.type(Use::MatrixAcc)));
  return variables;
}

Value AttentionTile::operandAt(Value vec4, Value lane) {
  return e.entry.shared(SharedArray::Matrices, e.vec4Type(), operands.entries, vec4, lane);
}

Value AttentionTile::stripAt(Value vec4, Value lane) {
  return e.entry.shared(SharedArray::Tile, e.vec4Type(), rows * stripPitch(), vec4, lane);
}

Value AttentionTile::factorAt(Value row) {
  return e.entry.shared(SharedArray::Sums, e.builder.getF32Type(), 2 * rows, row);
}

Value AttentionTile::ownVec4(int64_t row, int64_t vector) {
  return e.add(ownStrip, e.constant(row * stripPitch() + e.vectorColumn(vector, chunk) / kVec4));
}

AttentionTile::Registers AttentionTile::readStrip(int64_t columns) {
  Registers registers;
  for (int64_t row = 0; row < e.placement.rows; ++row)
    for (int64_t j = 0; j < e.fragmentVectors(columns); ++j)
      registers.push_back(e.load(stripAt(ownVec4(row, j))));
  return registers;
}

void AttentionTile::overColumns(int64_t most, function_ref<void(int64_t, int64_t)> body) {
  for (int64_t first = 0; first < valueColumns; first += most)
    body(first, std::min(most, valueColumns - first));
}

void AttentionTile::overMatrices(int64_t first, int64_t columns, int64_t offset,
                                 function_ref<void(int64_t, Value)> body) {
  for (int64_t i = 0; i < down; ++i)
    for (int64_t column = 0; column < columns; column += shape.n)
      body((i * valueColumns + first + column) / shape.n,
           stripAt(subgroupVec4(i * shape.m, offset + column / kVec4)));
}

void AttentionTile::overBlocks(int64_t count, int64_t products, function_ref<void(Value)> body) {
  constexpr int64_t most = 4, mostProducts = 32;
  if (count <= most && count * products <= mostProducts) {
    for (int64_t number = 0; number < count; ++number) {
      if (number)
        e.entry.forgetShared(); // or drivers load all matrices ahead
      body(e.constant(number));
    }
    return;
  }
  e.rolledLoop(count, 1, body);
}

//===- Staging ------------------------------------------------------------===//

int64_t AttentionStaging::copiesOf(ProductOpInterface op) const {
  return tile.part * (op == tile.keys ? tile.features : tile.valueColumns) / kHalves /
         tile.invocations();
}

/// Rows, or panels, are contiguous in memory, and an invocation takes the vec4s that are one
/// workgroup apart.
AttentionStaging::Registers AttentionStaging::fetch(ProductOpInterface op, Value first,
                                                    int64_t from, int64_t copies) {
  const BoundView view = e.view(op.getRhs());
  const int64_t halves = op == tile.keys ? tile.features : tile.valueColumns;
  Value start = e.mul(e.add(e.scalar(op.getRhsIndex()), first), halves);
  start = e.memory.vec4Index(view, {e.add(view.offset, start), 0});
  auto load = [&](function_ref<Value(int64_t)> placeOf) {
    Registers loaded;
    for (int64_t i = from; i < from + copies; ++i)
      loaded.push_back(e.load(e.entry.vec4(view.argument, placeOf(i * tile.invocations()))));
    return loaded;
  };
  Value own = e.add(e.number, start);
  auto same = [&](int64_t number) { return e.add(own, e.constant(number)); };
  if (op == tile.keys)
    return load(same);
  // Keys after the last one are copies of it with weights of zero. It may precede this part.
  Value count = e.scalar(tile.values.getRows());
  Value isPart = e.less(count, e.constant(tile.chunk));
  Value last = e.sub(e.sub(e.maximum(count, e.constant(1)), first), e.constant(1));
  last = e.mul(last, halves / kHalves);
  SmallVector<Type> types(copies, e.vec4Type());
  auto branch = scf::IfOp::create(builder, loc, types, isPart, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, load([&](int64_t offset) {
                         Value number = e.add(e.number, e.constant(offset));
                         Value vec4 = e.remainder(number, halves / kHalves);
                         return e.add(e.add(e.minimum(e.sub(number, vec4), last), vec4), start);
                       }));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, load(same));
  return Registers(branch.getResults());
}

/// Returns the place of the first vec4 that this invocation copies. Its vec4s are one workgroup
/// apart, so the number of the invocation and the offset of a vec4 have no bit in common. A place
/// is therefore the sum of the invocation's place, in a register, and the offset's, a constant.
Value AttentionStaging::placeOf(ArrayRef<Field> fields) {
  Value place;
  for (auto [unit, count, pitch] : fields) {
    Value x = builder.createOrFold<arith::DivUIOp>(loc, e.number, e.constant(unit));
    if (count)
      x = builder.createOrFold<arith::RemUIOp>(loc, x, e.constant(count));
    place = place ? e.add(place, e.mul(x, pitch)) : e.mul(x, pitch);
  }
  return place;
}

int64_t AttentionStaging::placeOf(ArrayRef<Field> fields, int64_t number) {
  int64_t place = 0;
  for (auto [unit, count, pitch] : fields)
    place += (count ? number / unit % count : number / unit) * pitch;
  return place;
}

/// Keys are panels, in which a vec4 has a word of each of four keys. Its place is the vec4 of the
/// first key, and the word in that vec4. A vec4 of values is stored as it is.
void AttentionStaging::place() {
  const int64_t features = tile.features, pitch = tile.pitchOf(features),
                inPanel = features / 2 * kVec4;
  keyFields = {{inPanel, 0, kPanel * pitch},
               {1, kVec4, kVec4 * pitch},
               {kVec4 * kVec4, features / kHalves, 1}};
  wordFields = {{kVec4, kVec4, 1}};
  valueFields = {{1, 0, 1}, {tile.valueColumns / kHalves, 0, 1}};
  keyPlace = placeOf(keyFields);
  wordPlace = placeOf(wordFields);
  valuePlace = placeOf(valueFields);
}

void AttentionStaging::storeKeys(int64_t from, ArrayRef<Value> loaded) {
  const int64_t pitch = tile.pitchOf(tile.features);
  for (auto [i, vec4] : llvm::enumerate(loaded)) {
    const int64_t start = (from + static_cast<int64_t>(i)) * tile.invocations(),
                  key = placeOf(keyFields, start);
    Value word = e.add(wordPlace, e.constant(placeOf(wordFields, start)));
    for (int64_t j = 0; j < kVec4; ++j)
      e.store(tile.operandAt(e.add(keyPlace, e.constant(key + j * pitch)), word),
              e.extract(vec4, j));
  }
}

void AttentionStaging::storeValues(int64_t from, ArrayRef<Value> loaded) {
  auto store = [&](bool finite) {
    for (auto [i, vec4] : llvm::enumerate(loaded)) {
      const int64_t start = (from + static_cast<int64_t>(i)) * tile.invocations();
      Value place = e.add(valuePlace, e.constant(placeOf(valueFields, start)));
      e.store(tile.operandAt(place), finite ? withoutNonFinite(vec4) : vec4);
    }
  };
  e.onlyIf(tile.again, [&] { store(true); }, [&] { store(false); });
}

void AttentionStaging::copyKeys(Value first, int64_t from) {
  for (const int64_t all = copiesOf(tile.keys); from < all; from += mostCopies)
    storeKeys(from, fetch(tile.keys, first, from, std::min(mostCopies, all - from)));
}

void AttentionStaging::copyValues(Value first) {
  const int64_t all = copiesOf(tile.values);
  for (int64_t from = 0; from < all; from += mostCopies)
    storeValues(from, fetch(tile.values, first, from, std::min(mostCopies, all - from)));
}

/// Replaces halves of words whose exponent is all ones with zero.
Value AttentionStaging::withoutNonFinite(Value vec4) {
  Value words = e.asWords(vec4);
  Type type = words.getType();
  const int32_t least = tile.isBf16() ? 0x00800080 : 0x04000400,
                all = tile.isBf16() ? 0x7f807f80 : 0x7c007c00;
  Value exponents = e.bitAnd(words, e.wordConstant(all, type));
  Value over = arith::AddIOp::create(builder, loc, exponents, e.wordConstant(least, type));
  over = arith::ShRUIOp::create(builder, loc, over, e.wordConstant(15, type));
  over = e.bitAnd(over, e.wordConstant(0x00010001, type));
  Value mask = arith::MulIOp::create(builder, loc, over, e.wordConstant(0xffff, type));
  mask = arith::XOrIOp::create(builder, loc, mask, e.wordConstant(-1, type));
  return e.asFloats(e.bitAnd(words, mask));
}

} // namespace heddle
