//===- TileClassesTest.cpp - Maps of tiles --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares maps of common masks with counts computed by hand or from every
// pair. Also tests the fraction of tiles that formulas visit, and score rules.

#include "heddle/Analysis/TileClasses.h"
#include "heddle/Dialect/Transformer/IR/ScoreTables.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

namespace {

class TileClassesTest : public ::testing::Test {
protected:
  TileClassesTest() {
    context.loadDialect<TransformerDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect>();
  }

  /// An attention whose mask (`%m`) or rule (`%s`) is defined by `body`. `arguments` declares
  /// further arguments of the function.
  AttentionOp parse(StringRef body, StringRef arguments = "") {
    bool rule = body.contains("%s =");
    std::string text =
        ("func.func @f(%x: tensor<?x8x?x4xf32>" + arguments + ") {\n" + body +
         "\n%o = transformer.attention %x, %x, %x " + (rule ? "bias(%s)" : "mask(%m)") +
         " {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>) "
         "-> tensor<?x8x?x4xf32>\nreturn\n}")
            .str();
    module = parseSourceString<ModuleOp>(text, &context);
    AttentionOp op;
    if (module)
      module->walk([&](AttentionOp found) { op = found; });
    return op;
  }

  /// A mask.where with the ops of `body`, which define %c.
  AttentionOp formula(StringRef body, StringRef arguments = "") {
    return parse(("%m = transformer.mask.where {\n^bb0(%b: i32, %h: i32, %i: i32, %j: i32):\n" +
                  body + "\ntransformer.yield %c : i1\n}")
                     .str(),
                 arguments);
  }

  void give(unsigned argument, MaskData data) {
    inputs[(*module->getOps<func::FuncOp>().begin()).getArgument(argument + 1)] = std::move(data);
  }

  TileMap map(AttentionOp op, int64_t queries, int64_t keys, int64_t rows, int64_t columns) {
    llvm::Expected<TileMap> result =
        computeTileMap(op, {0, 0, queries, keys}, inputs, rows, columns);
    EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
    return std::move(*result);
  }

  /// The fraction of all elements that are in visited tiles.
  double visited(AttentionOp op, int64_t size, int64_t rows, int64_t columns) {
    return map(op, size, size, rows, columns).visited(size, size);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  MaskInputs inputs;
};

TEST_F(TileClassesTest, CausalIsATriangle) {
  TileMap causal = map(parse("%m = transformer.mask.causal"), 512, 512, 64, 64);
  EXPECT_EQ(causal.count(TileClass::Full), 28);
  EXPECT_EQ(causal.count(TileClass::Partial), 8);
  EXPECT_EQ(causal.count(TileClass::Empty), 28);
  EXPECT_EQ(causal.at(7, 0), TileClass::Full);
  EXPECT_EQ(causal.at(0, 7), TileClass::Empty);
}

TEST_F(TileClassesTest, AWindowIsABand) {
  TileMap window = map(parse("%c = transformer.mask.causal\n%w = transformer.mask.window before = "
                             "255 after = 0\n%m = transformer.mask.and %c, %w"),
                       8192, 8192, 96, 64);
  EXPECT_LT(window.visited(8192, 8192), 0.052); // 0.031 of the pairs are allowed
}

TEST_F(TileClassesTest, WithoutAMaskAllTilesAreFull) {
  AttentionOp op = parse("%m = transformer.mask.causal");
  op.getMaskMutable().clear();
  EXPECT_EQ(map(op, 100, 50, 64, 64).count(TileClass::Full), 2);
}

TEST_F(TileClassesTest, DataThatIsMissingIsAnError) {
  AttentionOp op = parse("%m = transformer.mask.lengths %n : tensor<?xi32>", ", %n: tensor<?xi32>");
  llvm::Expected<TileMap> result = computeTileMap(op, {0, 0, 4, 4}, inputs, 2, 2);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "expected data for each operand of the mask, found none for one");
  give(0, {{2}, {3}});
  result = computeTileMap(op, {0, 0, 4, 4}, inputs, 2, 2);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()), "expected 2 values, found 1");
}

//===- Formulas that must be skipped well --------------------------------===//

TEST_F(TileClassesTest, BlocksOfTheDiagonal) {
  AttentionOp op = formula("%n = arith.constant 64 : i32\n%u = arith.floordivsi %i, %n : i32\n%v = "
                           "arith.floordivsi %j, %n : i32\n"
                           "%c = arith.cmpi eq, %u, %v : i32");
  TileMap blocks = map(op, 8192, 8192, 64, 64);
  EXPECT_EQ(blocks.count(TileClass::Full), 128);
  EXPECT_EQ(blocks.count(TileClass::Empty), 128 * 127);
  EXPECT_LT(visited(op, 8192, 96, 128), 0.03);
}

