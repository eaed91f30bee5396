//===- MaskTilesTest.cpp - Tiles that attention visits --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the column tiles that kernels visit, with kernels that output the number of visited tiles
// per tile of rows. For structured masks these are exactly the tiles in which the reference allows
// a pair; for other masks they include at least these.
#include "CountTiles.h"
#include "MaskRun.h"

using namespace heddle;
using namespace heddle::test;

namespace {

/// Rows and columns of a visited tile.
struct TileSize {
  int64_t rows, columns;
};

/// A composition and how its count compares with the reference's.
struct Case {
  Composition counted, allowed; ///< the same mask, without and with the result `weights`
  bool isTight;
  Sizes sizes;
  int64_t columns = 64;
};

/// Inputs with zero queries, so that every allowed pair has a weight.
NamedRefTensors inputsOf(const Case &c, uint64_t seed) {
  NamedRefTensors inputs = c.counted.inputs(c.sizes, seed);
  for (auto &[name, tensor] : inputs)
    if (name == "q")
      std::fill(tensor.values.begin(), tensor.values.end(), 0);
  return inputs;
}

/// Sequences or documents: first query, first key and the number of each.
struct Span {
  int64_t batch, query, queries, key, keys;
};
std::vector<Span> spansOf(const Sizes &s) {
  std::vector<Span> spans;
  for (int64_t b = 0; s.queryStarts.empty() && b < s.batch; ++b)
    spans.push_back({b, 0, s.queries, 0, s.keys});
  for (size_t n = 0; n + 1 < s.queryStarts.size(); ++n)
    spans.push_back({0, s.queryStarts[n], s.queryStarts[n + 1] - s.queryStarts[n], s.keyStarts[n],
                     s.keyStarts[n + 1] - s.keyStarts[n]});
  return spans;
}

class MaskTilesTest : public testing::TestWithParam<std::string> {
protected:
  bool onVulkan() const { return GetParam() == "vulkan"; }
  /// Number of cases; lower on a software device, which compiles shaders slowly.
  uint64_t count(uint64_t cases) const { return onVulkan() ? cases / 3 : cases; }
  void check(const std::vector<Case> &cases);
  void compare(const Case &c, const Tensor &counts, const RefTensor &weights);
  Case caseOf(uint64_t seed, const Kinds &kinds, const Sizes &sizes) const;
};

Case MaskTilesTest::caseOf(uint64_t seed, const Kinds &kinds, const Sizes &sizes) const {
  Kinds pictured = kinds;
  pictured.weights = true;
  std::string name = "f" + std::to_string(seed);
  return {compose(seed, name, kinds), compose(seed, name, pictured), kinds.onlyRanges, sizes};
}

void MaskTilesTest::compare(const Case &c, const Tensor &counts, const RefTensor &weights) {
  TileSize tile{onVulkan() ? 32 : 96, onVulkan() ? 64 : c.columns};
  int64_t H = c.counted.heads.queries, width = counts.dim(3);
  auto allows = [&](const Span &s, int64_t h, int64_t i0, int64_t j0) {
    for (int64_t i = i0; i < std::min(i0 + tile.rows, s.queries); ++i)
      for (int64_t j = j0; j < std::min(j0 + tile.columns, s.keys); ++j)
        if (weights.values[((s.batch * H + h) * c.sizes.queries + s.query + i) * c.sizes.keys +
                           s.key + j] > 0)
          return true;
    return false;
  };
  for (const Span &s : spansOf(c.sizes))
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < s.queries; i += tile.rows) {
        int64_t expected = 0;
        for (int64_t j = 0; j < s.keys; j += tile.columns)
          expected += allows(s, h, i, j);
        int64_t row = (s.batch * H + h) * c.sizes.queries + s.query + i;
        auto found = static_cast<int64_t>(counts.values<float>()[row * width]);
        std::string place = "sequence or document at query " + std::to_string(s.query) + ", head " +
                            std::to_string(h) + ", row " + std::to_string(i) + " of " +
                            std::to_string(s.queries) + " by " + std::to_string(s.keys) + "\n" +
                            c.counted.text;
        if (c.isTight)
          ASSERT_EQ(found, expected) << place;
        else
          ASSERT_GE(found, expected) << place;
      }
}

