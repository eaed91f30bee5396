//===- MaskEdgeTest.cpp - Edge cases of masks -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edge cases of masks. Values at excluded pairs change no bit; formulas that overflow or divide by
// a loaded 0 have a defined result; offsets at the limits of i32 do not wrap; there may be more
// tables than push constants; and a packed document has the bits that it has alone.
#include "MaskRun.h"

#include <limits>

using namespace heddle;
using namespace heddle::test;

namespace {

class MaskEdgeTest : public testing::TestWithParam<std::string> {
protected:
  /// Compiles the compositions. Without the device, skips the test.
  void compile(const std::vector<Composition> &compositions) {
    auto made = MaskModule::compile(compositions, {.device = GetParam(), .poison = true});
    if (!made && isMissingDevice(made.error()))
      GTEST_SKIP() << made.error().message;
    ASSERT_TRUE(made) << made.error().message;
    module.emplace(std::move(*made));
  }
  void agrees(const Composition &composition, const NamedRefTensors &inputs) {
    HEDDLE_ASSERT(expected, module->byReference(composition.name, inputs));
    HEDDLE_ASSERT(found, module->onDevice(composition.name, inputs));
    EXPECT_EQ(mismatch(found, expected), "") << composition.text;
  }
  std::optional<MaskModule> module;
};

RefTensor &named(NamedRefTensors &tensors, std::string_view name) {
  for (auto &[found, tensor] : tensors)
    if (found == name)
      return tensor;
  static RefTensor none;
  return none;
}

std::string where(const std::string &ops) {
  return "transformer.mask.where {\n  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):\n" + ops +
         "    transformer.yield %r : i1\n  }";
}

/// Sets keys selected by `hidden` to NaN and infinity in a copy of the inputs.
NamedRefTensors poisoned(const NamedRefTensors &inputs,
                         const std::function<bool(int64_t b, int64_t j)> &hidden) {
  NamedRefTensors changed = inputs;
  for (const char *name : {"k", "v"}) {
    RefTensor &tensor = named(changed, name);
    int64_t rows = tensor.shape[2], width = tensor.shape[3], perBatch = tensor.shape[1] * rows;
    for (int64_t row = 0; row < tensor.size() / width; ++row)
      for (int64_t d = 0; d < width; ++d)
        if (hidden(row / perBatch, row % rows))
          tensor.values[row * width + d] = d % 2 ? std::numeric_limits<double>::quiet_NaN()
                                                 : -std::numeric_limits<double>::infinity();
  }
  return changed;
}

//===- Excluded values ---------------------------------------------------===//

TEST_P(MaskEdgeTest, ExcludedValuesChangeNoBit) {
  std::vector<Composition> compositions;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed);
    Composer composer(random, {});
    std::string lengths = composer.argument("tensor<?xi32>", "\"B\"",
                                            [](const Sizes &, Random &) { return RefTensor(); });
    std::string mask = composer.conjunction(
        composer.define("transformer.mask.lengths " + lengths + " : tensor<?xi32>"),
        composer.mask(3));
    std::string rules = seed % 2 ? " bias(" + composer.bias(2) + ")" : "";
    compositions.push_back(composer.finish("f" + std::to_string(seed),
                                           " mask(" + mask + ")" + rules, "", true, seed == 3));
  }
  compile(compositions);
  for (const Composition &composition : compositions) {
    if (!module)
      return;
    NamedRefTensors inputs = composition.inputs({3, 40, 150}, 5);
    std::vector<double> lengths = {0, 70, 149};
    named(inputs, composition.arguments[0].name) = {DType::I32, {3}, lengths};
    NamedRefTensors changed =
        poisoned(inputs, [&](int64_t b, int64_t j) { return j >= lengths[b]; });
    HEDDLE_ASSERT(clean, module->onDevice(composition.name, inputs));
    HEDDLE_ASSERT(found, module->onDevice(composition.name, changed));
    EXPECT_TRUE(sameBits(found, clean)) << composition.text;
    agrees(composition, changed);
  }
}

TEST_P(MaskEdgeTest, ABiasOfMinusInfinityExcludes) {
  Random random(1);
  Composer composer(random, {});
  std::string table =
      composer.argument("tensor<1x1x1x?xf32>", "1, 1, 1, \"S\"", [](const Sizes &s, Random &) {
        RefTensor made{DType::F32, {1, 1, 1, s.keys}, {}};
        for (int64_t j = 0; j < s.keys; ++j)
          made.values.push_back(j % 3 ? 0.5 : -std::numeric_limits<double>::infinity());
        return made;
      });
  std::string bias = composer.define("transformer.bias.dense " + table + " : tensor<1x1x1x?xf32>");
  Composition composition = composer.finish("f", " bias(" + bias + ")", "", true);
  compile({composition});
  if (!module)
    return;
  NamedRefTensors inputs = composition.inputs({2, 40, 130}, 5);
  NamedRefTensors changed = poisoned(inputs, [](int64_t, int64_t j) { return j % 3 == 0; });
  HEDDLE_ASSERT(clean, module->onDevice("f", inputs));
  HEDDLE_ASSERT(found, module->onDevice("f", changed));
  EXPECT_TRUE(sameBits(found, clean));
  agrees(composition, changed);
}