TEST_F(TileClassesTest, AWindowOrTheFirstKeys) {
  AttentionOp op = formula("%z = arith.constant 0 : i32\n%w = arith.constant 256 : i32\n%f = "
                           "arith.constant 16 : i32\n%d = arith.subi %i, %j : i32\n"
                           "%p = arith.cmpi sle, %z, %d : i32\n%q = arith.cmpi slt, %d, %w : "
                           "i32\n%r = arith.andi %p, %q : i1\n"
                           "%s1 = arith.cmpi slt, %j, %f : i32\n%c = arith.ori %r, %s1 : i1");
  EXPECT_LT(visited(op, 8192, 96, 64), 0.06); // 0.033 of the pairs are allowed
}

TEST_F(TileClassesTest, ANeighbourhoodInTwoDimensions) {
  AttentionOp op = formula(R"(
    %n = arith.constant 64 : i32
    %four = arith.constant 4 : i32
    %zero = arith.constant 0 : i32
    %iy = arith.floordivsi %i, %n : i32
    %jy = arith.floordivsi %j, %n : i32
    %mi = arith.muli %iy, %n : i32
    %mj = arith.muli %jy, %n : i32
    %ix = arith.subi %i, %mi : i32
    %jx = arith.subi %j, %mj : i32
    %dy = arith.subi %iy, %jy : i32
    %dx = arith.subi %ix, %jx : i32
    %ny = arith.subi %zero, %dy : i32
    %nx = arith.subi %zero, %dx : i32
    %ay = arith.maxsi %dy, %ny : i32
    %ax = arith.maxsi %dx, %nx : i32
    %cy = arith.cmpi sle, %ay, %four : i32
    %cx = arith.cmpi sle, %ax, %four : i32
    %c = arith.andi %cy, %cx : i1)");
  EXPECT_LT(visited(op, 8192, 96, 64), 0.09); // 9 lines of 128
  EXPECT_LT(visited(op, 8192, 16, 16), 0.05); // narrow tiles see the other dimension
}

/// A scan of all 16,384 tiles of 64 x 64 over 8,192 rows takes well under a second.
TEST_F(TileClassesTest, DocumentsByALoadedTable) {
  std::string body =
      "%u = transformer.mask.load %d[%i] : tensor<?xi32>\n%v = transformer.mask.load %d[%j] : "
      "tensor<?xi32>\n%c = arith.cmpi eq, %u, %v : i32";
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; ids.size() < 8192; ++id)
    ids.insert(ids.end(), 50 + id * 397 % 951, id);
  ids.resize(8192);
  AttentionOp op = formula(body, ", %d: tensor<?xi32>");
  give(0, {{8192}, ids});
  TileMap loaded = map(op, 8192, 8192, 64, 64);
  for (int64_t row = 0; row < loaded.rows; ++row)
    for (int64_t column = 0; column < loaded.columns; ++column) {
      bool meet = ids[row * 64] <= ids[column * 64 + 63] && ids[column * 64] <= ids[row * 64 + 63];
      EXPECT_EQ(loaded.at(row, column) != TileClass::Empty, meet);
    }
}

//===- Packed documents --------------------------------------------------===//

TEST_F(TileClassesTest, PackedDocumentsCountInsideThemselves) {
  AttentionOp op = parse("%d = transformer.mask.documents starts(%q, %q) : tensor<?xi32>, "
                         "tensor<?xi32>\n%c = transformer.mask.causal\n"
                         "%m = transformer.mask.and %d, %c",
                         ", %q: tensor<?xi32>");
  give(0, {{5}, {0, 8, 8, 12, 20}});
  TileMap packed = map(op, 20, 20, 4, 4);
  std::string drawn;
  for (int64_t row = 0; row < packed.rows; ++row) {
    for (int64_t column = 0; column < packed.columns; ++column)
      drawn += ".o#"[static_cast<int>(packed.at(row, column))];
    drawn += "\n";
  }
  EXPECT_EQ(drawn, "o....\n#o...\n..o..\n...o.\n...#o\n");
}

/// Tiles restart at each document, as in kernels: no tile reaches into the next document.
TEST_F(TileClassesTest, PackedDocumentsHaveTilesOfTheirOwn) {
  AttentionOp op = parse("%d = transformer.mask.documents starts(%q, %q) : tensor<?xi32>, "
                         "tensor<?xi32>\n%c = transformer.mask.causal\n"
                         "%m = transformer.mask.and %d, %c",
                         ", %q: tensor<?xi32>");
  give(0, {{3}, {0, 6, 11}});
  TileMap packed = map(op, 11, 11, 4, 4);
  EXPECT_EQ(packed.rowStarts, (std::vector<int64_t>{0, 4, 6, 10, 11}));
  EXPECT_EQ(packed.columnStarts, packed.rowStarts);
  EXPECT_EQ(packed.count(TileClass::Empty), 10); // 4 + 4 across documents, 2 after the diagonal
  EXPECT_EQ(packed.at(1, 0), TileClass::Full);
  EXPECT_DOUBLE_EQ(packed.visited(11, 11), (16 + 8 + 4 + 16 + 4 + 1) / 121.0);
}

//===- What no mask hides, and what is too much --------------------------===//

