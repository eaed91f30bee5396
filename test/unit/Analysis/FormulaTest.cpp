//===- FormulaTest.cpp - Tests of the bounds of formulas ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares random formulas over all ops of the language with a second, plain
// evaluation of their regions on every pair. Also tests formulas whose empty
// tiles must be found.

#include "MaskFixture.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

#include <random>

using namespace mlir;
using namespace heddle::transformer;

namespace {

//===- The meaning of a region, written a second time --------------------===//

/// `v` as a signed number of `bits` bits.
int64_t wrap(int64_t v, unsigned bits = 32) {
  int64_t low = v & ((int64_t(1) << bits) - 1);
  return low >> (bits - 1) ? low - (int64_t(1) << bits) : low;
}
uint32_t bits32(int64_t v) { return static_cast<uint32_t>(v); }
int64_t floorDivide(int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }
int64_t ceilDivide(int64_t x, int64_t y) { return x / y + (x % y != 0 && (x < 0) == (y < 0)); }

bool compares(arith::CmpIPredicate p, int64_t x, int64_t y, unsigned bits) {
  return arith::applyCmpPredicate(p, APInt(bits, static_cast<uint64_t>(x), true, true),
                                  APInt(bits, static_cast<uint64_t>(y), true, true));
}

class Plain {
public:
  explicit Plain(const MaskInputs &inputs) : inputs(inputs) {}

  /// Numbers are signed and have the width of their type; i1 is 0 or 1.
  int64_t run(Region &region, std::array<int64_t, 4> coordinates) {
    values.clear();
    batch = coordinates[0];
    for (auto [argument, value] : llvm::zip(region.getArguments(), coordinates))
      values[argument] = value;
    for (Operation &op : region.front().without_terminator())
      values[op.getResult(0)] = evaluate(&op);
    return values[region.front().getTerminator()->getOperand(0)];
  }

private:
  int64_t load(MaskLoadOp op) {
    const MaskData &data = inputs.find(op.getTable())->second;
    int64_t x = values[op.getIndices().back()], size = data.shape.back(),
            row = data.shape.size() == 2 ? batch : 0;
    bool inside = x >= 0 && x < size && (data.shape.size() == 1 || row < data.shape[0]);
    return inside ? static_cast<int32_t>(data.values[row * size + x]) : 0;
  }

  int64_t evaluate(Operation *op) {
    APInt constant;
    if (matchPattern(op->getResult(0), m_ConstantInt(&constant)))
      return constant.getBitWidth() == 1 ? constant.getZExtValue() : constant.getSExtValue();
    if (auto loaded = dyn_cast<MaskLoadOp>(op))
      return load(loaded);
    unsigned from = op->getOperand(0).getType().getIntOrFloatBitWidth(),
             to = op->getResult(0).getType().getIntOrFloatBitWidth();
    int64_t x = values[op->getOperand(0)],
            y = op->getNumOperands() > 1 ? values[op->getOperand(1)] : 0;
    int64_t unsignedX = from == 1 ? x : x & ((int64_t(1) << from) - 1);
    bool far = y < 0 || y > 31;
    auto narrow = [&](int64_t v) { return to == 1 ? v & 1 : wrap(v, to); };
    return llvm::TypeSwitch<Operation *, int64_t>(op)
        .Case([&](arith::AddIOp) { return wrap(x + y); })
        .Case([&](arith::SubIOp) { return wrap(x - y); })
        .Case([&](arith::MulIOp) { return wrap(x * y); })
        .Case([&](arith::DivSIOp) { return y ? wrap(x / y) : 0; })
        .Case([&](arith::RemSIOp) { return y ? x % y : 0; })
        .Case([&](arith::FloorDivSIOp) { return y ? wrap(floorDivide(x, y)) : 0; })
        .Case([&](arith::CeilDivSIOp) { return y ? wrap(ceilDivide(x, y)) : 0; })
        .Case([&](arith::MinSIOp) { return std::min(x, y); })
        .Case([&](arith::MaxSIOp) { return std::max(x, y); })
        .Case([&](arith::AndIOp) { return x & y; })
        .Case([&](arith::OrIOp) { return x | y; })
        .Case([&](arith::XOrIOp) { return x ^ y; })
        .Case([&](arith::ShLIOp) { return far ? 0 : wrap(int64_t(bits32(x)) << y); })
        .Case([&](arith::ShRSIOp) { return x >> (far ? 31 : y); })
        .Case([&](arith::ShRUIOp) { return far ? 0 : wrap(bits32(x) >> y); })
        .Case([&](arith::CmpIOp cmp) { return int64_t(compares(cmp.getPredicate(), x, y, from)); })
        .Case([&](arith::SelectOp choice) { return x ? y : values[choice.getFalseValue()]; })
        .Case([&](arith::TruncIOp) { return narrow(x); })
        .Case([&](arith::ExtUIOp) { return unsignedX; })
        .Case([&](arith::ExtSIOp) { return from == 1 ? -x : x; });
  }