//===- Numbers at their limits -------------------------------------------===//

TEST_P(MaskEdgeTest, FormulasHaveAValueEverywhere) {
  const std::vector<std::string> bodies = {
      "    %a = arith.floordivsi %x, %y : i32\n    %r = arith.cmpi slt, %a, %one : i32\n",
      "    %a = arith.remsi %x, %y : i32\n    %r = arith.cmpi eq, %a, %zero : i32\n",
      "    %a = arith.ceildivsi %x, %y : i32\n    %r = arith.cmpi sgt, %a, %zero : i32\n",
      "    %a = arith.divsi %low, %y : i32\n    %r = arith.cmpi slt, %a, %zero : i32\n",
      "    %c = arith.muli %i, %low : i32\n    %a = arith.addi %c, %x : i32\n"
      "    %s = arith.muli %a, %j : i32\n    %r = arith.cmpi sge, %s, %zero : i32\n",
      "    %d = arith.subi %i, %j : i32\n    %a = arith.shli %one, %d : i32\n"
      "    %s = arith.shrsi %low, %d : i32\n    %u = arith.xori %a, %s : i32\n"
      "    %r = arith.cmpi ult, %u, %x : i32\n",
  };
  std::vector<Composition> compositions;
  for (size_t n = 0; n < bodies.size(); ++n) {
    Random random(n);
    Composer composer(random, {});
    std::string t = composer.argument("tensor<?xi32>", "\"N\"", [](const Sizes &, Random &) {
      return RefTensor{DType::I32, {8}, {0, -1, 1, -0x1p31, 0x1p31 - 1, 2, -3, 0}};
    });
    std::string mask = composer.define(
        where("    %zero = arith.constant 0 : i32\n    %one = arith.constant 1 : i32\n"
              "    %low = arith.constant -2147483648 : i32\n    %eight = arith.constant 8 : i32\n"
              "    %j8 = arith.remsi %j, %eight : i32\n    %i8 = arith.divsi %i, %eight : i32\n"
              "    %x = transformer.mask.load " +
              t + "[%i8] : tensor<?xi32>\n    %y = transformer.mask.load " + t +
              "[%j8] : tensor<?xi32>\n" + bodies[n]));
    compositions.push_back(
        composer.finish("f" + std::to_string(n), " mask(" + mask + ")", "", true));
  }
  compile(compositions);
  for (const Composition &composition : compositions)
    if (module)
      agrees(composition, composition.inputs({1, 70, 100}, 3));
}

TEST_P(MaskEdgeTest, OffsetsAtTheLimitsDoNotWrap) {
  Random random(1);
  Composer composer(random, {});
  std::string offset = composer.argument("tensor<?xi32>", "\"B\"", [](const Sizes &, Random &) {
    return RefTensor{DType::I32, {4}, {-0x1p31, 0x1p31 - 1, -30, 30}};
  });
  std::string clause = " offset(" + offset + " : tensor<?xi32>)";
  std::string mask = composer.define(
      "transformer.mask.or " + composer.define("transformer.mask.causal" + clause) + ", " +
      composer.define("transformer.mask.window before = 2147483647 after = 3" + clause));
  Composition composition = composer.finish("f", " mask(" + mask + ")", "", true);
  compile({composition});
  if (module)
    agrees(composition, composition.inputs({4, 50, 100}, 3));
}

/// A chunk of 512 keys in tiles of 16 has 32 tiles, the number of bits in a word.
TEST_P(MaskEdgeTest, AChunkOfThirtyTwoTiles) {
  std::vector<Composition> compositions;
  for (FixedSizes fixed : {FixedSizes{}, FixedSizes{3, 512}}) {
    Random random(1);
    Composer composer(random, {}, fixed);
    std::string mask = composer.blocks(100, 100, 50);
    compositions.push_back(composer.finish("f" + std::to_string(fixed.keys), " mask(" + mask + ")",
                                           "hidden_score = -2.0 : f32, ", true));
  }
  compile(compositions);
  for (const Composition &composition : compositions)
    if (module)
      agrees(composition, composition.inputs({2, 3, 512}, 3));
}

/// If keys are known to fit into a chunk, there is no loop over chunks.
TEST_P(MaskEdgeTest, AKnownNumberOfKeysInOneChunk) {
  std::vector<Composition> compositions;
  const std::vector<FixedSizes> sizes = {{8, 8}, {100, 512}};
  for (const FixedSizes &fixed : sizes) {
    Random random(1);
    Composer composer(random, {}, fixed);
    std::string mask = composer.define(where("    %r = arith.cmpi ne, %i, %j : i32\n"));
    compositions.push_back(
        composer.finish("f" + std::to_string(fixed.queries), " mask(" + mask + ")", "", true));
  }
  compile(compositions);
  for (size_t n = 0; n < sizes.size(); ++n)
    if (module)
      agrees(compositions[n], compositions[n].inputs({2, sizes[n].queries, sizes[n].keys}, 3));
}

