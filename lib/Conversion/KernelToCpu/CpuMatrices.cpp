//===- CpuMatrices.cpp - Loops over the matrices of a tile ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of matrix units, and the loops over blocks of matrices.

#include "CpuMatrices.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- The units ---------------------------------------------------------===//

std::vector<const MatrixUnitKind *> &heddle::kernel::matrixUnitKinds() {
  static std::vector<const MatrixUnitKind *> kinds{&amx};
  return kinds;
}

const MatrixUnitKind *heddle::kernel::findMatrixUnit(const CpuTarget &target,
                                                     MatrixOperands operands) {
  for (const MatrixUnitKind *kind : matrixUnitKinds())
    if (kind->supports(target, operands))
      return kind;
  return nullptr;
}

CpuMatrices::CpuMatrices(CpuEmitter &emitter, MatrixOperands operands)
    : e(emitter), unit(findMatrixUnit(emitter.target, operands)->make(emitter, operands)) {
  for (int64_t number = 0; number < perBlock * perBlock; ++number)
    sums.push_back(unit->accumulator(number));
}

CpuMatrices::~CpuMatrices() { unit->release(); }

//===- Loops -------------------------------------------------------------===//

void CpuMatrices::overRows(Value count, int64_t depth, RowBlock block) {
  auto loop = [&](Value from, Value to, int64_t matrices, Value rowsOfMatrix) {
    OpBuilder::InsertionGuard guard(e.builder);
    Value row = e.loopBy(from, to, matrices * rows()).getInductionVar();
    block(matrices, row, rowsOfMatrix);
  };
  auto rounded = [&](int64_t multiple) {
    return e.mul(arith::DivUIOp::create(e.builder, e.loc, count, e.constant(multiple)), multiple);
  };
  Value paired = rounded(perBlock * rows()), whole = rounded(rows()), last = e.sub(count, whole);
  auto prepared = [&](Value areThere, Value rowsOfMatrix, function_ref<void()> loops) {
    OpBuilder::InsertionGuard guard(e.builder);
    e.enterIf(e.compare(arith::CmpIPredicate::ne, areThere, e.constant(0)));
    unit->setUp(rowsOfMatrix, depth);
    loops();
  };
  prepared(whole, e.constant(rows()), [&] {
    loop(e.constant(0), paired, perBlock, e.constant(rows()));
    loop(paired, whole, 1, e.constant(rows()));
  });
  prepared(last, last, [&] { loop(whole, count, 1, last); });
}

void CpuMatrices::overBlocks(Value count, ColumnRange range, int64_t depth,
                             function_ref<void(const Block &)> body) {
  const int64_t pair = perBlock * columns();
  Value from = range.from ? range.from : e.constant(0),
        all = range.from ? e.sub(range.to, range.from) : range.to,
        paired = e.mul(arith::DivUIOp::create(e.builder, e.loc, all, e.constant(pair)), pair);
  if (range.from)
    paired = e.add(from, paired);
  overRows(count, depth, [&](int64_t matrices, Value row, Value rowsOfMatrix) {
    llvm::SaveAndRestore context(e.loops.at, {matrices * rows(), row});
    auto overColumns = [&](Value from, Value to, int64_t panels) {
      OpBuilder::InsertionGuard guard(e.builder);
      Value column = e.loopBy(from, to, panels * columns()).getInductionVar();
      body({matrices, panels, rowsOfMatrix, column});
    };
    overColumns(from, paired, perBlock);
    overColumns(paired, range.to, 1);
  });
}

//===- A block -----------------------------------------------------------===//

void CpuMatrices::overSums(const TileMemory &memory, const Block &block,
                           function_ref<void(Value matrix, Value place)> act) {
  for (int64_t i = 0; i < block.matrices; ++i)
    for (int64_t j = 0; j < block.panels; ++j)
      act(sum(i, j),
          e.address(memory.base, e.placeIn(memory, i * rows(), block.column, j * columns()),
                    memory.element));
}

void CpuMatrices::sumBlock(const Block &block, const TileMemory &memory, bool continues,
                           function_ref<void()> add) {
  const int64_t pitch = memory.columns * memory.element.getIntOrFloatBitWidth() / 8;
  overSums(memory, block, [&](Value matrix, Value place) {
    if (continues)
      unit->loadSums(matrix, place, pitch);
    else
      unit->clear(matrix);
  });
  add();
  overSums(memory, block, [&](Value matrix, Value place) { unit->store(matrix, place, pitch); });
}

void CpuMatrices::multiply(const Block &block, const Sides &sides, Value from, Value to,
                           int64_t step) {
  OpBuilder::InsertionGuard guard(e.builder);
  Value k = e.loopBy(from, to, step).getInductionVar();
  SmallVector<Value> rights;
  for (int64_t j = 0; j < block.panels; ++j)
    rights.push_back(sides.right(j, k));
  for (int64_t i = 0; i < block.matrices; ++i) {
    Value left = sides.left(i, k);
    for (int64_t j = 0; j < block.panels; ++j)
      unit->accumulate(sum(i, j), left, rights[j]);
  }
}

Value CpuMatrices::loadLeft(int64_t i, const BoundView &view, Address first) {
  Value pitch = e.stride(view, view.type.getRank() - 2);
  Address place = e.moved(first, e.mul(pitch, i * rows()));
  const Type element = e.memoryElement(view.type.getElementType());
  return unit->load(MatrixUnit::Side::Left, i, e.address(e.pointers[view.argument], place, element),
                    *e.constantOf(pitch) * element.getIntOrFloatBitWidth() / 8);
}
