//===- CpuLoopNests.cpp - Column loops over wide tiles --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the column fragments of wide tiles, each around a nest of fused ops. Results that
// later nests read stay in scratch; they reuse the memory of a tile that is read for the last time,
// if there is one. Remaining columns run in fragments of 16.

#include "CpuEmitter.h"

#include "heddle/Support/Philox.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- Kept and recomputed tiles -----------------------------------------===//

/// Predicates and rounding are cheaper to recompute than to keep in scratch.
bool CpuEmitter::recomputes(Operation &op) const {
  if (BodyEmitter::recomputes(op))
    return true;
  if (op.getNumResults() != 1 || op.getNumRegions() || !isTile(op.getResult(0).getType()) ||
      columnsOf(op.getResult(0).getType()) == 1)
    return false;
  if (isa<math::RoundEvenOp>(op))
    return true;
  return getElementTypeOrSelf(op.getResult(0).getType()).isInteger(1) &&
         isa<arith::ArithDialect>(op.getDialect());
}

namespace {
/// A loop over columns around ops on wide tiles of one width.
class LoopNest {
public:
  LoopNest(CpuEmitter &emitter, ArrayRef<Operation *> ops)
      : e(emitter), ops(ops), columns(e.nestColumns(*ops.front())), range(findRange()) {}
  LogicalResult emit();

private:
  ColumnRange findRange();
  bool outlives(Value value) const;
  void collectRead(Operation &op, SmallVectorImpl<Value> &tiles);
  SmallVector<Value> dyingTiles();
  void keepResults();
  LogicalResult emitStep(MutableArrayRef<Value> sums);

  CpuEmitter &e;
  ArrayRef<Operation *> ops;
  int64_t columns;
  ColumnRange range;       ///< columns to compute
  SmallVector<Value> kept; ///< results that outlive the nest
};
} // namespace

/// Whether a value is read after the nest, directly or by recomputed ops.
bool LoopNest::outlives(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    for (Operation *op = user; op; op = op->getParentOp())
      if (llvm::is_contained(ops, op))
        return false;
    return e.recomputes(*user) ? outlives(user->getResult(0)) : true;
  });
}

/// Collects the tiles in memory that the nest reads column by column, directly or by recomputed
/// ops.
void LoopNest::collectRead(Operation &op, SmallVectorImpl<Value> &tiles) {
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      bool isKept = e.scratch.find(operand);
      if (operand.getDefiningOp() && !isKept && e.recomputes(*operand.getDefiningOp()))
        collectRead(*operand.getDefiningOp(), tiles);
      if (isKept && CpuEmitter::columnsOf(operand.getType()) > 1 && !isa<ProductOpInterface>(inner))
        tiles.push_back(operand);
    }
  });
}

/// Returns the tiles in memory that are not read after the nest, nor by the next iteration of an
/// enclosing loop.
SmallVector<Value> LoopNest::dyingTiles() {
  SmallVector<Value> dying, readWhole, read;
  for (Operation *op : ops) {
    collectRead(*op, read);
    if (auto contract = dyn_cast<ProductOpInterface>(op))
      readWhole.push_back(contract.getLhs());
  }
  Block *block = ops.front()->getBlock();
  auto readsLast = [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    bool isMadeAgain = e.recomputes(*user) && outlives(user->getResult(0));
    return !isMadeAgain && ancestor &&
           (llvm::is_contained(ops, ancestor) || ancestor->isBeforeInBlock(ops.front()));
  };
  for (Value tile : read)
    if (CpuEmitter::columnsOf(tile.getType()) == columns && !llvm::is_contained(dying, tile) &&
        !llvm::is_contained(readWhole, tile) && tile.getParentBlock() == block &&
        llvm::all_of(tile.getUsers(), readsLast))
      dying.push_back(tile);
  return dying;
}

/// Allocates memory for results that outlive the nest. A result may reuse the memory of a dying
/// tile, because a step reads its columns before it writes the result's.
void LoopNest::keepResults() {
  SmallVector<Value> dying = dyingTiles();
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      if (isa<ReduceOp>(op) || !e.isTile(result.getType()) || !outlives(result))
        continue;
      kept.push_back(result);
      auto sameRows = [&](Value value) {
        auto a = cast<RankedTensorType>(value.getType()),
             b = cast<RankedTensorType>(result.getType());
        return a.getDimSize(0) == b.getDimSize(0) &&
               e.memoryElement(a.getElementType()) == e.memoryElement(b.getElementType());
      };
      auto place = llvm::find_if(dying, sameRows);
      TileMemory memory = place == dying.end() ? e.allocate(result.getType(), /*allRows=*/false)
                                               : *e.scratch.find(*place);
      if (place != dying.end())
        dying.erase(place);
      memory.valid = range;
      e.scratch.fragments[result] = memory;
    }
}

