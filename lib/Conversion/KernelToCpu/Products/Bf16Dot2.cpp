//===- Bf16Dot2.cpp - Products of bf16 pairs ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Bf16Dot2.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- Pairs of bf16 ------------------------------------------------------===//

Value Bf16Dot2::step(Value a, Value b, Value c, bool guarded) {
  if (!e.target.bf16Dot2 || guarded) {
    auto [evenA, oddA] = e.halvesOf(a);
    auto [evenB, oddB] = e.halvesOf(b);
    return multiplyAdd(evenA, evenB, multiplyAdd(oddA, oddB, c, guarded), guarded);
  }
  auto pairs = VectorType::get({2 * width}, builder.getBF16Type());
  SmallVector<Value> operands{c, vector::BitCastOp::create(builder, loc, pairs, a),
                              vector::BitCastOp::create(builder, loc, pairs, b)};
  return LLVM::CallIntrinsicOp::create(builder, loc, c.getType(),
                                       builder.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                       operands)
      .getResult(0);
}

CpuProduct::RowPart Bf16Dot2::sumRows(const Fragment &shape, const TileMemory &left) {
  Operand pairs, alone;
  if (isPacked()) {
    pairs = alone = loadPacked(shape);
  } else {
    int64_t step = 0;
    SmallVector<Address> rowPlaces = e.rightPlaces(op, shape, step);
    auto placeOf = [=, this](Value k, int64_t j, int64_t u) {
      return e.moved(rowPlaces[j], e.mul(k, 2 * step), u * 2 * step);
    };
    auto rowOf = [this](Value k, int64_t u) { return e.add(e.mul(k, 2), e.constant(2 * u)); };
    pairs = [=, this](Value k, int64_t j, int64_t u) {
      fetchRows(shape, placeOf(k, j, u), step, j, /*rows=*/2);
      return pairOfRows(placeOf(k, j, u), step, rowOf(k, u));
    };
    alone = [=, this](Value k, int64_t j, int64_t u) {
      return rowAsWords(placeOf(k, j, u), rowOf(k, u));
    };
  }
  Operand leftPair = [this, &left](Value k, int64_t r, int64_t u) {
    Address place = e.placeIn(left, r, e.mul(k, 2), u * 2);
    return e.loadAt(left.base, place, builder.getI32Type(), left.element);
  };
  Operand leftAlone = [this, &left](Value k, int64_t r, int64_t u) -> Value {
    Address place = e.placeIn(left, r, e.mul(k, 2), u * 2);
    Value bits = e.loadAt(left.base, place, left.element, left.element);
    return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), bits);
  };
  return [=, this, &shape](Value begin, Value end, Registers sums, bool guarded) {
    Value one = e.constant(1);
    auto halved = [&](Value rows) { return arith::ShRUIOp::create(builder, loc, rows, one); };
    Value first = halved(begin), whole = halved(end);
    sums = emitChain({shape, first, whole, leftPair, pairs, {}, guarded ? 1 : 4, 1, guarded},
                     std::move(sums));
    return emitChain({shape, whole, halved(e.add(end, one)), leftAlone, alone, {}, 1, 1, guarded},
                     std::move(sums));
  };
}

std::optional<TileMemory> Bf16Dot2::packedForm() {
  if (!op.isOverRows())
    return std::nullopt;
  TileMemory form;
  form.columns = padded(features());
  form.rows = CpuEmitter::columnsOf(op.getLhs().getType()) / 2;
  form.element = builder.getI32Type();
  return form.rows * form.columns > mostWords ? std::nullopt : std::optional(form);
}

void Bf16Dot2::packRows(const TileMemory &packed, Value begin, Value end) {
  Fragment shape;
  shape.rows = 1;
  shape.vectors = packed.columns / width;
  int64_t step = 0;
  SmallVector<Address> rowPlaces = e.rightPlaces(op, shape, step);
  Value one = e.constant(1), whole = arith::ShRUIOp::create(builder, loc, end, one);
  auto loop = [&](Value from, Value to, llvm::function_ref<Value(Address, Value)> load) {
    auto loopOp = scf::ForOp::create(builder, loc, from, to, one);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loopOp.getBody());
    Value pair = loopOp.getInductionVar();
    for (auto [j, place] : llvm::enumerate(rowPlaces))
      e.storeAt(load(e.moved(place, e.mul(pair, 2 * step)), e.mul(pair, 2)), packed.base,
                e.moved({e.mul(pair, packed.columns), 0}, Value(), static_cast<int64_t>(j) * width),
                packed.element);
  };
  loop(arith::ShRUIOp::create(builder, loc, begin, one), whole,
       [&](Address place, Value row) { return pairOfRows(place, step, row); });
  loop(whole, arith::ShRUIOp::create(builder, loc, e.add(end, one), one),
       [&](Address place, Value row) { return rowAsWords(place, row); });
}

