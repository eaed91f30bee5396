//===- PlainUnit.cpp - A matrix unit of plain loops -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix unit of all instruction sets, which the program registers before AMX. It follows AMX's
// definition element by element, so the tests of products run the loops over matrices on every
// processor. Its left side has AMX's 16 rows, or 8 on instruction sets with vectors of 8 lanes, so
// the tests also find loops that assume AMX's rows.

#include "Int4Tensors.h"
#include "NarrowTensors.h"

#include "KernelToCpu/CpuMatrices.h"

#include <map>

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;
using namespace heddle::test;

namespace {
int64_t unitCount = 0;

class PlainUnit : public MatrixUnit {
public:
  PlainUnit(CpuEmitter &emitter, MatrixOperands operands)
      : MatrixUnit({.m = emitter.target.lanes == 8 ? 8 : 16,
                    .n = 16,
                    .k = operands == MatrixOperands::Bf16 ? 32 : 64}),
        e(emitter), operands(operands), word(emitter.builder.getI32Type()) {
    ++unitCount;
  }

  void setUp(Value count, int64_t depth) override {
    rows = count;
    words = depth * 16 / shape.k;
  }
  void release() override {
    for (const TileMemory &memory : registers)
      e.scratch.release(memory);
  }

  Value accumulator(int64_t) override { return newRegister(); }
  void clear(Value sums) override {
    OpBuilder::InsertionGuard guard(e.builder);
    Value row = e.loopBy(e.constant(0), rows, 1).getInductionVar();
    Value column = e.loopBy(e.constant(0), e.constant(shape.n), 1).getInductionVar();
    store(zero(), sums, row, column);
  }
  void loadSums(Value sums, Value start, int64_t pitch) override {
    copy(start, pitch, sums, shape.n * 4, rows, shape.n);
  }
  void store(Value sums, Value start, int64_t pitch) override {
    copy(sums, shape.n * 4, start, pitch, rows, shape.n);
  }
  Value load(Side side, int64_t number, Value start, int64_t pitch) override {
    Value &to = sides[{side, number}];
    if (!to)
      to = newRegister();
    if (side == Side::Left)
      copy(start, pitch, to, shape.n * 4, rows, words);
    else
      copy(start, pitch, to, shape.n * 4, e.constant(words), shape.n);
    return to;
  }
  void accumulate(Value sums, Value left, Value right) override {
    if (operands == MatrixOperands::Bf16)
      return accumulatePairs(sums, left, right);
    OpBuilder::InsertionGuard guard(e.builder);
    Value row = e.loopBy(e.constant(0), rows, 1).getInductionVar();
    Value column = e.loopBy(e.constant(0), e.constant(shape.n), 1).getInductionVar();
    Registers sum{load(sums, row, column)};
    e.loopOver(e.constant(0), e.constant(words), 1, sum, [&](Value k) {
      Value a = load(left, row, k), b = load(right, k, column);
      for (int64_t byte = 0; byte < 4; ++byte)
        sum[0] = addProduct(byteOf(a, byte, operands == MatrixOperands::SignedByUnsigned),
                            byteOf(b, byte, operands == MatrixOperands::UnsignedBySigned), sum[0]);
    });
    store(sum[0], sums, row, column);
  }

private:
  /// Adds two chains that start at zero, one of even and one of odd elements. Products of bf16 are
  /// exact in f32, so a multiplication and an addition equal the instruction's multiply-add.
  void accumulatePairs(Value sums, Value left, Value right) {
    OpBuilder::InsertionGuard guard(e.builder);
    Value row = e.loopBy(e.constant(0), rows, 1).getInductionVar();
    Value column = e.loopBy(e.constant(0), e.constant(shape.n), 1).getInductionVar();
    Value start = asFloat(zero());
    Registers chains{start, start};
    e.loopOver(e.constant(0), e.constant(words), 1, chains, [&](Value k) {
      Value a = load(left, row, k), b = load(right, k, column);
      for (int64_t odd : {0, 1}) {
        Value product = arith::MulFOp::create(e.builder, e.loc, half(a, odd), half(b, odd));
        chains[odd] = arith::AddFOp::create(e.builder, e.loc, chains[odd], product);
      }
    });
    Value both = arith::AddFOp::create(e.builder, e.loc, chains[0], chains[1]);
    Value sum = arith::AddFOp::create(e.builder, e.loc, asFloat(load(sums, row, column)), both);
    store(arith::BitcastOp::create(e.builder, e.loc, word, sum), sums, row, column);
  }
  Value asFloat(Value bits) {
    return arith::BitcastOp::create(e.builder, e.loc, e.builder.getF32Type(), bits);
  }
  /// The low or the high half of a word as f32.
  Value half(Value bits, bool isHigh) {
    auto number = [&](int32_t value) {
      return arith::ConstantOp::create(e.builder, e.loc, e.builder.getI32IntegerAttr(value));
    };
    if (isHigh)
      return asFloat(arith::AndIOp::create(e.builder, e.loc, bits, number(-65536)));
    return asFloat(arith::ShLIOp::create(e.builder, e.loc, bits, number(16)));
  }