/// Computes the column range: the intersection over all views of the nest and its tiles in memory.
ColumnRange LoopNest::findRange() {
  ColumnRange found;
  auto tighten = [&](ColumnRange other) {
    found.to = !found.to ? other.to : other.to ? e.minimum(found.to, other.to) : found.to;
    // Only contractions define a start; tiles computed from their results inherit it.
    found.from = found.from ? found.from : other.from;
  };
  for (Operation *op : ops) {
    SmallVector<Value> read;
    collectRead(*op, read);
    for (Value tile : read)
      if (CpuEmitter::columnsOf(tile.getType()) == columns)
        tighten(e.scratch.find(tile)->valid);
    if (e.nestColumns(*op) != columns)
      continue;
    auto contract = dyn_cast<ProductOpInterface>(op);
    Value from = contract && !contract.isOverRows() ? contract.getRange().from : Value();
    tighten({from ? e.scalar(from) : Value(), e.loops.columnsLeft(*op, columns)});
  }
  if (found.to)
    found.to = e.minimum(found.to, e.constant(columns));
  return found;
}

//===- Emission ----------------------------------------------------------===//

/// Emits the ops for one column fragment.
LogicalResult LoopNest::emitStep(MutableArrayRef<Value> sums) {
  llvm::SaveAndRestore registers(e.fragments);
  for (Operation *op : ops) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce) {
      if (failed(e.emitOp(*op)))
        return failure();
      continue;
    }
    FailureOr<Fragment> from = e.use(reduce.getOperand());
    if (failed(from))
      return failure();
    for (int64_t r = 0; r < from->rows; ++r) {
      e.accumulateLanes(reduce.getKind(), *from, r, sums.take_front(e.laneGroups()));
      sums = sums.drop_front(e.laneGroups());
    }
  }
  for (Value value : kept)
    e.writeFragment(e.scratch.fragments[value], e.fragments[value], value.getType());
  return success();
}

/// Neutral element of a reduction. For sums it is -0, because -0 + x is x also for x = -0.
static float neutral(ReduceKind kind) {
  return kind == ReduceKind::Max ? -std::numeric_limits<float>::infinity() : -0.0f;
}

/// Emits one column loop that carries the lanes of all reductions, and combines the lanes after it.
LogicalResult LoopNest::emit() {
  keepResults();
  Registers sums;
  SmallVector<ReduceOp> reductions;
  auto vector = VectorType::get({e.width}, e.builder.getF32Type());
  for (Operation *op : ops)
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (!reduce.getType().getElementType().isF32())
        return reduce.emitOpError("expected a reduction of f32");
      reductions.push_back(reduce);
      Value start = arith::ConstantOp::create(
          e.builder, e.loc, DenseElementsAttr::get(vector, neutral(reduce.getKind())));
      sums.append(e.shapeOf(reduce.getType()).rows * e.laneGroups(), start);
    }
  const bool alone = llvm::none_of(ops, llvm::IsaPred<ProductOpInterface>),
             isRandom = llvm::any_of(ops, llvm::IsaPred<RandomWordsOp>);
  if (failed(e.loops.overColumns(
          columns, range, alone, sums, [&] { return emitStep(sums); },
          isRandom ? DropoutBlocks::columns : 0)))
    return failure();
  ArrayRef<Value> rest = sums;
  for (ReduceOp reduce : reductions) {
    Fragment result = e.shapeOf(reduce.getType());
    for (int64_t r = 0; r < result.rows; ++r) {
      result.registers.push_back(
          e.reduceLanes(reduce.getKind(), SmallVector<Value>(rest.take_front(e.laneGroups()))));
      rest = rest.drop_front(e.laneGroups());
    }
    e.fragments[reduce.getResult()] = std::move(result);
  }
  return success();
}

LogicalResult CpuEmitter::emitLoopNest(ArrayRef<Operation *> ops) {
  return LoopNest(*this, ops).emit();
}
