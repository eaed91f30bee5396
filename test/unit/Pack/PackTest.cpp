//===- PackTest.cpp - Tests of packing -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares every layout with a plain formula, from memory and through a
// conversion. Also tests the errors of lists that do not match a source.

#include "heddle/Pack/Pack.h"
#include "heddle/Support/Float.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

using namespace heddle;

namespace {

/// Element n of tensor t is 1 + n + 1000000 t, which is exact and not zero.
class CountingSource : public WeightSource {
public:
  CountingSource(std::vector<TensorInfo> tensors, bool inMemory) : infos(std::move(tensors)) {
    for (size_t t = 0; t < infos.size(); ++t) {
      values.emplace_back(infos[t].elements());
      for (size_t n = 0; n < values[t].size(); ++n)
        values[t][n] = static_cast<float>(1 + n + 1000000 * t);
    }
    inPlaceAllowed = inMemory;
  }
  const std::string &name() const override { return sourceName; }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int tensor, int64_t first, std::span<float> out) const override {
    std::copy_n(values[tensor].begin() + first, out.size(), out.begin());
  }
  std::span<const float> inPlace(int tensor) const override {
    return inPlaceAllowed ? std::span<const float>(values[tensor]) : std::span<const float>();
  }

private:
  std::string sourceName = "w.safetensors";
  std::vector<TensorInfo> infos;
  std::vector<std::vector<float>> values;
  bool inPlaceAllowed;
};

/// Position of element i of a dimension that is divided into padded groups.
int64_t placeOf(int64_t i, int64_t group) {
  return group ? i / group * padded(group) + i % group : i;
}

/// The layouts defined in Program.h, computed element by element.
std::vector<float> expectedPacking(const PackEntry &entry) {
  std::vector<float> out(packedElements(entry), 0.0f);
  int64_t rows = entry.shape[0], columns = 1;
  for (size_t i = 1; i < entry.shape.size(); ++i)
    columns *= entry.shape[i];
  int64_t pitch = paddedGroups(columns, entry.columnGroup);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      int64_t row = placeOf(r, entry.rowGroup), column = placeOf(c, entry.columnGroup);
      int64_t at = entry.layout == PackEntry::Layout::Vector ? row
                   : entry.layout == PackEntry::Layout::Rows
                       ? r * pitch + column
                       : (row / 16 * pitch + column) * 16 + row % 16;
      out[at] = static_cast<float>(1 + r * columns + c);
    }
  return out;
}

TEST(Pack, EveryLayoutAgainstItsFormula) {
  using Layout = PackEntry::Layout;
  const PackEntry entries[] = {
      {"w", {7}, Layout::Vector, 0, 0, 0},         {"w", {48}, Layout::Vector, 0, 0, 0},
      {"w", {30}, Layout::Vector, 10, 0, 0},       {"w", {5, 7}, Layout::Rows, 0, 0, 0},
      {"w", {37, 60}, Layout::Rows, 0, 20, 0},     {"w", {16, 16}, Layout::Panels, 0, 0, 0},
      {"w", {1, 1}, Layout::Panels, 0, 0, 0},      {"w", {50, 33}, Layout::Panels, 0, 0, 0},
      {"w", {40, 24}, Layout::Panels, 20, 0, 0},   {"w", {24, 40}, Layout::Panels, 0, 20, 0},
      {"w", {60, 72}, Layout::Panels, 20, 24, 0},  {"w", {36, 8}, Layout::Panels, 4, 0, 0},
      {"w", {20, 30, 1}, Layout::Panels, 0, 0, 0}, {"w", {50, 30}, Layout::Panels, 20, 20, 0},
  };
  for (const PackEntry &entry : entries)
    for (bool inMemory : {true, false})
      for (int threads : {1, 3}) {
        CountingSource source({{"w", "f32", entry.shape}}, inMemory);
        // Padding must become zero, whatever the memory contained.
        std::vector<float> packed(packedElements(entry), -1.0f);
        ASSERT_TRUE(pack(entry, source, reinterpret_cast<std::byte *>(packed.data()), threads));
        ASSERT_EQ(packed, expectedPacking(entry))
            << shapeText(entry.shape) << " " << entry.rowGroup << " " << entry.columnGroup;
      }
}

