//===- TensorViewTest.cpp - Tensors made from tensors of a checkpoint -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares every view with literal numbers, read at once and in pieces that
// split rows.

#include "heddle/Pack/TensorView.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace heddle;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::Not;

namespace {

/// A single tensor, [3, 4], with elements 0 to 11.
class Counted : public WeightSource {
public:
  Counted() : values(12) {
    for (int i = 0; i < 12; ++i)
      values[i] = static_cast<float>(i);
  }
  const std::string &name() const override { return text; }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int, int64_t first, std::span<float> out) const override {
    std::copy_n(values.begin() + first, out.size(), out.begin());
  }
  std::span<const float> inPlace(int) const override { return values; }

private:
  std::vector<float> values;
  std::string text = "counted";
  std::vector<TensorInfo> infos{{"t", "f32", {3, 4}}};
};

/// All elements. Reads them at once and in pieces of 1 to 5, which must agree.
std::vector<float> all(const TensorViewRef &view) {
  std::vector<float> whole(view->elements());
  view->read(0, whole);
  for (size_t piece = 1; piece <= 5; ++piece) {
    std::vector<float> parts(whole.size());
    for (size_t first = 0; first < parts.size(); first += piece)
      view->read(static_cast<int64_t>(first),
                 std::span(parts).subspan(first, std::min(piece, parts.size() - first)));
    EXPECT_THAT(parts, ElementsAreArray(whole)) << "pieces of " << piece;
  }
  return whole;
}

struct TensorViews : testing::Test {
  Counted source;
  TensorViewRef t = viewOf(source, 0);
};

