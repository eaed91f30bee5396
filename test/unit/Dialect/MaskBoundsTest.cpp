//===- MaskBoundsTest.cpp - Masks tell the truth about tiles --------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the code of a mask for a tile of constants, folds it, and compares with
// the formula of the mask's description: the predicate must equal it, bounds
// must be sound, and those of the structured masks tight.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace heddle::transformer;

namespace {

/// Rows [i0, i1) by keys [j0, j1) of an attention with Tq queries and Tk keys.
struct Tile {
  int i0, i1, j0, j1, Tq, Tk;
};

/// Everything a mask may ask is a constant here: i32 operands are `number`, numbers a sentence too.
class ConstantSite : public MaskSite {
public:
  ConstantSite(Location location, Tile tile, int number)
      : location(location), tile(tile), number(number) {}
  Location loc() const override { return location; }
  Value rowIndices(OpBuilder &b) override {
    return indices(b, [&](int i, int) { return i; });
  }
  Value columnIndices(OpBuilder &b) override {
    return indices(b, [&](int, int j) { return j; });
  }
  Value splat(OpBuilder &b, Value scalar) override {
    return tensor::SplatOp::create(b, location, type(b), scalar);
  }
  Value keyCount(OpBuilder &b) override { return constant(b, tile.Tk); }
  Value defaultOffset(OpBuilder &b) override { return constant(b, tile.Tk - tile.Tq); }
  Value queryCount(OpBuilder &b) override { return constant(b, tile.Tq); }
  Value batch(OpBuilder &b) override { return constant(b, 0); }
  Value head(OpBuilder &b) override { return constant(b, 0); }
  int64_t headCount() const override { return 1; }
  Value lookup(OpBuilder &, Value, Value) override { return {}; }
  Value lookupRow(OpBuilder &, Value) override { return {}; }
  Value lookupColumn(OpBuilder &, Value) override { return {}; }
  Value lookupScalar(OpBuilder &, Value, Value) override { return {}; }
  std::pair<Value, Value> tableRange(OpBuilder &, Value, Value, Value) override { return {}; }
  Value perHead(OpBuilder &, Value, Value) override { return {}; }
  Value block(OpBuilder &, Value, Value, Value) override { return {}; }
  Value scalar(OpBuilder &b, Value) override { return constant(b, number); }
  Value perBatch(OpBuilder &b, Value) override { return constant(b, number); }
  Value dense(OpBuilder &b, Value) override {
    RankedTensorType truth = RankedTensorType::get(type(b).getShape(), b.getI1Type());
    return arith::ConstantOp::create(b, location, DenseElementsAttr::get(truth, true));
  }
  Value constant(OpBuilder &b, int value) {
    return arith::ConstantIntOp::create(b, location, value, 32);
  }

private:
  RankedTensorType type(OpBuilder &b) {
    return RankedTensorType::get({tile.i1 - tile.i0, tile.j1 - tile.j0}, b.getI32Type());
  }
  template <typename F>
  Value indices(OpBuilder &b, F index) {
    SmallVector<int32_t> values;
    for (int i = tile.i0; i < tile.i1; ++i)
      for (int j = tile.j0; j < tile.j1; ++j)
        values.push_back(index(i, j));
    return arith::ConstantOp::create(b, location,
                                     DenseElementsAttr::get(type(b), ArrayRef(values)));
  }
  Location location;
  Tile tile;
  int number;
};

/// What a mask said about a tile.
struct Answer {
  std::vector<bool> truth;
  bool may, must;
};

class MaskBoundsTest : public ::testing::Test {
protected:
  MaskBoundsTest() : loc(UnknownLoc::get(&context)) {
    context.loadDialect<TransformerDialect, arith::ArithDialect, func::FuncDialect,
                        tensor::TensorDialect>();
  }