//===- Many tables -------------------------------------------------------===//

/// A mask determined by the sum of `count` tables, each with its own length.
Composition manyTables(const std::string &name, int64_t count) {
  Random random(static_cast<uint64_t>(count));
  Composer composer(random, {});
  std::string ops = "    %zero = arith.constant 0 : i32\n", sum = "%zero";
  for (int64_t n = 0; n < count; ++n) {
    std::string id = std::to_string(n);
    std::string table = composer.argument(
        "tensor<?xi32>", "\"N" + id + "\"", [n](const Sizes &sizes, Random &random) {
          RefTensor made{DType::I32, {sizes.keys - n}, {}};
          for (int64_t j = 0; j < sizes.keys - n; ++j)
            made.values.push_back(static_cast<double>(random.whole(-9, 9)));
          return made;
        });
    ops += "    %x" + id + " = transformer.mask.load " + table + "[%j] : tensor<?xi32>\n    %s" +
           id + " = arith.addi " + sum + ", %x" + id + " : i32\n";
    sum = "%s" + id;
  }
  std::string mask =
      composer.define(where(ops + "    %r = arith.cmpi sge, " + sum + ", %i : i32\n"));
  return composer.finish(name, " mask(" + mask + ")", "", true);
}

/// Launches of both kinds follow each other: with their arguments in push constants, and in blocks.
TEST_P(MaskEdgeTest, AMaskMayReadManyTables) {
  std::vector<Composition> compositions = {manyTables("few", 2), manyTables("many", 24),
                                           manyTables("more", 30)};
  compile(compositions);
  for (int call = 0; call < 2; ++call)
    for (const Composition &composition : compositions)
      if (module)
        agrees(composition, composition.inputs({2, 40, 150}, 3));
}

//===- Packed documents --------------------------------------------------===//

/// Causal mask and a formula with alibi, with packed documents or alone.
Composition document(const std::string &name, bool packed) {
  Random random(1);
  Composer composer(random, {});
  std::string documents = packed ? composer.packedDocuments() : "";
  std::string mask = composer.define(
      "transformer.mask.and " + composer.define("transformer.mask.causal") + ", " +
      composer.define(where("    %n = arith.constant 100 : i32\n    %d = arith.subi %i, %j : i32\n"
                            "    %r = arith.cmpi slt, %d, %n : i32\n")));
  if (packed)
    mask = composer.conjunction(mask, documents);
  std::string bias = composer.define("transformer.bias.alibi");
  return composer.finish(name, " mask(" + mask + ") bias(" + bias + ")", "", true);
}

/// Rows [from, to) of a tensor [1, H, T, D].
RefTensor rowsOf(const RefTensor &tensor, int64_t from, int64_t to) {
  int64_t heads = tensor.shape[1], rows = tensor.shape[2], width = tensor.shape[3];
  RefTensor part{tensor.type, {1, heads, to - from, width}, {}};
  for (int64_t h = 0; h < heads; ++h)
    part.values.insert(part.values.end(), tensor.values.begin() + (h * rows + from) * width,
                       tensor.values.begin() + (h * rows + to) * width);
  return part;
}

TEST_P(MaskEdgeTest, PackedDocumentsHaveTheBitsThatTheyHaveAlone) {
  Composition packed = document("packed", true), alone = document("alone", false);
  compile({packed, alone});
  if (!module)
    return;
  Sizes sizes{1, 331, 331, {0, 1, 101, 101, 230, 331}, {0, 1, 101, 101, 230, 331}};
  NamedRefTensors inputs = packed.inputs(sizes, 9);
  HEDDLE_ASSERT(together, module->onDevice("packed", inputs));
  for (size_t n = 0; n + 1 < sizes.queryStarts.size(); ++n) {
    int64_t from = sizes.queryStarts[n], to = sizes.queryStarts[n + 1];
    if (from == to)
      continue;
    NamedRefTensors own;
    for (const char *name : {"q", "k", "v"})
      own.emplace_back(name, rowsOf(named(inputs, name), from, to));
    HEDDLE_ASSERT(single, module->onDevice("alone", own));
    EXPECT_TRUE(sameBits(slice(together.at("o"), 2, from, to), single.at("o"))) << "document " << n;
    EXPECT_TRUE(sameBits(slice(together.at("lse"), 2, from, to), single.at("lse")));
  }
  agrees(packed, inputs);
}

INSTANTIATE_TEST_SUITE_P(Devices, MaskEdgeTest, testing::Values<std::string>("cpu", "vulkan"),
                         [](const auto &info) { return info.param; });

} // namespace