void MaskTilesTest::check(const std::vector<Case> &cases) {
  std::vector<Composition> counted, allowed;
  for (const Case &c : cases) {
    counted.push_back(c.counted);
    allowed.push_back(c.allowed);
  }
  auto counting = MaskModule::compile(counted, {.device = GetParam(), .onTiled = countTiles});
  if (!counting && isMissingDevice(counting.error()))
    GTEST_SKIP() << counting.error().message;
  ASSERT_TRUE(counting) << counting.error().message;
  HEDDLE_ASSERT(reference, MaskModule::forReference(allowed));
  uint64_t seed = 0;
  for (const Case &c : cases) {
    NamedRefTensors inputs = inputsOf(c, ++seed);
    auto counts = counting->onDevice(c.counted.name, inputs);
    ASSERT_TRUE(counts) << counts.error().message << "\n" << c.counted.text;
    auto expected = reference.byReference(c.counted.name, inputs);
    ASSERT_TRUE(expected) << expected.error().message << "\n" << c.counted.text;
    compare(c, counts->at("o"), expected->back().second);
  }
}

const std::vector<Sizes> sizes = {{1, 100, 97},  {2, 200, 150}, {1, 33, 700}, {2, 1, 130},
                                  {1, 130, 100}, {1, 300, 300}, {1, 97, 1100}};

TEST_P(MaskTilesTest, KeyRangesAreTight) {
  std::vector<Case> cases;
  for (uint64_t n = 0; n < count(24); ++n)
    cases.push_back(caseOf(500 + n, {.rules = false, .onlyRanges = true}, sizes[n % sizes.size()]));
  check(cases);
}

TEST_P(MaskTilesTest, BlocksAreTight) {
  std::vector<Case> cases;
  for (auto [rows, columns, visit] : {std::array{32, 64, 64}, std::array{7, 16, 16},
                                      std::array{96, 48, 16}, std::array{40, 128, 64}}) {
    std::string name = "blocks" + std::to_string(columns);
    auto made = [&](bool weights) {
      Random random(1);
      Composer composer(random, {});
      return composer.finish(name, " mask(" + composer.blocks(rows, columns, 20) + ")", "", false,
                             weights);
    };
    cases.push_back({made(false), made(true), true, {2, 150, 700}, visit});
  }
  check(cases);
}

TEST_P(MaskTilesTest, PackedDocumentsAreTight) {
  std::vector<Case> cases;
  for (uint64_t n = 0; n < count(8); ++n) {
    Sizes packed = {1, 431, 460, {0, 1, 101, 101, 230, 431}, {0, 3, 103, 110, 240, 460}};
    cases.push_back(
        caseOf(700 + n, {.rules = false, .documents = true, .onlyRanges = true}, packed));
  }
  check(cases);
}

/// 100 masks, in modules of 20. (A tile that is wrongly omitted also gives a wrong value, which
/// MaskTest's compositions detect.)
TEST_P(MaskTilesTest, OtherMasksVisitAtLeastWhatTheyAllow) {
  constexpr uint64_t perModule = 20;
  for (uint64_t first = 0; first < (onVulkan() ? perModule : 100); first += perModule) {
    std::vector<Case> cases;
    for (uint64_t n = first; n < first + perModule; ++n)
      cases.push_back(caseOf(900 + n, {.rules = false}, sizes[n % sizes.size()]));
    check(cases);
    if (HasFatalFailure() || IsSkipped())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MaskTilesTest, testing::Values<std::string>("cpu", "vulkan"),
                         [](const auto &info) { return info.param; });

} // namespace
