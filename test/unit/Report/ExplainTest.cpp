//===- ExplainTest.cpp - Fusion decisions of the fused module -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that every op is listed with its kernel and partners, and that a missed
// fusion has its reason and remedy, in text and on the page.

#include "heddle/Report/Explain.h"

#include "heddle/Compiler/RegisterAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace heddle;

namespace {

constexpr const char *fusedModule = R"mlir(
func.func @f(%x: tensor<?x?x16xf32>, %w: tensor<16x16xf32>) -> tensor<?x?x16xf32> {
  %y = kernel.group(%x, %w) "linear_add" {root = #kernel.root<linear>,
      missed_fusions = [{op = "transformer.linear", with = "several", reason = "several-uses"}]}
      : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32> {
  ^bb0(%a: tensor<?x?x16xf32>, %b: tensor<16x16xf32>):
    %l = transformer.linear %a, %b : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
    %s = arith.addf %l, %a : tensor<?x?x16xf32>
    kernel.yield %s : tensor<?x?x16xf32>
  }
  return %y : tensor<?x?x16xf32>
}
)mlir";

struct Explained : testing::Test {
  mlir::MLIRContext context;
  Explanation explanation;
  void SetUp() override {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(fusedModule, &context);
    ASSERT_TRUE(module);
    explanation = explainGroups(*module, {{"f", {"linear_add_2"}}});
  }
};

} // namespace

TEST_F(Explained, NamesKernelAndPartnersOfEveryOp) {
  ASSERT_EQ(explanation.decisions.size(), 2u);
  EXPECT_EQ(explanation.decisions[0].op, "transformer.linear");
  EXPECT_EQ(explanation.decisions[0].kernel, "linear_add_2");
  EXPECT_EQ(explanation.decisions[0].partners, std::vector<std::string>{"arith.addf"});
  EXPECT_EQ(explanation.decisions[1].op, "arith.addf");
  EXPECT_TRUE(explanation.decisions[1].missed.empty());
}

TEST_F(Explained, GivesReasonAndRemedy) {
  ASSERT_EQ(explanation.decisions[0].missed.size(), 1u);
  EXPECT_EQ(explanation.decisions[0].missed[0].reason, "several-uses");
  EXPECT_FALSE(explanation.decisions[0].missed[0].remedy.empty());
  std::string text = explanationText(explanation);
  EXPECT_NE(text.find("not fused: several-uses"), std::string::npos);
  EXPECT_NE(text.find("remedy: " + explanation.decisions[0].missed[0].remedy), std::string::npos);
}

TEST_F(Explained, ThePageEscapes) {
  std::string page = explanationHtml(explanation, "a<b>&c");
  EXPECT_NE(page.find("<title>a&lt;b&gt;&amp;c</title>"), std::string::npos);
  EXPECT_NE(page.find("linear_add_2"), std::string::npos);
}
