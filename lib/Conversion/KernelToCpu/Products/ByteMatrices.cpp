//===- ByteMatrices.cpp - Products of matrices of bytes -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions name their registers by constants, and nothing but memory connects them, so that LLVM
// keeps their order and allocates none.

#include "ByteMatrices.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Bytes of a configuration, and where the parts of it begin: bytes of a row in 16 bits, and rows.
static constexpr int64_t configurationBytes = 64, rowBytesAt = 16, rowsAt = 48;

ByteMatrices::ByteMatrices(CpuEmitter &emitter) : e(emitter) {
  configuration.rows = 1;
  configuration.columns = configurationBytes;
  configuration.element = e.builder.getI8Type();
  e.scratch.place(configuration);
}

/// Emits the release of the registers: the processor saves no state of them from then on.
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

void ByteMatrices::store(int64_t from, Value start, Value pitch) {
  call("llvm.x86.tilestored64", {byte(from), start, pitch});
}

void ByteMatrices::multiply(int64_t sums, int64_t a, int64_t b) {
  call("llvm.x86.tdpbusd", {byte(sums), byte(a), byte(b)});
}

/// Gives the registers their shapes, and clears them: matrices of `count` rows.
void ByteMatrices::configure(Value count, int64_t depth) {
  SmallVector<int8_t> bytes(configurationBytes);
  bytes[0] = 1;                   // the palette: this form of registers
  SmallVector<int64_t> withCount; // registers with a row for each row of the left side
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

void ByteMatrices::overRows(Value count, int64_t depth, function_ref<void(int64_t, Value)> block) {
  auto loop = [&](Value from, Value to, int64_t matrices) {
    OpBuilder::InsertionGuard guard(e.builder);
    block(matrices, e.loopBy(from, to, matrices * rows).getInductionVar());
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
    loop(e.constant(0), paired, perBlock);
    loop(paired, whole, 1);
  });
  configured(last, last, [&] { loop(whole, count, 1); });
}