/// In panels of 16-bit types, two columns of a row are adjacent, and panels take half the memory.
void expectNarrowPanels(DType type, uint16_t (*rounded)(float)) {
  using Layout = PackEntry::Layout;
  const PackEntry entries[] = {{"w", {16, 16}, Layout::Panels, 0, 0, 0, type},
                               {"w", {1, 1}, Layout::Panels, 0, 0, 0, type},
                               {"w", {50, 33}, Layout::Panels, 0, 0, 0, type},
                               {"w", {24, 42}, Layout::Panels, 0, 21, 0, type},
                               {"w", {20, 600}, Layout::Panels, 10, 0, 0, type},
                               {"w", {160, 601}, Layout::Panels, 0, 0, 0, type}};
  for (const PackEntry &entry : entries)
    for (bool inMemory : {true, false}) {
      CountingSource source({{"w", "f32", entry.shape}}, inMemory);
      std::vector<uint16_t> packed(packedElements(entry) * 2, 0xffff);
      ASSERT_TRUE(pack(entry, source, reinterpret_cast<std::byte *>(packed.data()), 3));
      PackEntry wide = entry;
      wide.type = DType::F32;
      std::vector<float> values = expectedPacking(wide);
      ASSERT_EQ(packed.size(), values.size());
      for (size_t i = 0; i < values.size(); ++i) { // from [k][16] to [k / 2][16][2]
        size_t k = i / 16 % 2, row = i % 16;
        ASSERT_EQ(packed[i / 32 * 32 + row * 2 + k], rounded(values[i]))
            << shapeText(entry.shape) << " at " << i;
      }
    }
}

/// Rows of small numbers; one row of zeros, one with a NaN, one with an infinity, one of denormals.
class RowSource : public CountingSource {
public:
  explicit RowSource(std::vector<int64_t> shape) : CountingSource({{"w", "f32", shape}}, false) {
    int64_t columns = tensors()[0].elements() / shape[0];
    for (int64_t n = 0; n < tensors()[0].elements(); ++n) {
      int64_t row = n / columns, k = n % columns;
      numbers.push_back(row == 1             ? 0.0f
                        : row == 2 && k == 0 ? std::numeric_limits<float>::quiet_NaN()
                        : row == 3 && k == 0 ? -std::numeric_limits<float>::infinity()
                                             : static_cast<float>((n * 37 + 11) % 101 - 50) *
                                                   (row == 4 ? 0x1p-140f : 0.125f));
    }
  }
  void read(int, int64_t first, std::span<float> out) const override {
    std::copy_n(numbers.begin() + first, out.size(), out.begin());
  }
  std::vector<float> numbers;
};

/// Codes of rows, with four columns of a row adjacent, and the scales and sums of the rows.
TEST(Pack, PanelsOfCodes) {
  using Layout = PackEntry::Layout;
  struct Case {
    std::vector<int64_t> shape;
    int64_t rowGroup = 0;
  };
  for (const auto &[shape, rowGroup] :
       {Case{{16, 16}}, Case{{3, 1}}, Case{{50, 33}}, Case{{20, 601}, 10}, Case{{5, 300, 1}}}) {
    RowSource source(shape);
    PackEntry panels{"w", shape, Layout::Panels, rowGroup, 0, 0, DType::I8};
    PackEntry beside{"w", shape, Layout::Scales, rowGroup, 0, 0, DType::F32};
    std::vector<int8_t> codes(packedElements(panels) * 4, 99);
    std::vector<float> scales(packedElements(beside), -1.0f);
    ASSERT_TRUE(pack(panels, source, reinterpret_cast<std::byte *>(codes.data()), 3));
    ASSERT_TRUE(pack(beside, source, reinterpret_cast<std::byte *>(scales.data()), 3));
    auto [rows, columns] = matrixOf(panels);
    int64_t pitch = padded(columns), stored = paddedGroups(rows, rowGroup);
    ASSERT_EQ(static_cast<int64_t>(scales.size()), 2 * stored);
    std::vector<int8_t> expected(codes.size(), 0);
    for (int64_t r = 0; r < rows; ++r) {
      const float *row = source.numbers.data() + r * columns;
      float largest = 0, sum = 0;
      for (int64_t k = 0; k < columns; ++k)
        largest = std::max(largest, std::fabs(row[k]));
      int64_t place = placeOf(r, rowGroup);
      const bool isFinite = r != 2 && r != 3;
      if (largest < 0x1p-118f)
        largest = 0;
      for (int64_t k = 0; k < columns && isFinite && largest > 0; ++k) {
        int64_t at = (place / 16 * pitch / 4 + k / 4) * 64 + place % 16 * 4 + k % 4;
        expected[at] = static_cast<int8_t>(std::nearbyint(row[k] * (127 / largest)));
        sum += expected[at];
      }
      if (!isFinite)
        EXPECT_TRUE(std::isnan(scales[place])) << shapeText(shape);
      else
        EXPECT_EQ(scales[place], largest / 127) << shapeText(shape) << " row " << r;
      EXPECT_EQ(scales[stored + place], sum) << shapeText(shape) << " row " << r;
    }
    EXPECT_EQ(codes, expected) << shapeText(shape);
  }
}