Value Bf16Dot2::rowAsWords(Address place, Value) {
  auto words = VectorType::get({width}, builder.getI32Type());
  return arith::ExtUIOp::create(builder, loc, words, e.loadVector(right(), place));
}

Value Bf16Dot2::pairOfRows(Address place, int64_t step, Value) {
  Value low = e.loadVector(right(), place),
        high = e.loadVector(right(), e.moved(place, Value(), step));
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < width; ++lane)
    lanes.append({lane, width + lane});
  Value both = vector::ShuffleOp::create(builder, loc, low, high, lanes);
  return vector::BitCastOp::create(builder, loc, VectorType::get({width}, builder.getI32Type()),
                                   both);
}

//===- Pairs of another type ----------------------------------------------===//

Value KeptAsBf16::rowAt(Address place, Value row) {
  return e.widened(e.loadVector(right(), place), type(), scaleOfRow(row));
}

Value KeptAsBf16::rowAsWords(Address place, Value row) {
  if (!op.convertsRight())
    return Bf16Dot2::rowAsWords(place, row);
  return e.bf16Pairs(rowAt(place, row), e.zeroVector());
}

Value KeptAsBf16::pairOfRows(Address place, int64_t step, Value row) {
  if (!op.convertsRight())
    return Bf16Dot2::pairOfRows(place, step, row);
  return e.bf16Pairs(rowAt(place, row),
                     rowAt(e.moved(place, Value(), step), e.add(row, e.constant(1))));
}

/// Loads `together` features of a register of columns as bf16 pairs, in order.
Registers KeptAsBf16::pairsAt(Address place, Value scale) {
  Registers parts;
  for (int64_t feature = 0; feature < together(); feature += word())
    parts.append(
        e.widenedWords(e.loadWords(right(), e.moved(place, Value(), feature * 16)), type(), scale));
  Registers pairs;
  for (size_t i = 0; i < parts.size(); i += 2)
    pairs.push_back(e.bf16Pairs(parts[i], parts[i + 1]));
  return pairs;
}

CpuProduct::Operand KeptAsBf16::loadB(const Fragment &shape) {
  int64_t step = 0;
  SmallVector<Address> places = e.rightPlaces(op, shape, step);
  Registers scales = scalesOfColumns(shape);
  return [=, this, pairs = SmallVector<Registers>(shape.vectors)](Value k, int64_t j,
                                                                  int64_t u) mutable -> Value {
    const int64_t grain = together() / 2;
    if (u % grain == 0)
      pairs[j] = pairsAt(e.moved(places[j], e.mul(k, 32), u * 32), scales[j]);
    return pairs[j][u % grain];
  };
}

std::optional<TileMemory> KeptAsBf16::packedForm() {
  if (op.isOverRows())
    return Bf16Dot2::packedForm();
  TileMemory form;
  form.columns = CpuEmitter::columnsOf(op.getType());
  form.rows = (features() + together() - 1) / together() * together() / 2;
  form.element = builder.getI32Type();
  return form.rows * form.columns > mostWords ? std::nullopt : std::optional(form);
}

void KeptAsBf16::packPanels(const TileMemory &packed, ColumnRange columns, Value from, Value to) {
  OpBuilder::InsertionGuard guard(builder);
  int64_t stored = padded(right().type.getDims().back().pitch.value);
  Value column = e.loopBy(columns.from, columns.to, 16).getInductionVar();
  Value start = e.add(right().offset, e.mul(e.add(e.scalar(op.getRhsIndex()), column), stored));
  Registers scales;
  for (int64_t lane = 0; lane < 16; lane += width)
    scales.push_back(scalesOfPanel(column, lane));
  Value pair = e.loopBy(from, to, together() / 2).getInductionVar();
  Address source = e.moved({start, 0}, e.mul(pair, 32)),
          target = e.moved({e.mul(column, packed.rows), 0}, e.mul(e.sub(pair, from), 16));
  for (int64_t lane = 0; lane < 16; lane += width)
    for (auto [i, words] :
         llvm::enumerate(pairsAt(e.moved(source, Value(), word() * lane), scales[lane / width])))
      e.storeAt(words, packed.base, e.moved(target, Value(), static_cast<int64_t>(i) * 16 + lane),
                packed.element);
}

const ProductStrategy heddle::kernel::bf16Dot2 = strategyOf<Bf16Dot2>();
const ProductStrategy heddle::kernel::keptAsBf16 = strategyOf<KeptAsBf16>();
