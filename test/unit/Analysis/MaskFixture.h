//===- MaskFixture.h - Masks, their data and their meaning -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds masks in a function, stores the data of its arguments, and compares
// the predicate and the bounds of masks with an independent definition for each
// pair.
#pragma once

#include "heddle/Analysis/MaskEvaluator.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "gtest/gtest.h"

#include <functional>

namespace heddle::transformer {

/// Independent definition of a mask: its truth for (b, h, i, j).
using Meaning = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

class MaskFixture : public ::testing::Test {
protected:
  MaskFixture() : builder(&context), loc(builder.getUnknownLoc()) {
    context.loadDialect<TransformerDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::math::MathDialect>();
    module = mlir::ModuleOp::create(builder, loc);
    builder.setInsertionPointToStart(module->getBody());
    auto func = mlir::func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
    block = func.addEntryBlock();
    builder.setInsertionPointToStart(block);
  }

  /// Adds an argument with data to the function; a scalar has no shape.
  mlir::Value input(llvm::ArrayRef<int64_t> shape, std::vector<int32_t> values,
                    mlir::Type element = {}) {
    element = element ? element : builder.getI32Type();
    mlir::Type type = shape.empty() ? element : mlir::RankedTensorType::get(shape, element);
    mlir::Value value = block->addArgument(type, loc);
    inputs[value] = {llvm::SmallVector<int64_t>(shape),
                     std::vector<uint32_t>(values.begin(), values.end())};
    return value;
  }

  /// Compares predicate and bounds with `meaning` on every tile of several sizes. If `tight`, may
  /// and must have to be exact.
  void check(mlir::Value mask, const MaskPlace &place, const Meaning &meaning, bool tight,
             int64_t heads = 1) {
    llvm::Expected<MaskEvaluator> evaluator =
        MaskEvaluator::create(mask, heads, inputs, place.queries, place.keys);
    ASSERT_TRUE(bool(evaluator)) << llvm::toString(evaluator.takeError());
    truth.assign(evaluator->elements(place, 0, 0).begin(), evaluator->elements(place, 0, 0).end());
    for (int64_t i = 0; i < place.queries; ++i)
      for (int64_t j = 0; j < place.keys; ++j)
        ASSERT_EQ(truth[i * place.keys + j], meaning(place.batch, place.head, i, j))
            << "i=" << i << " j=" << j;
    for (auto [rows, columns] :
         {std::pair<int64_t, int64_t>(1, 1), {4, 4}, {5, 3}, {2, 9}, {place.queries, place.keys}})
      for (int64_t i0 = 0; i0 < place.queries; i0 += rows)
        for (int64_t j0 = 0; j0 < place.keys && !HasFatalFailure(); j0 += columns)
          checkTile(
              *evaluator, place,
              {i0, std::min(i0 + rows, place.queries), j0, std::min(j0 + columns, place.keys)},
              tight);
    ASSERT_FALSE(evaluator->hasTrapped());
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block *block;
  MaskInputs inputs;
  /// Number of tiles with exact bounds, and of all tiles.
  int64_t exact = 0, tiles = 0;

private:
  void checkTile(MaskEvaluator &evaluator, const MaskPlace &place, const MaskTile &t, bool tight) {
    bool any = false, all = true;
    for (int64_t i = t.i0; i < t.i1; ++i)
      for (int64_t j = t.j0; j < t.j1; ++j) {
        any |= truth[i * place.keys + j] != 0;
        all &= truth[i * place.keys + j] != 0;
      }
    MaskBounds bounds = evaluator.bound(place, t);
    ++tiles;
    exact += bounds.may == any && bounds.must == all;
    ASSERT_TRUE(bounds.may || !any)
        << "rows " << t.i0 << " to " << t.i1 << ", keys " << t.j0 << " to " << t.j1;
    ASSERT_TRUE(!bounds.must || all)
        << "rows " << t.i0 << " to " << t.i1 << ", keys " << t.j0 << " to " << t.j1;
    if (tight) {
      ASSERT_EQ(bounds.may, any) << "rows " << t.i0 << " to " << t.i1 << ", keys " << t.j0 << " to "
                                 << t.j1;
      ASSERT_EQ(bounds.must, all) << "rows " << t.i0 << " to " << t.i1 << ", keys " << t.j0
                                  << " to " << t.j1;
    }
  }

  std::vector<uint32_t> truth;
};

} // namespace heddle::transformer