  const MaskInputs &inputs;
  llvm::DenseMap<Value, int64_t> values;
  int64_t batch = 0;
};

//===- Random formulas ---------------------------------------------------===//

class FormulaTest : public MaskFixture {
protected:
  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random); }

  template <typename T>
  T pick(ArrayRef<T> from) {
    return from[below(from.size())];
  }

  Value number(int64_t v) { return arith::ConstantIntOp::create(builder, loc, v, 32); }

  /// Starts a mask.where; ops go into its region.
  MaskWhereOp open() {
    auto where = MaskWhereOp::create(builder, loc, builder.getType<MaskType>());
    Block &body = where.getBody().emplaceBlock();
    for (int n = 0; n < 4; ++n)
      body.addArgument(builder.getI32Type(), loc);
    builder.setInsertionPointToStart(&body);
    return where;
  }
  void close(MaskWhereOp where, Value truth) {
    YieldOp::create(builder, loc, truth);
    builder.setInsertionPointAfter(where);
  }

  Value randomConstant() {
    static constexpr int64_t edges[] = {
        0,          1,           -1,        2,  3,   4,    5,     7,       8,
        -3,         31,          32,        33, 100, -100, 65535, 1 << 20, -2147483648ll,
        2147483647, -2147483647, 2147483640};
    return number(pick(ArrayRef(edges)));
  }

  Value randomNumber(SmallVector<Value> &numbers, SmallVector<Value> &truths, MaskWhereOp where) {
    Value x = pick(ArrayRef(numbers)), y = below(2) ? pick(ArrayRef(numbers)) : randomConstant();
    if (below(4) == 0)
      std::swap(x, y);
    Type i32 = builder.getI32Type(), narrow = builder.getIntegerType(below(2) ? 8 : 16);
    switch (below(19)) {
    case 0:
      return arith::AddIOp::create(builder, loc, x, y);
    case 1:
      return arith::SubIOp::create(builder, loc, x, y);
    case 2:
      return arith::MulIOp::create(builder, loc, x, y);
    case 3:
      return arith::DivSIOp::create(builder, loc, x, y);
    case 4:
      return arith::RemSIOp::create(builder, loc, x, y);
    case 5:
      return arith::FloorDivSIOp::create(builder, loc, x, y);
    case 6:
      return arith::CeilDivSIOp::create(builder, loc, x, y);
    case 7:
      return arith::MinSIOp::create(builder, loc, x, y);
    case 8:
      return arith::MaxSIOp::create(builder, loc, x, y);
    case 9:
      return arith::AndIOp::create(builder, loc, x, y);
    case 10:
      return arith::OrIOp::create(builder, loc, x, y);
    case 11:
      return arith::XOrIOp::create(builder, loc, x, y);
    case 12:
      return arith::ShLIOp::create(builder, loc, x, y);
    case 13:
      return arith::ShRSIOp::create(builder, loc, x, y);
    case 14:
      return arith::ShRUIOp::create(builder, loc, x, y);
    case 15:
      return arith::SelectOp::create(builder, loc, pick(ArrayRef(truths)), x, y);
    case 16: {
      Value small = arith::TruncIOp::create(builder, loc, narrow, x);
      return below(2) ? Value(arith::ExtSIOp::create(builder, loc, i32, small))
                      : Value(arith::ExtUIOp::create(builder, loc, i32, small));
    }
    case 17: {
      Value t = pick(ArrayRef(truths));
      return below(2) ? Value(arith::ExtSIOp::create(builder, loc, i32, t))
                      : Value(arith::ExtUIOp::create(builder, loc, i32, t));
    }
    default:
      return below(2) ? MaskLoadOp::create(builder, loc, i32, table1, x)
                      : MaskLoadOp::create(builder, loc, i32, table2,
                                           ValueRange{where.getBody().getArgument(0), x});
    }
  }

  Value randomTruth(SmallVector<Value> &numbers, SmallVector<Value> &truths) {
    Value s = pick(ArrayRef(truths)), t = pick(ArrayRef(truths)), x = pick(ArrayRef(numbers)),
          y = below(2) ? pick(ArrayRef(numbers)) : randomConstant();
    auto predicate = static_cast<arith::CmpIPredicate>(below(10));
    switch (below(10)) {
    case 0:
      return arith::AndIOp::create(builder, loc, s, t);
    case 1:
      return arith::OrIOp::create(builder, loc, s, t);
    case 2:
      return arith::XOrIOp::create(builder, loc, s, t);
    case 3:
      return arith::SelectOp::create(builder, loc, pick(ArrayRef(truths)), s, t);
    case 4:
      return arith::CmpIOp::create(builder, loc, predicate, s, t);
    case 5:
      return arith::TruncIOp::create(builder, loc, builder.getI1Type(), x);
    default:
      return arith::CmpIOp::create(builder, loc, predicate, x, y);
    }
  }

  MaskWhereOp randomFormula() {
    MaskWhereOp where = open();
    auto arguments = where.getBody().getArguments();
    SmallVector<Value> numbers(arguments.begin(), arguments.end());
    SmallVector<Value> truths{
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, arguments[3], arguments[2])};
    for (int64_t n = 1 + below(8); n > 0; --n) {
      numbers.push_back(below(6) ? randomNumber(numbers, truths, where) : randomConstant());
      if (below(3) == 0)
        truths.push_back(randomTruth(numbers, truths));
    }
    truths.push_back(arith::CmpIOp::create(builder, loc,
                                           static_cast<arith::CmpIPredicate>(below(10)),
                                           numbers.back(), pick(ArrayRef(numbers))));
    close(where, below(2) ? truths.back() : randomTruth(numbers, truths));
    return where;
  }

  /// A table with entries near the coordinates and a few at the ends of i32.
  Value randomTable(ArrayRef<int64_t> shape, int64_t count) {
    std::vector<int32_t> values;
    for (int64_t n = 0; n < count; ++n)
      values.push_back(below(10)  ? static_cast<int32_t>(below(24)) - 4
                       : below(2) ? std::numeric_limits<int32_t>::min()
                                  : std::numeric_limits<int32_t>::max());
    return input(shape, values);
  }

  std::mt19937 random{20};
  Value table1, table2;
};

