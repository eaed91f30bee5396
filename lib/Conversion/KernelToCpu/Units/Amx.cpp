//===- Amx.cpp - The matrix unit of x86 -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intel's Advanced Matrix Extensions. The unit has eight registers of up to 16 rows of 64 bytes,
// whose shapes are configured in memory:
//
//   left    rows of up to 64 bytes              16 x 64 bytes, or 16 x 32 bf16
//   right   a word of 16 columns per row, the layout of panels
//   sums    i32 or f32                          16 x 16
//
// The instructions name their registers by constants and depend on each other only by memory, so
// LLVM keeps their order and allocates no registers.
//
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter "Programming with
// Intel Advanced Matrix Extensions".

#include "../CpuMatrices.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Size of a configuration, and offsets of its fields: bytes per row (16 bits each), and rows.
static constexpr int64_t configurationBytes = 64, rowBytesAt = 16, rowsAt = 48;
/// Bytes of a row of a register, and of a word of the right side.
static constexpr int64_t rowBytes = 64, wordBytes = 4;
/// Registers: four for sums, two for the left side, two for the right side.
static constexpr int64_t accumulators = CpuMatrices::perBlock * CpuMatrices::perBlock,
                         firstLeft = accumulators, firstRight = firstLeft + CpuMatrices::perBlock,
                         registers = firstRight + CpuMatrices::perBlock;

namespace {
class Amx : public MatrixUnit {
public:
  Amx(CpuEmitter &emitter, MatrixOperands operands)
      : MatrixUnit(shapeOf(operands)), e(emitter), operands(operands) {
    configuration.rows = 1;
    configuration.columns = configurationBytes;
    configuration.element = e.builder.getI8Type();
    e.scratch.place(configuration);
  }

  void setUp(Value rows, int64_t depth) override {
    const int64_t depthBytes = depth * (rowBytes / shape.k);
    SmallVector<int8_t> bytes(configurationBytes);
    bytes[0] = 1; // the palette: this form of registers
    for (int64_t index = 0; index < registers; ++index)
      bytes[rowBytesAt + 2 * index] =
          static_cast<int8_t>(index >= firstLeft && index < firstRight ? depthBytes : rowBytes);
    for (int64_t index = firstRight; index < registers; ++index)
      bytes[rowsAt + index] = static_cast<int8_t>(depthBytes / wordBytes);
    auto type = VectorType::get({configurationBytes}, e.builder.getI8Type());
    e.storeAt(arith::ConstantOp::create(e.builder, e.loc,
                                        DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes))),
              configuration.base, {}, configuration.element);
    rows = arith::TruncIOp::create(e.builder, e.loc, e.builder.getI8Type(), rows);
    for (int64_t i = 0; i < CpuMatrices::perBlock; ++i) {
      storeRows(rows, firstLeft + i);
      for (int64_t j = 0; j < CpuMatrices::perBlock; ++j)
        storeRows(rows, i * CpuMatrices::perBlock + j);
    }
    call("llvm.x86.ldtilecfg", configuration.base);
  }

  /// The processor then no longer saves the state of the registers.
  void release() override {
    call("llvm.x86.tilerelease", {});
    e.scratch.release(configuration);
  }

  Value accumulator(int64_t number) override { return numbered(number); }
  void clear(Value sums) override { call("llvm.x86.tilezero", sums); }
  void loadSums(Value sums, Value start, int64_t pitch) override { loadTo(sums, start, pitch); }
  void store(Value sums, Value start, int64_t pitch) override {
    call("llvm.x86.tilestored64", {sums, start, e.constant(pitch)});
  }
  Value load(Side side, int64_t number, Value start, int64_t pitch) override {
    Value to = numbered((side == Side::Left ? firstLeft : firstRight) + number);
    loadTo(to, start, pitch);
    return to;
  }
  void accumulate(Value sums, Value left, Value right) override {
    call(instruction(), {sums, left, right});
  }

private:
  static MatrixShape shapeOf(MatrixOperands operands) {
    if (operands == MatrixOperands::Bf16)
      return {.m = 16, .n = 16, .k = rowBytes / 2, .operands = DType::BF16, .sums = DType::F32};
    return {.m = 16, .n = 16, .k = rowBytes, .operands = DType::I8, .sums = DType::I32};
  }
  StringRef instruction() const {
    switch (operands) {
    case MatrixOperands::UnsignedBySigned:
      return "llvm.x86.tdpbusd";
    case MatrixOperands::SignedByUnsigned:
      return "llvm.x86.tdpbsud";
    case MatrixOperands::Bf16:
      return "llvm.x86.tdpbf16ps";
    }
    llvm_unreachable("all are known");
  }
  void call(StringRef name, ValueRange arguments) {
    LLVM::CallIntrinsicOp::create(e.builder, e.loc, e.builder.getStringAttr(name), arguments);
  }
  Value numbered(int64_t number) {
    return arith::ConstantOp::create(e.builder, e.loc,
                                     e.builder.getI8IntegerAttr(static_cast<int8_t>(number)));
  }
  void loadTo(Value to, Value start, int64_t pitch) {
    call("llvm.x86.tileloadd64", {to, start, e.constant(pitch)});
  }
  void storeRows(Value rows, int64_t index) {
    e.storeAt(rows, configuration.base, {Value(), rowsAt + index}, configuration.element);
  }

  CpuEmitter &e;
  const MatrixOperands operands;
  TileMemory configuration;
};
} // namespace

const MatrixUnitKind heddle::kernel::amx{
    [](const CpuTarget &target, MatrixOperands operands) {
      return operands == MatrixOperands::Bf16 ? target.bf16Matrices : target.int8Matrices;
    },
    [](CpuEmitter &emitter, MatrixOperands operands) -> std::unique_ptr<MatrixUnit> {
      return std::make_unique<Amx>(emitter, operands);
    }};
