//===- FormatsTest.cpp - Rows of the tables of formats --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the invariants of every row, and sizes of panels.
#include "heddle/Support/Formats.h"

#include <gtest/gtest.h>
#include <set>

using namespace heddle;

namespace {

TEST(Formats, BlocksHoldTheirCodesAndScales) {
  for (const ElementFormat &row : format_rows::elements) {
    SCOPED_TRACE(toString(row.type));
    EXPECT_EQ(formatOf(row.type).type, row.type);
    if (!row.blockColumns)
      continue;
    int64_t codes = row.blockColumns * 16 * row.bits / 8; // bytes of 16 rows
    EXPECT_EQ(row.perWord * row.bits, 32);
    EXPECT_EQ(codes % 64, 0);
    if (row.holdsScales()) {
      EXPECT_GT(row.blockLines * 64, codes);
      EXPECT_EQ(row.blockColumns % row.group, 0);
    } else {
      EXPECT_EQ(row.blockLines * 64, codes);
    }
  }
}

TEST(Formats, PanelsAreWholeBlocks) {
  EXPECT_EQ(panelBytes(DType::F32, 48), 48 * 64);
  EXPECT_EQ(panelBytes(DType::BF16, 47), 24 * 64);
  EXPECT_EQ(panelBytes(DType::I8, 45), 12 * 64);
  EXPECT_EQ(panelBytes(DType::I4, 1), 5 * 64);
  EXPECT_EQ(panelBytes(DType::I4, 65), 15 * 64);
  EXPECT_EQ(panelOffset(DType::I4, 127), 15 * 64);
  EXPECT_EQ(panelOffset(DType::F16, 256), 128 * 64);
}

TEST(Formats, HaveNamesAndProductsOfTheirOwn) {
  std::set<std::pair<DType, DType>> products;
  for (const NumberFormat &row : numberFormats) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(findFormat(row.name), row.name.empty() ? nullptr : &row);
    EXPECT_EQ(findProduct(row.rows, row.weights), &row);
    EXPECT_TRUE(products.emplace(row.rows, row.weights).second);
    EXPECT_GT(row.tolerance, 0);
    EXPECT_GT(row.error, 0);
    EXPECT_EQ(row.scales > 0, row.scaleGroup > 0);
    EXPECT_EQ(row.scales > 0, row.groupScales > 0);
    // Scales of rows and of weights are combined in a sum: their groups are equal, and blocks of
    // sums contain whole groups.
    EXPECT_EQ(row.sumsGroups(), formatOf(row.weights).holdsScales());
    if (row.sumsGroups()) {
      EXPECT_EQ(row.scaleGroup, formatOf(row.weights).group);
      EXPECT_EQ(row.sumBlock % row.scaleGroup, 0);
    }
  }
  EXPECT_EQ(findFormat("int2"), nullptr);
  EXPECT_EQ(findProduct(DType::BF16, DType::I4), nullptr);
  EXPECT_EQ(formatNames(), "f32, bf16, f16, f16-sum, int8, int4 or file");
  EXPECT_EQ(formatNames(", "), "f32, bf16, f16, f16-sum, int8, int4, file");
}

/// The type to which other products are rounded has a format too, with weights of this type.
TEST(Formats, OtherProductsHaveAFormat) {
  for (const NumberFormat &row : numberFormats) {
    EXPECT_EQ(formatOfWeights(row.others).weights, row.others);
    EXPECT_EQ(formatOfWeights(row.others).scales, 0);
  }
  EXPECT_EQ(formatOfWeights(DType::F16).name, "f16");
  EXPECT_EQ(formatOfRows(DType::F16).name, "f16-sum");
  EXPECT_EQ(findFormat("int8")->rowScales(513), 1);
  EXPECT_EQ(findFormat("f16")->rowScales(513), 0);
  EXPECT_EQ(findFormat("int4")->rowScales(513), 34);
  EXPECT_EQ(findFormat("int4")->rowScales(1), 2);
  EXPECT_EQ(findFormat("file")->rowScales(513), 34);
  EXPECT_EQ(findProduct(DType::I8, DType::SI6)->rowScales(513), 66);
  EXPECT_EQ(scaleGroupOf(513, 1), wholeRow);
  EXPECT_EQ(scaleGroupOf(513, 34), 32);
  EXPECT_EQ(scaleGroupOf(513, 66), 16);
}

} // namespace
