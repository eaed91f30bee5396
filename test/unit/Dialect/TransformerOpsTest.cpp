//===- TransformerOpsTest.cpp - Building ops in C++ -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that result types are inferred from the operands of an op that is built
// without them.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace heddle::transformer;

namespace {

constexpr int64_t dynamic = ShapedType::kDynamic;

class TransformerOpsTest : public ::testing::Test {
protected:
  TransformerOpsTest() : b(&context), loc(b.getUnknownLoc()) {
    context.loadDialect<TransformerDialect>();
    module = ModuleOp::create(b, loc);
    b.setInsertionPointToStart(module->getBody());
  }
  RankedTensorType f32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getF32Type());
  }
  /// A value of any type. The module is never verified with it.
  Value value(Type type) {
    return UnrealizedConversionCastOp::create(b, loc, type, ValueRange()).getResult(0);
  }
  Value weight(ArrayRef<int64_t> shape) { return WeightOp::create(b, loc, f32(shape), "w"); }

  MLIRContext context;
  OpBuilder b;
  Location loc;
  OwningOpRef<ModuleOp> module;
};

TEST_F(TransformerOpsTest, ProjectionsInferTheirFeatures) {
  Value x = value(f32({dynamic, 3, 8}));
  EXPECT_EQ(LinearOp::create(b, loc, x, weight({6, 8}), Value(), Activation::Relu).getType(),
            f32({dynamic, 3, 6}));
  EXPECT_EQ(FfnOp::create(b, loc, x, weight({6, 8}), Value(), weight({4, 6}), Value(), Value(),
                          Value(), Activation::None, FloatAttr(), APFloat(0.0f))
                .getType(),
            f32({dynamic, 3, 4}));
  EXPECT_EQ(LayerNormOp::create(b, loc, x, weight({8}), weight({8}), APFloat(1e-5f)).getType(),
            x.getType());
}

TEST_F(TransformerOpsTest, EmbeddingsAppendFeatures) {
  Value ids = value(RankedTensorType::get({2, dynamic}, b.getI32Type()));
  auto op =
      EmbeddingOp::create(b, loc, ids, weight({10, 7}), Value(), APFloat(1.0f), IntegerAttr());
  EXPECT_EQ(op.getType(), f32({2, dynamic, 7}));
}

TEST_F(TransformerOpsTest, HeadsMoveToTheFront) {
  Value x = value(f32({dynamic, 5, 12}));
  auto split = SplitHeadsOp::create(b, loc, x, 3);
  EXPECT_EQ(split.getType(), f32({dynamic, 3, 5, 4}));
  EXPECT_EQ(MergeHeadsOp::create(b, loc, split).getType(), x.getType());
}

TEST_F(TransformerOpsTest, AttentionInfersItsResults) {
  Value q = value(f32({dynamic, 8, dynamic, 4})), k = value(f32({2, 2, 7, 4})),
        v = value(f32({2, 2, 7, 5}));
  auto op =
      AttentionOp::create(b, loc, q, k, v, Value(), 0.5f, WeightsResult::Averaged, /*lse=*/true);
  EXPECT_EQ(op.getOutput().getType(), f32({2, 8, dynamic, 5}));
  EXPECT_EQ(op.getLse().getType(), f32({2, 8, dynamic}));
  EXPECT_EQ(op.getWeights().getType(), f32({2, dynamic, 7}));
  EXPECT_TRUE(succeeded(verify(op)));
  auto plain = AttentionOp::create(b, loc, q, k, v, MaskCausalOp::create(b, loc), 0.5f);
  EXPECT_FALSE(plain.getLse());
  EXPECT_FALSE(plain.getWeights());
  EXPECT_TRUE(succeeded(verify(plain)));
}

} // namespace