TEST_F(TileClassesTest, ReplacedScoresVisitEveryTile) {
  AttentionOp op = parse("%m = transformer.mask.causal");
  op.setHiddenScoreAttr(FloatAttr::get(Float32Type::get(&context), -1e9));
  TileMap causal = map(op, 512, 512, 64, 64);
  EXPECT_EQ(causal.count(TileClass::Full), 28);
  EXPECT_EQ(causal.count(TileClass::Empty), 0);
  EXPECT_EQ(causal.visited(512, 512), 1);
}

TEST_F(TileClassesTest, AMapHasAnEnd) {
  llvm::Expected<TileMap> result = computeTileMap(parse("%m = transformer.mask.causal"),
                                                  {0, 0, 1 << 30, 1 << 30}, inputs, 96, 64);
  ASSERT_FALSE(bool(result));
  EXPECT_THAT(llvm::toString(result.takeError()), testing::HasSubstr("at most 4194304 tiles"));
}

//===- Score rules -------------------------------------------------------===//

TEST_F(TileClassesTest, SlopesOfAlibi) {
  EXPECT_EQ(alibiSlopes(8)[0], 0.5f);
  EXPECT_EQ(alibiSlopes(8)[7], 0x1p-8f);
  // Twelve heads: the slopes of eight heads, then every other slope of sixteen.
  EXPECT_EQ(alibiSlopes(12)[8], static_cast<float>(std::exp2(-0.5)));
  EXPECT_EQ(alibiSlopes(12)[11], static_cast<float>(std::exp2(-3.5)));
  AttentionOp op = parse("%s = transformer.bias.alibi");
  llvm::Expected<MaskEvaluator> rule = MaskEvaluator::create(op.getBias(), 8, inputs, 4, 6);
  ASSERT_TRUE(bool(rule));
  const std::vector<uint32_t> &scores = rule->elements({0, 2, 4, 6}, 0, 0);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j)
      EXPECT_EQ(std::bit_cast<float>(scores[i * 6 + j]),
                -0.125f * static_cast<float>(std::abs(j - (i + 2))));
}

/// T5's own formula, in f32 like the code of its authors.
int64_t bucketOf(int64_t relative, bool bidirectional, int64_t buckets, int64_t maxDistance) {
  int64_t result = 0;
  if (bidirectional) {
    buckets /= 2;
    result = relative > 0 ? buckets : 0;
    relative = std::abs(relative);
  } else {
    relative = -std::min<int64_t>(relative, 0);
  }
  int64_t exact = buckets / 2;
  if (relative < exact)
    return result + relative;
  float ratio =
      std::log(static_cast<float>(relative) / static_cast<float>(exact)) /
      static_cast<float>(std::log(static_cast<double>(maxDistance) / static_cast<double>(exact)));
  return result + std::min(buckets - 1, exact + static_cast<int64_t>(
                                                    ratio * static_cast<float>(buckets - exact)));
}

TEST_F(TileClassesTest, BucketsOfRelativePositions) {
  for (bool bidirectional : {false, true}) {
    AttentionOp op = parse(("%s = transformer.bias.relative %t max_distance = 128 " +
                            Twine(bidirectional ? "{bidirectional} " : "") + ": tensor<32x8xf32>")
                               .str(),
                           ", %t: tensor<32x8xf32>");
    std::vector<uint32_t> table;
    for (int n = 0; n < 256; ++n)
      table.push_back(std::bit_cast<uint32_t>(static_cast<float>(n)));
    inputs.clear();
    give(0, {{32, 8}, table});
    llvm::Expected<MaskEvaluator> rule = MaskEvaluator::create(op.getBias(), 8, inputs, 300, 300);
    ASSERT_TRUE(bool(rule));
    const std::vector<uint32_t> &scores = rule->elements({0, 5, 300, 300}, 0, 0);
    for (int i = 0; i < 300; ++i)
      for (int j = 0; j < 300; ++j)
        ASSERT_EQ(std::bit_cast<float>(scores[i * 300 + j]),
                  static_cast<float>(bucketOf(j - i, bidirectional, 32, 128) * 8 + 5))
            << i << " " << j;
  }
}

TEST_F(TileClassesTest, RulesThatAreFormulasAndSums) {
  AttentionOp op = parse(R"(
    %w = transformer.bias.where {
    ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
      %f = transformer.mask.load %t[%h] : tensor<?xf32>
      %d = arith.subi %j, %i : i32
      %r = arith.sitofp %d : i32 to f32
      %a = math.absf %r : f32
      %p = arith.mulf %a, %f : f32
      transformer.yield %p : f32
    }
    %a = transformer.bias.alibi
    %s = transformer.bias.add %w, %a)",
                         ", %t: tensor<?xf32>");
  give(0, {{2}, {std::bit_cast<uint32_t>(3.0f), std::bit_cast<uint32_t>(0.5f)}});
  llvm::Expected<MaskEvaluator> rule = MaskEvaluator::create(op.getBias(), 8, inputs, 3, 3);
  ASSERT_TRUE(bool(rule));
  EXPECT_EQ(std::bit_cast<float>(rule->elements({0, 1, 3, 3}, 0, 0)[2]), 1.0f - 0.5f);
}

} // namespace
