//===- ShapeTraceTest.cpp - Shapes along the data flow --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the lines of a trace: parts named by locations, and without names
// attentions or single ops.

#include "ShapeTrace.h"

#include "heddle/Compiler/RegisterAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"

using namespace heddle;
using testing::ElementsAre;

namespace {

/// A linear layer from `in` to `out` features at a location.
std::string linear(llvm::StringRef result, llvm::StringRef input, int in, int out,
                   llvm::StringRef location) {
  return llvm::formatv(R"(
    %w{0} = transformer.weight "{0}" : tensor<{3}x{2}xf32>
    %{0} = transformer.linear %{1}, %w{0} : (tensor<?x?x{2}xf32>, tensor<{3}x{2}xf32>) -> tensor<?x?x{3}xf32> {4})",
                       result, input, in, out, location);
}

std::string heads(llvm::StringRef result, llvm::StringRef input, int count, int size,
                  llvm::StringRef location) {
  return llvm::formatv(R"(
    %{0} = transformer.split_heads %{1} {{heads = {2} : i64} : tensor<?x?x{4}xf32> -> tensor<?x{2}x?x{3}xf32> {5})",
                       result, input, count, size, count * size, location);
}

std::string attention(llvm::StringRef location, int keys = 2) {
  return llvm::formatv(R"(
    %o = transformer.attention %qh, %kh, %vh {{scale = 1.0 : f32}
       : (tensor<?x2x?x8xf32>, tensor<?x{1}x?x8xf32>, tensor<?x{1}x?x8xf32>) -> tensor<?x2x?x8xf32> {0}
    %m = transformer.merge_heads %o : tensor<?x2x?x8xf32> -> tensor<?x?x16xf32> {0})",
                       location, keys);
}

struct ShapeTrace : testing::Test {
  ShapeTrace() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  /// The lines "name: [B,T,16] [B,T,32]" of a function that returns %y.
  std::vector<std::string> traced(const std::string &body, int features = 16) {
    std::string text = llvm::formatv(R"(
      func.func @f(%x: tensor<?x?x16xf32> {{transformer.name = "x", transformer.dims = ["B", "T", 16]},
                   %z: tensor<?x?x16xf32> {{transformer.name = "z", transformer.dims = ["B", "S", 16]})
          -> tensor<?x?x{1}xf32> {{
        {0}
        return %y : tensor<?x?x{1}xf32>
      })",
                                     body, features);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return {"the text cannot be parsed"};
    std::vector<std::string> lines;
    for (const TraceLine &line : shapeTrace(*module->getOps<mlir::func::FuncOp>().begin())) {
      lines.push_back(line.name + ":");
      for (const Shape &shape : line.shapes)
        lines.back() += " " + traceText(shape, {});
    }
    return lines;
  }

  mlir::MLIRContext context;
};

const std::string part = R"(loc("e.0.attention"))", keys = R"(loc("e.0.attention"("keys")))",
                  values = R"(loc("e.0.attention"("values")))";

/// Queries from x, keys and values from `memory`, and their attention.
std::string attentionOver(const std::string &memory) {
  return linear("q", "x", 16, 16, part) + heads("qh", "q", 2, 8, part) +
         linear("k", memory, 16, 16, keys) + heads("kh", "k", 2, 8, keys) +
         linear("v", memory, 16, 16, values) + heads("vh", "v", 2, 8, values) + attention(part);
}

} // namespace

TEST_F(ShapeTrace, EqualKeysAndValuesHaveNoLine) {
  EXPECT_THAT(traced(attentionOver("x") + linear("y", "m", 16, 16, part)),
              ElementsAre("e.0.attention: [B,T,16] [B,T,16] [B,2,T,8] [B,T,16]"));
}

TEST_F(ShapeTrace, FewerKeysHaveOneThatStandsForValues) {
  EXPECT_THAT(traced(linear("q", "x", 16, 16, part) + heads("qh", "q", 2, 8, part) +
                     linear("k", "x", 16, 8, keys) + heads("kh", "k", 1, 8, keys) +
                     linear("v", "x", 16, 8, values) + heads("vh", "v", 1, 8, values) +
                     attention(part, 1) + linear("y", "m", 16, 16, part)),
              ElementsAre("e.0.attention: [B,T,16] [B,T,16] [B,2,T,8] [B,T,16]",
                          "e.0.attention, keys: [B,T,16] [B,T,8] [B,1,T,8]"));
}

TEST_F(ShapeTrace, KeysOfOtherRowsHaveALine) {
  EXPECT_THAT(traced(attentionOver("z") + linear("y", "m", 16, 16, part)),
              ElementsAre("e.0.attention: [B,T,16] [B,T,16] [B,2,T,8] [B,T,16]",
                          "e.0.attention, keys: [B,S,16] [B,S,16] [B,2,S,8]"));
}

TEST_F(ShapeTrace, ThePartBeginsTheLineWhateverComesFirst) {
  EXPECT_THAT(traced(linear("k", "x", 16, 16, keys) + heads("kh", "k", 2, 8, keys) +
                     linear("v", "x", 16, 16, values) + heads("vh", "v", 2, 8, values) +
                     linear("q", "x", 16, 16, part) + heads("qh", "q", 2, 8, part) +
                     attention(part) + linear("y", "m", 16, 16, part)),
              ElementsAre("e.0.attention: [B,T,16] [B,T,16] [B,2,T,8] [B,T,16]"));
}

TEST_F(ShapeTrace, MergedHeadsEndAnAttentionWithoutProjection) {
  EXPECT_THAT(traced(attentionOver("x") + linear("y", "m", 16, 24, R"(loc("classifier"))"), 24),
              ElementsAre("e.0.attention: [B,T,16] [B,T,16] [B,2,T,8] [B,T,16]",
                          "classifier: [B,T,16] [B,T,24]"));
}

TEST_F(ShapeTrace, GatesStandBesideTheHiddenRows) {
  const std::string ffn = R"(loc("e.0.ffn"))";
  const std::string gated = linear("h", "x", 16, 40, ffn) + linear("g", "x", 16, 40, ffn) +
                            "%p = arith.mulf %g, %h : tensor<?x?x40xf32> " + ffn +
                            linear("y", "p", 40, 16, ffn);
  EXPECT_THAT(traced(gated), ElementsAre("e.0.ffn: [B,T,16] [B,T,40] [B,T,16]"));
}

TEST_F(ShapeTrace, WithoutNamesAnAttentionIsALineAndSoIsALinear) {
  const std::string none;
  EXPECT_THAT(traced(linear("q", "x", 16, 16, none) + heads("qh", "q", 2, 8, none) +
                     linear("k", "x", 16, 16, none) + heads("kh", "k", 2, 8, none) +
                     linear("v", "x", 16, 16, none) + heads("vh", "v", 2, 8, none) +
                     attention(none) + linear("a", "m", 16, 16, none) +
                     linear("b", "a", 16, 16, none) + linear("y", "b", 16, 16, none)),
              ElementsAre("attention: [B,T,16] [B,T,16] [B,2,T,8] [B,T,16]",
                          "linear: [B,T,16] [B,T,16]", "linear: [B,T,16] [B,T,16]"));
}

TEST(TraceText, NumbersStandForKnownDimensions) {
  const Shape shape{SizeExpr::dim("B"), SizeExpr::dim("T") + 1, 8};
  EXPECT_EQ(traceText(shape, {}), "[B,T + 1,8]");
  EXPECT_EQ(traceText(shape, {{"T", 4}}), "[B,5,8]");
  EXPECT_EQ(traceText({}, {}), "[]");
}