TEST(Pack, PanelsOfBFloat) { expectNarrowPanels(DType::BF16, bfloatFromFloat); }

/// The values of the last entry exceed the range of f16 and become infinite.
TEST(Pack, PanelsOfHalf) { expectNarrowPanels(DType::F16, halfFromFloat); }

/// Numbers with any 32 bits: denormals, infinities, NaN with any payload.
class BitsSource : public CountingSource {
public:
  explicit BitsSource(std::vector<int64_t> shape) : CountingSource({{"w", "f32", shape}}, false) {
    uint32_t state = 3;
    for (int64_t n = 0; n < tensors()[0].elements(); ++n) {
      state = state * 1664525u + 1013904223u;
      numbers.push_back(std::bit_cast<float>(n % 3 ? state ^ state >> 15 : state & 0x807fffff));
    }
  }
  void read(int, int64_t first, std::span<float> out) const override {
    std::memcpy(out.data(), numbers.data() + first, out.size_bytes());
  }
  std::vector<float> numbers;
};

/// Every bit of a number is preserved or rounded as for a single number, at any position within the
/// numbers that are read and transposed together.
TEST(Pack, PanelsOfAnyBits) {
  constexpr int64_t rows = 37, columns = 531;
  BitsSource source({rows, columns});
  for (DType type : {DType::F32, DType::BF16, DType::F16}) {
    PackEntry entry{"w", {rows, columns}, PackEntry::Layout::Panels, 0, 0, 0, type};
    std::vector<uint32_t> packed(packedElements(entry), 0xffffffffu);
    ASSERT_TRUE(pack(entry, source, reinterpret_cast<std::byte *>(packed.data()), 2));
    const auto *halves = reinterpret_cast<const uint16_t *>(packed.data());
    const int64_t pitch = padded(columns);
    for (int64_t r = 0; r < padded(rows); ++r)
      for (int64_t c = 0; c < pitch; ++c) {
        const bool isThere = r < rows && c < columns;
        const float number = isThere ? source.numbers[r * columns + c] : 0.0f;
        const int64_t panel = r / 16 * pitch;
        const uint32_t found = type == DType::F32
                                   ? packed[(panel + c) * 16 + r % 16]
                                   : halves[((panel + c) / 2 * 16 + r % 16) * 2 + c % 2];
        const uint32_t expected = type == DType::F32    ? std::bit_cast<uint32_t>(number)
                                  : type == DType::BF16 ? bfloatFromFloat(number)
                                                        : halfFromFloat(number);
        ASSERT_EQ(found, expected) << int(type) << " " << r << ", " << c;
      }
  }
}

