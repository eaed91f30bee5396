//===- CountTiles.cpp - Attention that counts its tiles ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruments kernels. The product of queries and keys knows which column tiles it computes: the
// bits of `visited`, or all of [from, columns). The loops and branches around the product sum up
// their number.
#include "CountTiles.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace heddle;

/// Number of set bits of a word: sums of neighbours of 1, 2 and 4 bits, then of all bytes.
static Value setBits(Value word, ImplicitLocOpBuilder &b) {
  auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, value, 32); };
  auto shifted = [&](Value x, int64_t by) -> Value {
    return arith::ShRUIOp::create(b, x, number(by));
  };
  const std::pair<int64_t, int64_t> rounds[] = {{1, 0x55555555}, {2, 0x33333333}, {4, 0x0f0f0f0f}};
  for (auto [by, mask] : rounds)
    word = arith::AddIOp::create(b, arith::AndIOp::create(b, word, number(mask)),
                                 arith::AndIOp::create(b, shifted(word, by), number(mask)));
  return shifted(arith::MulIOp::create(b, word, number(0x01010101)), 24);
}

/// Number of column tiles that a product computes, `width` columns each, as i32.
static Value tilesOf(kernel::ContractOp scores, int64_t width, ImplicitLocOpBuilder &b) {
  if (Value visited = scores.getVisited())
    return setBits(visited, b);
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
  Value from = scores.getFrom() ? scores.getFrom() : index(0);
  Value span = arith::SubIOp::create(b, scores.getColumns(), from);
  span = arith::MaxSIOp::create(b, span, index(0));
  span = arith::AddIOp::create(b, span, index(width - 1));
  return arith::IndexCastOp::create(b, b.getI32Type(),
                                    arith::DivUIOp::create(b, span, index(width)));
}

/// Sum of `count`, a tile, over all surrounding loops; 0 if a branch is not taken.
static Value summedUp(Value count, IRRewriter &rewriter) {
  Operation *parent = count.getParentBlock()->getParentOp();
  if (isa<kernel::FuncOp>(parent))
    return count;
  rewriter.setInsertionPoint(parent);
  Location loc = parent->getLoc();
  auto type = cast<ShapedType>(count.getType());
  Value zero = arith::ConstantOp::create(rewriter, loc, DenseElementsAttr::get(type, 0.0f));
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    auto sum = [&](OpBuilder &b, Location loc, ArrayRef<BlockArgument> before) {
      return SmallVector<Value>{arith::AddFOp::create(b, loc, before.back(), count)};
    };
    LoopLikeOpInterface summing = *loop.replaceWithAdditionalYields(
        rewriter, zero, /*replaceInitOperandUsesInLoop=*/false, sum);
    return summedUp(summing->getResults().back(), rewriter);
  }
  auto branch = cast<scf::IfOp>(parent);
  bool isTaken = count.getParentBlock() == branch.thenBlock();
  SmallVector<Type> types(branch.getResultTypes());
  types.push_back(type);
  auto counting = scf::IfOp::create(rewriter, loc, types, branch.getCondition(),
                                    /*withElseRegion=*/true);
  counting.getThenRegion().takeBody(branch.getThenRegion());
  counting.getElseRegion().takeBody(branch.getElseRegion());
  unsigned last = branch.getNumResults();
  counting.thenYield()->insertOperands(last, isTaken ? count : zero);
  counting.elseYield()->insertOperands(last, isTaken ? zero : count);
  rewriter.replaceOp(branch, counting.getResults().drop_back());
  return summedUp(counting.getResults().back(), rewriter);
}

void heddle::test::countTiles(ModuleOp tiled) {
  IRRewriter rewriter(tiled.getContext());
  SmallVector<std::pair<kernel::ContractOp, kernel::MaskOp>> attentions;
  for (auto func : tiled.getOps<kernel::FuncOp>()) {
    kernel::ContractOp scores;
    kernel::MaskOp mask;
    func.walk([&](kernel::ContractOp op) { scores = op; });
    func.walk([&](kernel::MaskOp op) { mask = op; });
    if (scores && mask)
      attentions.emplace_back(scores, mask);
  }
  for (auto [scores, mask] : attentions) {
    auto func = scores->getParentOfType<kernel::FuncOp>();
    ImplicitLocOpBuilder b(scores.getLoc(), scores);
    Value tiles = tilesOf(scores, static_cast<int64_t>(mask.getVisitTile()), b);
    auto column = RankedTensorType::get({scores.getType().getDimSize(0), 1}, b.getF32Type());
    Value count =
        kernel::BroadcastOp::create(b, column, arith::SIToFPOp::create(b, b.getF32Type(), tiles));
    count = summedUp(count, rewriter);
    func.walk([&](kernel::StoreOpInterface store) {
      if (isa<kernel::StoreVectorOp>(*store))
        return;
      rewriter.setInsertionPoint(store);
      Value counts =
          kernel::BroadcastOp::create(rewriter, store.getLoc(), store.getTile().getType(), count);
      store->replaceUsesOfWith(store.getTile(), counts);
    });
  }
}