  /// Allocates a register of 16 rows of 16 words.
  Value newRegister() {
    TileMemory memory;
    memory.rows = 16; // of words of k on the right side, at most m on the left side
    memory.columns = shape.n;
    memory.element = word;
    e.scratch.place(memory);
    registers.push_back(memory);
    return memory.base;
  }

  Address placeOf(Value row, Value column, int64_t pitch) {
    return {e.add(e.mul(row, pitch), column), 0};
  }
  Value load(Value from, Value row, Value column) {
    return e.loadAt(from, placeOf(row, column, shape.n), word, word);
  }
  void store(Value value, Value to, Value row, Value column) {
    e.storeAt(value, to, placeOf(row, column, shape.n), word);
  }
  Value zero() {
    return arith::ConstantOp::create(e.builder, e.loc, e.builder.getI32IntegerAttr(0));
  }

  /// Copies words between memories whose rows are so many bytes apart.
  void copy(Value from, int64_t pitchFrom, Value to, int64_t pitchTo, Value rowCount,
            int64_t wordCount) {
    OpBuilder::InsertionGuard guard(e.builder);
    Value row = e.loopBy(e.constant(0), rowCount, 1).getInductionVar();
    Value column = e.loopBy(e.constant(0), e.constant(wordCount), 1).getInductionVar();
    Value value = e.loadAt(from, placeOf(row, column, pitchFrom / 4), word, word);
    e.storeAt(value, to, placeOf(row, column, pitchTo / 4), word);
  }

  Value byteOf(Value value, int64_t byte, bool isSigned) {
    auto by = [&](int32_t bits) {
      return arith::ConstantOp::create(e.builder, e.loc, e.builder.getI32IntegerAttr(bits));
    };
    Value high = arith::ShLIOp::create(e.builder, e.loc, value, by(24 - 8 * byte));
    if (isSigned)
      return arith::ShRSIOp::create(e.builder, e.loc, high, by(24));
    return arith::ShRUIOp::create(e.builder, e.loc, high, by(24));
  }
  Value addProduct(Value a, Value b, Value sum) {
    return arith::AddIOp::create(e.builder, e.loc, sum,
                                 arith::MulIOp::create(e.builder, e.loc, a, b));
  }

  CpuEmitter &e;
  const MatrixOperands operands;
  const Type word;
  Value rows;
  int64_t words = 0; ///< words of a row of the left side
  SmallVector<TileMemory> registers;
  std::map<std::pair<Side, int64_t>, Value> sides;
};

const MatrixUnitKind plain{
    [](const CpuTarget &, MatrixOperands) { return true; },
    [](CpuEmitter &emitter, MatrixOperands operands) -> std::unique_ptr<MatrixUnit> {
      return std::make_unique<PlainUnit>(emitter, operands);
    }};
[[maybe_unused]] const auto registered =
    matrixUnitKinds().insert(matrixUnitKinds().begin(), &plain);

/// Products of this program use the unit on instruction sets that have none.
TEST(PlainUnit, IsUsed) {
  const int64_t before = unitCount;
  compileKernel(nibbleBody(64, 48, 96, 48, "mapping = cpu_tiles"), "x86-64-v2");
  EXPECT_GT(unitCount, before);
}
} // namespace
