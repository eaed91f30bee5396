//===- ByteMatrices.cpp - Products of byte matrices -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emission of AMX instructions. The instructions name their registers by constants and depend on
// each other only by memory, so LLVM keeps their order and allocates no registers.

#include "ByteMatrices.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Size of a configuration, and offsets of its fields: bytes per row (16 bits each), and rows.
static constexpr int64_t configurationBytes = 64, rowBytesAt = 16, rowsAt = 48;

ByteMatrices::ByteMatrices(CpuEmitter &emitter) : e(emitter) {
  configuration.rows = 1;
  configuration.columns = configurationBytes;
  configuration.element = e.builder.getI8Type();
  e.scratch.place(configuration);
}

/// Emits the release of the registers, so that the processor no longer saves their state.
ByteMatrices::~ByteMatrices() {
  call("llvm.x86.tilerelease", {});
  e.scratch.release(configuration);
}

void ByteMatrices::call(StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(e.builder, e.loc, e.builder.getStringAttr(name), operands);
}

Value ByteMatrices::byte(int64_t value) {
  return arith::ConstantOp::create(e.builder, e.loc,
                                   e.builder.getI8IntegerAttr(static_cast<int8_t>(value)));
}

void ByteMatrices::clear(int64_t to) { call("llvm.x86.tilezero", byte(to)); }

void ByteMatrices::load(int64_t to, Value start, Value pitch) {
  call("llvm.x86.tileloadd64", {byte(to), start, pitch});
}

void ByteMatrices::loadLeft(int64_t i, const BoundView &view, Address first) {
  Value pitch = e.stride(view, view.type.getRank() - 2);
  Address place = e.moved(first, e.mul(pitch, i * rows));
  load(left(i), e.address(e.pointers[view.argument], place, e.builder.getI8Type()), pitch);
}

void ByteMatrices::store(int64_t from, Value start, Value pitch) {
  call("llvm.x86.tilestored64", {byte(from), start, pitch});
}

void ByteMatrices::multiply(int64_t sums, int64_t a, int64_t b, Signed side) {
  call(side == Signed::Left ? "llvm.x86.tdpbsud" : "llvm.x86.tdpbusd",
       {byte(sums), byte(a), byte(b)});
}

/// Configures the shapes of the registers for matrices of `count` rows, and clears the registers.
void ByteMatrices::configure(Value count, int64_t depth) {
  SmallVector<int8_t> bytes(configurationBytes);
  bytes[0] = 1;                   // the palette: this form of registers
  SmallVector<int64_t> withCount; // registers with one row per row of the left side
  for (int64_t i = 0; i < perBlock; ++i) {
    bytes[rowBytesAt + 2 * left(i)] = static_cast<int8_t>(depth);
    bytes[rowBytesAt + 2 * right(i)] = rowBytes;
    bytes[rowsAt + right(i)] = static_cast<int8_t>(depth / 4);
    withCount.push_back(left(i));
    for (int64_t j = 0; j < perBlock; ++j) {
      bytes[rowBytesAt + 2 * sum(i, j)] = rowBytes;
      withCount.push_back(sum(i, j));
    }
  }
  auto type = VectorType::get({configurationBytes}, e.builder.getI8Type());
  e.storeAt(arith::ConstantOp::create(e.builder, e.loc,
                                      DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes))),
            configuration.base, {}, configuration.element);
  count = arith::TruncIOp::create(e.builder, e.loc, e.builder.getI8Type(), count);
  for (int64_t index : withCount)
    e.storeAt(count, configuration.base, {Value(), rowsAt + index}, configuration.element);
  call("llvm.x86.ldtilecfg", configuration.base);
}

void ByteMatrices::overRows(Value count, int64_t depth, RowBlock block) {
  auto loop = [&](Value from, Value to, int64_t matrices, Value rowsOfMatrix) {
    OpBuilder::InsertionGuard guard(e.builder);
    Value row = e.loopBy(from, to, matrices * rows).getInductionVar();
    block(matrices, row, rowsOfMatrix);
  };
  auto rounded = [&](int64_t multiple) {
    return e.mul(arith::DivUIOp::create(e.builder, e.loc, count, e.constant(multiple)), multiple);
  };
  Value paired = rounded(perBlock * rows), whole = rounded(rows), last = e.sub(count, whole);
  auto configured = [&](Value areThere, Value rowsOfMatrix, function_ref<void()> loops) {
    OpBuilder::InsertionGuard guard(e.builder);
    e.enterIf(e.compare(arith::CmpIPredicate::ne, areThere, e.constant(0)));
    configure(rowsOfMatrix, depth);
    loops();
  };
  configured(whole, e.constant(rows), [&] {
    loop(e.constant(0), paired, perBlock, e.constant(rows));
    loop(paired, whole, 1, e.constant(rows));
  });
  configured(last, last, [&] { loop(whole, count, 1, last); });
}

void ByteMatrices::overBlocks(Value count, Value columnCount, int64_t depth,
                              function_ref<void(const Block &)> body) {
  constexpr int64_t pair = perBlock * columns;
  Value paired =
      e.mul(arith::DivUIOp::create(e.builder, e.loc, columnCount, e.constant(pair)), pair);
  overRows(count, depth, [&](int64_t matrices, Value row, Value rowsOfMatrix) {
    llvm::SaveAndRestore context(e.loops.at, {matrices * rows, row});
    auto overColumns = [&](Value from, Value to, int64_t panels) {
      OpBuilder::InsertionGuard guard(e.builder);
      Value column = e.loopBy(from, to, panels * columns).getInductionVar();
      body({matrices, panels, rowsOfMatrix, column});
    };
    overColumns(e.constant(0), paired, perBlock);
    overColumns(paired, columnCount, 1);
  });
}

void ByteMatrices::overSums(const TileMemory &sums, const Block &block,
                            function_ref<void(int64_t i, int64_t j, Value place)> act) {
  for (int64_t i = 0; i < block.matrices; ++i)
    for (int64_t j = 0; j < block.panels; ++j)
      act(i, j,
          e.address(sums.base, e.placeIn(sums, i * rows, block.column, j * columns), sums.element));
}