  /// Emits and folds the code of the mask that `make` builds; `number` is what its operands hold.
  template <typename Make>
  Answer ask(Make make, Tile tile, int number) {
    OpBuilder b(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(b, loc);
    b.setInsertionPointToStart(module->getBody());
    auto numbers = RankedTensorType::get({1}, b.getI32Type());
    auto function =
        func::FuncOp::create(b, loc, "f", b.getFunctionType({b.getI32Type(), numbers}, {}));
    Block *block = function.addEntryBlock();
    b.setInsertionPointToStart(block);
    Value mask = make(b, block->getArgument(0), block->getArgument(1));
    ConstantSite site(loc, tile, number);
    TileCorners corners{site.constant(b, tile.i0), site.constant(b, tile.i1),
                        site.constant(b, tile.j0), site.constant(b, tile.j1)};
    MaskOpInterface op = maskOf(mask);
    Value truth = op.emitPredicate(b, site);
    TileTruth bounds = op.bound(b, site, corners);
    auto end = func::ReturnOp::create(
        b, loc, ValueRange{truth, bounds.may, bounds.must});
    EXPECT_TRUE(succeeded(applyPatternsGreedily(function, FrozenRewritePatternSet())));
    return read(end);
  }

  /// Asks about many tiles, with odd sizes and numbers below, inside and above, and compares with
  /// `expected(i, j)`.
  template <typename Make, typename Expected>
  void check(Make make, Expected expected, bool tight) {
    for (int Tk : {1, 7, 12})
      for (int number : {-3, 0, 2, 5, 40})
        for (Tile tile : {Tile{0, 1, 0, 1, 5, Tk}, Tile{0, 4, 0, 4, 5, Tk}, Tile{2, 5, 1, 3, 5, Tk},
                          Tile{1, 2, 5, 12, 5, Tk}, Tile{3, 5, 4, 5, 5, Tk}}) {
          Answer answer = ask(make, tile, number);
          bool any = false, all = true;
          size_t n = 0;
          for (int i = tile.i0; i < tile.i1; ++i)
            for (int j = tile.j0; j < tile.j1; ++j, ++n) {
              bool allowed = expected(i, j, tile, number);
              EXPECT_EQ(answer.truth[n], allowed)
                  << "i=" << i << " j=" << j << " number=" << number << " Tk=" << Tk;
              any |= allowed;
              all &= allowed;
            }
          EXPECT_TRUE(answer.may || !any);
          EXPECT_TRUE(!answer.must || all);
          if (tight) {
            EXPECT_EQ(answer.may, any) << tile.i0 << " " << tile.j0 << " " << number;
            EXPECT_EQ(answer.must, all) << tile.i0 << " " << tile.j0 << " " << number;
          }
        }
  }

private:
  static int integer(Value value) {
    APInt constant;
    EXPECT_TRUE(matchPattern(value, m_ConstantInt(&constant)));
    return static_cast<int>(constant.getSExtValue());
  }
  static Answer read(func::ReturnOp end) {
    DenseElementsAttr truth;
    EXPECT_TRUE(matchPattern(end.getOperand(0), m_Constant(&truth)));
    Answer answer{{},
                  integer(end.getOperand(1)) != 0,
                  integer(end.getOperand(2)) != 0};
    for (bool value : truth.getValues<bool>())
      answer.truth.push_back(value);
    return answer;
  }

protected:
  MLIRContext context;
  Location loc;
};

TEST_F(MaskBoundsTest, CausalByDefaultEndsWithTheLastKey) {
  check([&](OpBuilder &b, Value, Value) { return MaskCausalOp::create(b, loc).getResult(); },
        [](int i, int j, Tile t, int) { return j <= i + t.Tk - t.Tq; }, /*tight=*/true);
}

TEST_F(MaskBoundsTest, CausalWithAnOffset) {
  check([&](OpBuilder &b, Value n, Value) { return MaskCausalOp::create(b, loc, n).getResult(); },
        [](int i, int j, Tile, int n) { return j <= i + n; }, /*tight=*/true);
  check([&](OpBuilder &b, Value, Value ns) { return MaskCausalOp::create(b, loc, ns).getResult(); },
        [](int i, int j, Tile, int n) { return j <= i + n; }, /*tight=*/true);
}

TEST_F(MaskBoundsTest, Lengths) {
  check(
      [&](OpBuilder &b, Value, Value ns) { return MaskLengthsOp::create(b, loc, ns).getResult(); },
      [](int, int j, Tile, int n) { return j < n; }, /*tight=*/true);
}

TEST_F(MaskBoundsTest, NotTurnsBoundsAround) {
  check(
      [&](OpBuilder &b, Value, Value ns) {
        return MaskNotOp::create(b, loc, MaskLengthsOp::create(b, loc, ns)).getResult();
      },
      [](int, int j, Tile, int n) { return j >= n; }, /*tight=*/true);
}

TEST_F(MaskBoundsTest, AndIsSound) {
  check(
      [&](OpBuilder &b, Value, Value ns) {
        return MaskAndOp::create(b, loc, MaskCausalOp::create(b, loc),
                                 MaskLengthsOp::create(b, loc, ns))
            .getResult();
      },
      [](int i, int j, Tile t, int n) { return j <= i + t.Tk - t.Tq && j < n; }, /*tight=*/false);
}

TEST_F(MaskBoundsTest, OffsetsAtTheEndsOfI32DoNotWrap) {
  auto causal = [&](OpBuilder &b, Value n, Value) {
    return MaskCausalOp::create(b, loc, n).getResult();
  };
  Answer all = ask(causal, {0, 4, 0, 4, 4, 4}, std::numeric_limits<int32_t>::max());
  EXPECT_TRUE(all.must);
  Answer none = ask(causal, {0, 4, 0, 4, 4, 4}, std::numeric_limits<int32_t>::min());
  EXPECT_FALSE(none.may);
}

} // namespace