TEST_F(FormulaTest, RandomFormulasAreSound) {
  table1 = randomTable({11}, 11);
  table2 = randomTable({2, 14}, 28);
  Plain plain(inputs);
  for (int n = 0; n < 4000; ++n) {
    MaskWhereOp where = randomFormula();
    ASSERT_TRUE(succeeded(where.verify()));
    MaskPlace place{below(3), below(3), 1 + below(12), 1 + below(15)};
    check(
        where, place,
        [&](int64_t b, int64_t h, int64_t i, int64_t j) {
          return plain.run(where.getBody(), {b, h, i, j}) != 0;
        },
        /*tight=*/false, 3);
    if (HasFatalFailure()) {
      where->getParentOp()->getParentOp()->dump();
      FAIL() << "formula " << n;
    }
    where.erase();
  }
  RecordProperty("exact", exact * 1000 / tiles);
  std::printf("exact bounds: %.1f %% of %ld tiles\n",
              100.0 * static_cast<double>(exact) / static_cast<double>(tiles),
              static_cast<long>(tiles));
}

/// A canonicalised formula still has a value everywhere, and the value is unchanged.
TEST_F(FormulaTest, CanonicalFormulasMeanTheSame) {
  table1 = randomTable({11}, 11);
  table2 = randomTable({2, 14}, 28);
  RewritePatternSet patterns(&context);
  for (RegisteredOperationName op : context.getRegisteredOperationsByDialect("arith"))
    op.getCanonicalizationPatterns(patterns, &context);
  FrozenRewritePatternSet canonical(std::move(patterns));
  Plain plain(inputs);
  MaskPlace place{1, 2, 9, 7};
  int simplified = 0;
  for (int n = 0; n < 4000; ++n) {
    MaskWhereOp where = randomFormula();
    Block &body = where.getBody().front();
    int64_t size = std::distance(body.begin(), body.end());
    std::vector<bool> before;
    for (int64_t i = 0; i < place.queries; ++i)
      for (int64_t j = 0; j < place.keys; ++j)
        before.push_back(plain.run(where.getBody(), {1, 2, i, j}) != 0);
    SmallVector<Operation *> ops = llvm::map_to_vector(where.getBody().front().without_terminator(),
                                                       [](Operation &op) { return &op; });
    ASSERT_TRUE(succeeded(applyOpPatternsGreedily(ops, canonical)));
    simplified += std::distance(body.begin(), body.end()) != size;
    ASSERT_TRUE(succeeded(verify(where)));
    check(
        where, place,
        [&](int64_t, int64_t, int64_t i, int64_t j) { return before[i * place.keys + j]; },
        /*tight=*/false, 3);
    if (HasFatalFailure()) {
      where.dump();
      FAIL() << "formula " << n;
    }
    where.erase();
  }
  EXPECT_GT(simplified, 2000);
}

} // namespace
