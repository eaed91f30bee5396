//===- KeptCodesTest.cpp - 4-bit codes of a checkpoint --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GGUF's blocks of Q4_0 and Q4_1 are int4 groups. Panels contain the codes of
// the file if a view only moves rows. If the view computes, or if f16 cannot
// represent -8 d, they contain codes of the numbers.

#include "GgufFile.h"
#include "Int4Groups.h"
#include "Sequence.h"
#include "TemporaryFolder.h"

#include "heddle/Pack/GgufWeights.h"
#include "heddle/Pack/Pack.h"
#include "heddle/Pack/TensorView.h"
#include "heddle/Support/Float.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t columns = 96, groups = columns / 32;
constexpr uint32_t q4_0 = 2, q4_1 = 3;

/// A matrix of blocks with random codes, and with scales and minimums from `halves` in turn.
std::string blocksOf(int64_t rows, bool hasMinimum, const std::vector<uint16_t> &halves) {
  Sequence next{7};
  std::string bytes;
  for (int64_t block = 0; block < rows * groups; ++block) {
    bytes += GgufFile::number(halves[static_cast<size_t>(block) % halves.size()]);
    if (hasMinimum)
      bytes += GgufFile::number(halves[static_cast<size_t>(block * 5 + 3) % halves.size()]);
    for (int i = 0; i < 16; ++i)
      bytes += static_cast<char>(next() % 256);
  }
  return bytes;
}

/// A block of the file, decoded as its format is documented.
GroupCodes blockOf(const std::string &bytes, bool hasMinimum, int64_t row, int64_t group) {
  const char *at = bytes.data() + (row * groups + group) * (hasMinimum ? 20 : 18);
  GroupCodes codes{};
  std::memcpy(&codes.scale, at, 2);
  if (hasMinimum)
    std::memcpy(&codes.minimum, at + 2, 2);
  else
    codes.minimum = halfFromDouble(-8.0 * floatFromHalf(codes.scale));
  at += hasMinimum ? 4 : 2;
  for (size_t i = 0; i < 32; ++i)
    codes.codes[i] = static_cast<uint8_t>(at[i % 16] >> (i / 16 * 4) & 15);
  return codes;
}

GroupCodes packedAt(const std::vector<Int4Block> &blocks, int64_t row, int64_t group) {
  return groupOf(blocks[static_cast<size_t>(row / 16 * groups + group)], row % 16);
}

bool operator==(const GroupCodes &a, const GroupCodes &b) {
  return a.scale == b.scale && a.minimum == b.minimum && a.codes == b.codes;
}

class KeptCodes : public testing::Test {
protected:
  static constexpr int64_t rows = 20;
  /// 0, -0, denormals and both signs. -8 times any of them does not overflow.
  const std::vector<uint16_t> usual = {0x2e66, 0,      0xae66, 0x8000, 0x0001,
                                       0x83ff, 0x6fff, 0x1234, 0xb001, 0x0400};
  const std::string zero = blocksOf(rows, false, usual), one = blocksOf(rows, true, usual);

  void SetUp() override {
    GgufFile file;
    file.tensor("zero", {rows, columns}, q4_0, zero).tensor("one", {rows, columns}, q4_1, one);
    source = open(file);
  }
  std::unique_ptr<WeightSource> open(const GgufFile &file) {
    auto opened = openGgufWeights(folder.write("m.gguf", file.bytes()));
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  TensorViewRef view(const char *name) { return viewOf(*source, source->find(name)); }
  static std::vector<Int4Block> packed(const TensorViewRef &view) {
    auto named = makeViewSource("model", {{"w", view}}, {});
    PackEntry entry{"w", view->shape(), PackEntry::Layout::Panels, 0, 0, 0, DType::I4};
    std::vector<Int4Block> blocks(static_cast<size_t>(packedElements(entry)) * 4 /
                                  sizeof(Int4Block));
    EXPECT_TRUE(pack(entry, *named, reinterpret_cast<std::byte *>(blocks.data()), 2));
    return blocks;
  }
  /// The codes that packing computes from a view's numbers.
  static GroupCodes roundedAt(const TensorViewRef &view, int64_t row, int64_t group) {
    std::vector<float> numbers(32);
    view->read(row * columns + group * 32, numbers);
    return int4CodesOf(numbers);
  }

  TemporaryFolder folder;
  std::unique_ptr<WeightSource> source;
};

TEST_F(KeptCodes, OfWholeTensors) {
  int others = 0; // codes that rounding would not have produced
  for (bool hasMinimum : {false, true}) {
    TensorViewRef whole = view(hasMinimum ? "one" : "zero");
    auto blocks = packed(whole);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t group = 0; group < groups; ++group) {
        GroupCodes expected = blockOf(hasMinimum ? one : zero, hasMinimum, row, group);
        ASSERT_TRUE(packedAt(blocks, row, group) == expected) << row << ", " << group;
        others += !(roundedAt(whole, row, group) == expected);
      }
  }
  EXPECT_GT(others, 40);
}