/// Groups of 32 columns, the last one shorter. The source counts, so the numbers of a group are its
/// minimum plus multiples of a step. Missing features and rows are zeros.
TEST(Pack, PanelsOfNibbles) {
  for (auto [n, k, rowGroup] :
       {std::array<int64_t, 3>{16, 64, 0}, {5, 33, 0}, {40, 100, 20}, {20, 31, 0}}) {
    PackEntry entry{"w", {n, k}, PackEntry::Layout::Panels, rowGroup, 0, 0, DType::I4};
    CountingSource source({{"w", "f32", {n, k}}}, true);
    std::vector<uint32_t> packed(packedElements(entry), 0xffffffffu);
    ASSERT_TRUE(pack(entry, source, reinterpret_cast<std::byte *>(packed.data()), 2));
    int64_t blocks = (k + 31) / 32, stored = paddedGroups(n, rowGroup);
    ASSERT_EQ(static_cast<int64_t>(packed.size()), stored / 16 * blocks * 80);
    std::vector<int64_t> rowAt(stored, -1);
    for (int64_t row = 0; row < n; ++row)
      rowAt[placeOf(row, rowGroup)] = row;
    for (int64_t r = 0; r < stored; ++r)
      for (int64_t c = 0; c < blocks * 32; ++c) {
        const uint32_t *block = packed.data() + (r / 16 * blocks + c / 32) * 80;
        auto *halves = reinterpret_cast<const uint16_t *>(block + 64);
        uint32_t code = block[c % 32 / 8 * 16 + r % 16] >> (c % 4 * 8 + c / 4 % 2 * 4) & 15;
        float d = floatFromHalf(halves[r % 16]), m = floatFromHalf(halves[16 + r % 16]);
        if (rowAt[r] < 0 || c >= k) {
          ASSERT_EQ(code, 0u) << r << ", " << c;
          ASSERT_TRUE(rowAt[r] >= 0 || (d == 0 && m == 0)) << r << ", " << c;
          continue;
        }
        auto number = static_cast<float>(1 + rowAt[r] * k + c);
        ASSERT_LE(d, 31.0f / 15 * 1.001f) << r << ", " << c;
        // Half a step, the rounding error of the scale, and the part by which the range was
        // reduced.
        ASSERT_NEAR(d * static_cast<float>(code) + m, number,
                    d / 2 + 31 * 0.07f + number * 0x1p-10f)
            << r << ", " << c;
      }
  }
}

TEST(Pack, AllEntriesGoToTheirPlaces) {
  Program program;
  program.weights = {{"b", 256, 16}, {"a", 512, 256}};
  program.pack = {{"a", {16, 16}, PackEntry::Layout::Panels, 0, 0, 1},
                  {"b", {3}, PackEntry::Layout::Vector, 0, 0, 0}};
  program.weightBytes = 512 + 1024;
  CountingSource source({{"a", "f32", {16, 16}}, {"b", "f32", {3}}}, true);
  std::vector<std::byte> bytes(program.weightBytes);
  ASSERT_TRUE(packAll(program, source, bytes));
  auto at = [&](size_t offset) {
    float value;
    std::memcpy(&value, &bytes[offset], 4);
    return value;
  };
  EXPECT_EQ(at(0), 0.0f);
  EXPECT_EQ(at(256 + 8), 1000003.0f);
  EXPECT_EQ(at(256 + 12), 0.0f);
  EXPECT_EQ(at(512 + 4), 17.0f);
}

TEST(Pack, ErrorsNameTensorAndShapes) {
  CountingSource source(
      {{"encoder.0.ffn.in.weight", "f32", {512, 2048}}, {"ids", "i64", {4}}, {"x", "f32", {1}}},
      true);
  auto problem = [&](PackEntry entry) {
    return checkTensors(std::span(&entry, 1), source).error().message;
  };
  EXPECT_EQ(problem({"encoder.0.ffn.in.weight", {2048, 512}}),
            "w.safetensors: encoder.0.ffn.in.weight: expected [2048, 512], found [512, 2048]");
  EXPECT_EQ(
      problem({"encoder.1.ffn.in.weight", {2048, 512}}),
      "w.safetensors: encoder.1.ffn.in.weight: expected [2048, 512], found no tensor of this name");
  EXPECT_EQ(problem({"ids", {4}}), "w.safetensors: ids: expected f32, f16, bf16 or f64, found i64");
  EXPECT_EQ(problem({"x", {1}}), "");
}

} // namespace
