//===- MaskBoundsTest.cpp - Predicates and bounds of masks ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares every structured mask, alone and combined, with its definition: the
// predicate is equal, and the bounds are exact.

#include "MaskFixture.h"

#include <algorithm>
#include <functional>
#include <random>

using namespace mlir;
using namespace heddle::transformer;

namespace {

class MaskBoundsTest : public MaskFixture {
protected:
  /// Numbers below, inside and above the coordinates, and at the ends of i32.
  static constexpr int32_t numbers[] = {-40,
                                        -3,
                                        0,
                                        1,
                                        5,
                                        11,
                                        40,
                                        std::numeric_limits<int32_t>::min(),
                                        std::numeric_limits<int32_t>::max()};
  /// Sizes with T = 1, S < T and S > T.
  static constexpr std::pair<int64_t, int64_t> sizes[] = {
      {1, 1}, {1, 12}, {9, 9}, {5, 12}, {12, 5}};

  /// Checks all sizes, with two sequences whose numbers include x and y.
  template <typename Make, typename Expected>
  void checkAll(Make make, Expected expected, bool tight = true) {
    for (int32_t x : numbers) {
      Value ns = input({2}, {7, x});
      Value mask = make(ns);
      for (auto [queries, keys] : sizes)
        for (int64_t b : {0, 1}) {
          MaskPlace place{b, 0, queries, keys};
          int64_t n = b ? x : 7, shift = keys - queries;
          check(
              mask, place,
              [&](int64_t, int64_t, int64_t i, int64_t j) { return expected(i, j, n, shift); },
              tight);
          if (HasFatalFailure())
            return;
        }
    }
  }
};

TEST_F(MaskBoundsTest, CausalByDefaultEndsWithTheLastKey) {
  checkAll([&](Value) { return MaskCausalOp::create(builder, loc); },
           [](int64_t i, int64_t j, int64_t, int64_t shift) { return j <= i + shift; });
}

TEST_F(MaskBoundsTest, CausalWithAnOffsetASequence) {
  checkAll([&](Value ns) { return MaskCausalOp::create(builder, loc, ns); },
           [](int64_t i, int64_t j, int64_t n, int64_t) { return j <= i + n; });
}

TEST_F(MaskBoundsTest, CausalWithOneOffset) {
  Value mask = MaskCausalOp::create(builder, loc, input({}, {2}));
  check(
      mask, {0, 0, 5, 9}, [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + 2; },
      /*tight=*/true);
}

TEST_F(MaskBoundsTest, WindowsAroundTheQuery) {
  for (auto [before, after] : {std::pair<int64_t, int64_t>(0, 0),
                               {3, 0},
                               {0, 2},
                               {2, 1},
                               {2147483647, 0},
                               {4, 2147483647}}) {
    checkAll([&](Value) { return MaskWindowOp::create(builder, loc, before, after); },
             [=](int64_t i, int64_t j, int64_t, int64_t shift) {
               return -before <= j - (i + shift) && j - (i + shift) <= after;
             });
    checkAll([&](Value ns) { return MaskWindowOp::create(builder, loc, before, after, ns); },
             [=](int64_t i, int64_t j, int64_t n, int64_t) {
               return -before <= j - (i + n) && j - (i + n) <= after;
             });
  }
}

TEST_F(MaskBoundsTest, LengthsAndPrefixes) {
  auto expected = [](int64_t, int64_t j, int64_t n, int64_t) { return j < n; };
  checkAll([&](Value ns) { return MaskLengthsOp::create(builder, loc, ns); }, expected);
  checkAll([&](Value ns) { return MaskPrefixOp::create(builder, loc, ns); }, expected);
}

TEST_F(MaskBoundsTest, NotTurnsBoundsAround) {
  checkAll(
      [&](Value ns) {
        return MaskNotOp::create(builder, loc, MaskLengthsOp::create(builder, loc, ns));
      },
      [](int64_t, int64_t j, int64_t n, int64_t) { return j >= n; });
  checkAll(
      [&](Value ns) {
        return MaskNotOp::create(builder, loc, MaskWindowOp::create(builder, loc, 2, 1));
      },
      [](int64_t i, int64_t j, int64_t, int64_t shift) {
        return j - i - shift < -2 || j - i - shift > 1;
      });
}

TEST_F(MaskBoundsTest, ConjunctionsOfBandsAreExact) {
  checkAll(
      [&](Value ns) {
        Value window = MaskWindowOp::create(builder, loc, 3, 4),
              lengths = MaskLengthsOp::create(builder, loc, ns);
        Value far =
            MaskNotOp::create(builder, loc, MaskPrefixOp::create(builder, loc, input({2}, {2, 3})));
        return MaskAndOp::create(
            builder, loc,
            MaskAndOp::create(builder, loc, MaskCausalOp::create(builder, loc), window),
            MaskAndOp::create(builder, loc, lengths, far));
      },
      [](int64_t i, int64_t j, int64_t n, int64_t shift) {
        int64_t d = j - i - shift;
        return d <= 0 && d >= -3 && j < n && j >= (n == 7 ? 2 : 3);
      });
}

/// 300 conjunctions of up to five masks over ranges of keys, some with reversed bounds.
TEST_F(MaskBoundsTest, RandomConjunctionsOfRangesAreExact) {
  std::mt19937 random(3);
  auto number = [&](int32_t low, int32_t high) {
    return low + static_cast<int32_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  for (int n = 0; n < 300; ++n) {
    using Truth = std::function<bool(int64_t i, int64_t j)>;
    std::vector<Truth> parts;
    auto [queries, keys] = sizes[random() % std::size(sizes)];
    auto part = [&]() -> Value {
      int32_t x = number(-3, 14), before = number(0, 4), after = number(0, 3);
      Value one = input({}, {x}), each = input({1}, {x});
      switch (random() % 6) {
      case 0:
        parts.push_back([=](int64_t i, int64_t j) { return j <= i + x; });
        return MaskCausalOp::create(builder, loc, one);
      case 1:
        parts.push_back([=](int64_t i, int64_t j) { return j > i + x; });
        return MaskNotOp::create(builder, loc, MaskCausalOp::create(builder, loc, each));
      case 2:
        parts.push_back(
            [=](int64_t i, int64_t j) { return j >= i + x - before && j <= i + x + after; });
        return MaskWindowOp::create(builder, loc, before, after, one);
      case 3:
        parts.push_back([=](int64_t, int64_t j) { return j < x; });
        return MaskLengthsOp::create(builder, loc, each);
      case 4:
        parts.push_back([=](int64_t, int64_t j) { return j >= x; });
        return MaskNotOp::create(builder, loc, MaskPrefixOp::create(builder, loc, each));
      default:
        parts.push_back([=](int64_t, int64_t j) { return j < x; });
        return MaskPrefixOp::create(builder, loc, each);
      }
    };
    Value mask = part();
    for (int count = number(0, 4); count > 0; --count)
      mask = random() % 2 ? MaskAndOp::create(builder, loc, mask, part()).getResult()
                          : MaskAndOp::create(builder, loc, part(), mask).getResult();
    check(
        mask, {0, 0, queries, keys},
        [&](int64_t, int64_t, int64_t i, int64_t j) {
          return std::all_of(parts.begin(), parts.end(), [&](auto &truth) { return truth(i, j); });
        },
        /*tight=*/true);
    ASSERT_FALSE(HasFatalFailure()) << "composition " << n;
  }
}

TEST_F(MaskBoundsTest, AlternativesAreSound) {
  checkAll(
      [&](Value ns) {
        return MaskOrOp::create(builder, loc, MaskCausalOp::create(builder, loc),
                                MaskPrefixOp::create(builder, loc, ns));
      },
      [](int64_t i, int64_t j, int64_t n, int64_t shift) { return j <= i + shift || j < n; },
      /*tight=*/false);
}

TEST_F(MaskBoundsTest, AscendingDocumentIdsAreExact) {
  Value q = input({2, 9}, {0, 0, 0, 1, 1, 1, 1, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2}),
        k = input({2, 9}, {0, 0, 1, 1, 1, 2, 4, 4, 4, 1, 2, 2, 3, 3, 3, 3, 3, 3});
  for (int64_t first : {0, 4}) {
    Value offset = first ? input({}, {static_cast<int32_t>(first)}) : Value();
    Value mask = MaskDocumentsOp::create(builder, loc, q, k, offset, UnitAttr());
    for (int64_t b : {0, 1})
      check(
          mask, {b, 0, 9 - first, 9},
          [&](int64_t b, int64_t, int64_t i, int64_t j) {
            return inputs[q].values[b * 9 + i + first] == inputs[k].values[b * 9 + j];
          },
          /*tight=*/true);
  }
}

TEST_F(MaskBoundsTest, BlocksAreExact) {
  Value table =
      input({1, 2, 3, 4}, {1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1},
            builder.getI1Type());
  Value mask = MaskBlocksOp::create(builder, loc, table, 4, 3);
  for (int64_t h : {0, 1})
    check(
        mask, {0, h, 11, 12},
        [&](int64_t, int64_t h, int64_t i, int64_t j) {
          return inputs[table].values[(h * 3 + i / 4) * 4 + j / 3] != 0;
        },
        /*tight=*/true, 2);
}

TEST_F(MaskBoundsTest, TablesAreUnknown) {
  Value table = input({1, 1, 1, 5}, {1, 0, 1, 1, 0}, builder.getI1Type());
  Value mask = MaskDenseOp::create(builder, loc, table);
  check(
      mask, {1, 0, 4, 5}, [](int64_t, int64_t, int64_t, int64_t j) { return j != 1 && j != 4; },
      /*tight=*/false);
}

} // namespace