TEST_F(TensorViews, TransposesOfStackedMatrices) {
  // [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]
  const TensorViewRef view = transposedMatrices(reshaped(t, {3, 2, 2}));
  EXPECT_EQ(view->shape(), (std::vector<int64_t>{6, 2}));
  EXPECT_THAT(all(view), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11));
  EXPECT_THAT(all(transposedMatrices(reshaped(t, {1, 3, 4}))),
              ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_EQ(transposedMatrices(t)->shape(), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(transposedMatrices(reshaped(t, {12}))->shape(), (std::vector<int64_t>{12}));
}

TEST_F(TensorViews, SinusoidsAreHalvesOfSinesAndCosines) {
  std::vector<float> expected;
  for (double row : {2.0, 3.0})
    for (double (*wave)(double) :
         {+[](double x) { return std::sin(x); }, +[](double x) { return std::cos(x); }})
      for (double i : {0.0, 1.0, 2.0})
        expected.push_back(static_cast<float>(wave(row / std::pow(10000, i / 2.5))));
  EXPECT_THAT(all(sinusoids({2, 6}, 2, 2.5)), ElementsAreArray(expected));
  EXPECT_NE(sinusoids({2, 6}, 2, 2.5)->recipe(), sinusoids({2, 6}, 2, 3)->recipe());
}

TEST_F(TensorViews, StoredAndReshapedLieInPlace) {
  EXPECT_THAT(all(t), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  TensorViewRef other = reshaped(t, {2, 6});
  EXPECT_EQ(other->shape(), (std::vector<int64_t>{2, 6}));
  EXPECT_THAT(other->inPlace(), Not(IsEmpty()));
  EXPECT_EQ(reshaped(t, {3, 4}), t);
}

TEST_F(TensorViews, Transposed) {
  EXPECT_THAT(all(transposed(t)), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_EQ(transposed(t)->shape(), (std::vector<int64_t>{4, 3}));
  TensorViewRef vector = reshaped(t, {12});
  EXPECT_EQ(transposed(vector), vector);
}

TEST_F(TensorViews, GatheredAndConcatenated) {
  TensorViewRef some = gathered(t, {2, 0, 1});
  EXPECT_THAT(all(some), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(all(concatenated({gathered(t, {1}), filled({1, 4}, 5)})),
              ElementsAre(4, 5, 6, 7, 5, 5, 5, 5));
}

TEST_F(TensorViews, ScaledByRowsAndShiftedByColumns) {
  TensorViewRef numbers = reshaped(gathered(transposed(t), {1}), {3}); // 1, 5, 9
  EXPECT_THAT(all(scaled(t, numbers)), ElementsAre(0, 1, 2, 3, 20, 25, 30, 35, 72, 81, 90, 99));
  EXPECT_THAT(all(shifted(t, reshaped(gathered(t, {2}), {4}))),
              ElementsAre(8, 10, 12, 14, 12, 14, 16, 18, 16, 18, 20, 22));
  EXPECT_THAT(all(shifted(t, t)), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22));
  EXPECT_THAT(all(shifted(numbers, filled({1}, 1))), ElementsAre(2, 6, 10));
  EXPECT_THAT(all(shifted(numbers, numbers)), ElementsAre(2, 10, 18));
  EXPECT_THAT(all(scaled(numbers, numbers)), ElementsAre(1, 25, 81));
}

TEST_F(TensorViews, ConvolutionsHaveChannelsLast) {
  TensorViewRef kernels = channelsLast(reshaped(t, {2, 3, 1, 2})); // [out, in, 1, 2]
  EXPECT_EQ(kernels->shape(), (std::vector<int64_t>{2, 1, 2, 3}));
  EXPECT_THAT(all(kernels), ElementsAre(0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11));
}

TEST_F(TensorViews, FrozenNormsAreFolded) {
  TensorViewRef rows = reshaped(gathered(t, {0}), {4});
  TensorViewRef numbers = reshaped(rows, {2, 2}), two = gathered(rows, {2, 3});
  const FrozenNorm norm{two, gathered(rows, {0, 1}), gathered(rows, {1, 2}), filled({2}, 3), 1};
  // Factors 2 / sqrt(4) and 3 / sqrt(4).
  EXPECT_THAT(all(frozen(numbers, norm)), ElementsAre(0, 1, 3, 4.5));
  EXPECT_THAT(all(frozen(two, norm)), ElementsAre((2 - 1) * 1 + 0, (3 - 2) * 1.5 + 1));
}

/// Ranges as "first+count at place", with "t" for a transpose; "none" if elements are computed.
std::string rangesOf(const TensorViewRef &view) {
  const auto ranges = view->ranges();
  std::string text = ranges ? "" : "none";
  for (const ViewRange &range : ranges.value_or(std::vector<ViewRange>()))
    text += std::to_string(range.first) + "+" + std::to_string(range.count) + " at " +
            std::to_string(range.at) + (range.transposed ? "t" : "") + ";";
  return text;
}

TEST_F(TensorViews, RangesAreWhereTheCheckpointStoresThem) {
  EXPECT_EQ(rangesOf(t), "0+12 at 0;");
  EXPECT_EQ(rangesOf(reshaped(t, {12})), "0+12 at 0;");
  EXPECT_EQ(rangesOf(transposed(t)), "0+12 at 0t;");
  EXPECT_EQ(rangesOf(gathered(t, {1, 2, 0})), "0+8 at 4;8+4 at 0;");
  EXPECT_EQ(rangesOf(concatenated({gathered(t, {2}), t})), "0+4 at 8;4+12 at 0;");
  EXPECT_EQ(rangesOf(gathered(gathered(t, {1, 2}), {1})), "0+4 at 8;");
  EXPECT_EQ(rangesOf(shifted(t, gathered(t, {1}))), "0+12 at 0;0+0 at 4;");
  EXPECT_EQ(rangesOf(shifted(t, filled({1}, 0))), "0+12 at 0;");
  EXPECT_EQ(rangesOf(scaled(t, filled({1}, 1))), "0+12 at 0;");
  EXPECT_EQ(rangesOf(scaled(t, filled({1}, 2))), "none");
  EXPECT_EQ(rangesOf(shifted(t, filled({1}, 1))), "none");
  EXPECT_EQ(rangesOf(filled({3}, 1)), "none");
  EXPECT_EQ(rangesOf(concatenated({t, filled({1, 4}, 5)})), "none");
  EXPECT_EQ(rangesOf(gathered(gathered(t, {2, 0}), {1})), "none"); // several ranges
}

/// Equal recipes are stored once, so recipes of different views must differ.
TEST_F(TensorViews, RecipesNameWhatIsRead) {
  EXPECT_EQ(gathered(t, {0, 1})->recipe(), gathered(viewOf(source, 0), {0, 1})->recipe());
  EXPECT_NE(gathered(t, {0, 1})->recipe(), gathered(t, {1, 0})->recipe());
  EXPECT_NE(scaled(t, filled({1}, 2))->recipe(), shifted(t, filled({1}, 2))->recipe());
  EXPECT_NE(scaled(t, filled({1}, 2))->recipe(), scaled(t, filled({1}, 2.0000002f))->recipe());
}

TEST_F(TensorViews, ASourceOfViews) {
  std::vector<std::pair<std::string, TensorViewRef>> views{{"a", t}, {"b", transposed(t)}};
  std::unique_ptr<WeightSource> made = makeViewSource("model", std::move(views), {});
  EXPECT_EQ(made->find("b"), 1);
  EXPECT_EQ(made->tensors()[1].shape, (std::vector<int64_t>{4, 3}));
  std::vector<float> two(2);
  made->read(1, 3, two);
  EXPECT_THAT(two, ElementsAre(1, 5));
}

} // namespace