TEST_F(KeptCodes, OfRowsThatMove) {
  const std::vector<int64_t> taken = {19, 3, 4, 5, 0, 3, 17};
  TensorViewRef moved = concatenated(
      {gathered(view("one"), taken), reshaped(view("zero"), {rows, 3, 32}), view("one")});
  moved = reshaped(moved, {int64_t(taken.size()) + 2 * rows, columns});
  auto blocks = packed(moved);
  for (int64_t row = 0; row < moved->rows(); ++row)
    for (int64_t group = 0; group < groups; ++group) {
      auto cut = static_cast<int64_t>(taken.size());
      GroupCodes expected = row < cut ? blockOf(one, true, taken[static_cast<size_t>(row)], group)
                            : row < cut + rows ? blockOf(zero, false, row - cut, group)
                                               : blockOf(one, true, row - cut - rows, group);
      ASSERT_TRUE(packedAt(blocks, row, group) == expected) << row << ", " << group;
    }
}

TEST_F(KeptCodes, OfNoNumbersThatAreComputed) {
  TensorViewRef square = gathered(view("one"), {0, 1, 2});
  for (const TensorViewRef &made :
       {scaled(view("zero"), filled({1}, 3)), shifted(view("one"), filled({1}, 0.5f)),
        reshaped(transposed(reshaped(square, {columns, 3})), {3, columns})}) {
    auto blocks = packed(made);
    for (int64_t row = 0; row < made->rows(); ++row)
      for (int64_t group = 0; group < groups; ++group)
        ASSERT_TRUE(packedAt(blocks, row, group) == roundedAt(made, row, group))
            << made->recipe() << ": " << row << ", " << group;
  }
}

/// A group that begins inside a block is not a block of the file.
TEST_F(KeptCodes, OfGroupsThatAreBlocks) {
  TensorViewRef other = reshaped(view("one"), {rows * 2, 48});
  EXPECT_TRUE(other->codes(96));
  EXPECT_FALSE(other->codes(48));
  auto named = makeViewSource("model", {{"w", other}}, {});
  PackEntry entry{"w", other->shape(), PackEntry::Layout::Panels, 0, 0, 0, DType::I4};
  std::vector<Int4Block> blocks(3 * 2);
  ASSERT_TRUE(pack(entry, *named, reinterpret_cast<std::byte *>(blocks.data())));
  std::vector<float> numbers(32);
  other->read(48, numbers);
  EXPECT_EQ(blocks[0].scales[1], int4CodesOf(numbers).scale);
  other->read(32, std::span(numbers).first(16)); // after the only whole group of the row
  EXPECT_EQ(blocks[1].scales[0], int4CodesOf(std::span(numbers).first(16)).scale);
  EXPECT_EQ(blocks[0].scales[2], blockOf(one, true, 1, 0).scale);
}

/// If d is 8192 or more, f16 cannot represent -8 d, and the numbers are quantised again. If a scale
/// is not finite, the new scale is not finite either.
TEST_F(KeptCodes, OfScalesThatF16CanHold) {
  const std::vector<uint16_t> edges = {0x6fff, 0x7000, 0xf000, 0x7bff, 0x7c00, 0x7e00};
  const std::string large = blocksOf(rows, false, edges), both = blocksOf(rows, true, edges);
  GgufFile file;
  file.tensor("zero", {rows, columns}, q4_0, large).tensor("one", {rows, columns}, q4_1, both);
  source = open(file);
  auto zeros = packed(view("zero")), ones = packed(view("one"));
  auto isFinite = [](uint16_t half) { return (half & 0x7c00) != 0x7c00; };
  int kept = 0, rounded = 0;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t group = 0; group < groups; ++group) {
      for (bool hasMinimum : {false, true}) {
        GroupCodes block = blockOf(hasMinimum ? both : large, hasMinimum, row, group),
                   found = packedAt(hasMinimum ? ones : zeros, row, group);
        bool isKept = isFinite(block.scale) && isFinite(block.minimum);
        ++(isKept ? kept : rounded);
        ASSERT_TRUE(found ==
                    (isKept ? block : roundedAt(view(hasMinimum ? "one" : "zero"), row, group)))
            << row << ", " << group;
        ASSERT_TRUE(isFinite(block.scale) || !isFinite(found.scale));
      }
    }
  EXPECT_GT(kept, 10);
  EXPECT_GT(rounded, 10);
}

} // namespace
