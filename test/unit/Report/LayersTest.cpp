//===- LayersTest.cpp - Names of layers, and equal layers -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Layers.h"

#include "heddle/Compiler/Models.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace heddle;

namespace {

/// Items consist of a layer and its content: "encoder.0=x".
std::string once(const std::vector<std::pair<std::string, char>> &items) {
  std::vector<std::string> layers;
  for (const auto &[layer, content] : items)
    layers.push_back(layer);
  return eachLayerOnce(
      layers, [&](size_t a, size_t b) { return items[a].second == items[b].second; },
      [&](size_t i) { return items[i].first + "=" + items[i].second + ";"; },
      [](const std::string &repeated) { return repeated + ";"; });
}

} // namespace

TEST(Layers, EndAtTheFirstNumberOfAPart) {
  EXPECT_EQ(layerOf("encoder.0.attention"), "encoder.0");
  EXPECT_EQ(layerOf("decoder.12"), "decoder.12");
  EXPECT_EQ(layerOf("model.layers.3.mlp.0"), "model.layers.3");
  EXPECT_EQ(layerOf("source.embedding"), "source.embedding");
  EXPECT_EQ(layerOf(""), "");
  EXPECT_EQ(numbered("encoder.3"), std::pair(llvm::StringRef("encoder"), int64_t(3)));
  EXPECT_FALSE(numbered("classifier"));
}

TEST(Layers, AreToldOnceWhereTheyAreEqual) {
  EXPECT_EQ(once({{"a", 'x'}, {"e.0", 'x'}, {"e.0", 'y'}, {"e.1", 'x'}, {"e.1", 'y'}}),
            "a=x;e.0=x;e.0=y;e.1: as e.0;");
  EXPECT_EQ(once({{"e.0", 'x'}, {"e.1", 'x'}, {"e.2", 'x'}, {"e.3", 'y'}, {"e.4", 'y'}}),
            "e.0=x;e.1 … e.2: as e.0;e.3=y;e.4: as e.3;");
}

TEST(Layers, AreToldAgainWhereSomethingDiffers) {
  EXPECT_EQ(once({{"e.0", 'x'}, {"e.1", 'x'}, {"e.1", 'x'}}), "e.0=x;e.1=x;e.1=x;"); // one more
  EXPECT_EQ(once({{"e.0", 'x'}, {"e.2", 'x'}}), "e.0=x;e.2=x;"); // not consecutive
  EXPECT_EQ(once({{"e.0", 'x'}, {"d.1", 'x'}}), "e.0=x;d.1=x;"); // another stack
  EXPECT_EQ(once({{"a", 'x'}, {"b", 'x'}}), "a=x;b=x;");         // no number
  EXPECT_EQ(once({}), "");
}

TEST(Layers, AreTheNamesOfLocations) {
  mlir::MLIRContext context;
  mlir::Location unknown = mlir::UnknownLoc::get(&context);
  mlir::Location file = mlir::FileLineColLoc::get(&context, "m.mlir", 3, 8);
  auto name = mlir::StringAttr::get(&context, "encoder.0.ffn");
  EXPECT_FALSE(partOf(unknown));
  EXPECT_FALSE(partOf(file));
  EXPECT_EQ(partOf(mlir::NameLoc::get(name, file)), name);
  EXPECT_EQ(partOf(mlir::FusedLoc::get(&context, {file, mlir::NameLoc::get(name)})), name);
  EXPECT_EQ(locationText(mlir::NameLoc::get(name, file)), "m.mlir:3:8");
  EXPECT_EQ(locationText(mlir::NameLoc::get(name)), "encoder.0.ffn");
  auto role = mlir::StringAttr::get(&context, "keys");
  EXPECT_FALSE(roleOf(mlir::NameLoc::get(name, file)));
  EXPECT_EQ(roleOf(named(name, role)), role);
  EXPECT_EQ(partOf(named(name, role)), name);
  EXPECT_EQ(locationText(named(name, role)), "encoder.0.ffn");
  EXPECT_EQ(named(name, {}), mlir::NameLoc::get(name));
}
