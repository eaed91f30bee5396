//===- SplitKeys.cpp - Chunks of keys by groups of invocations ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mapping `split_keys`: groups of invocations compute the chunks of keys of one query in
// parallel. One row cannot occupy many invocations, but its chunks can: each has a softmax of
// its own, and only their merge has an order. Each group takes one chunk at a time:
//
//   for c in chunks step groups       ops that read no loop-carried value:
//     chunk c + group                 the group's own chunk
//     workgroup memory                results of the chunk that the merge reads
//     for g in groups                 ops that read loop-carried values:
//       merge chunk c + g             the first group, in ascending order
//
// The results are bit-identical to a loop over the chunks.

#include "GpuMapping.h"

#include "../GpuEmitter.h"
#include "../GpuLoops.h"
#include "../GpuProduct.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::ProductOpInterface;

namespace heddle {

namespace {
class SplitKeys : public GpuMapping {
public:
  using GpuMapping::GpuMapping;

  void placeInvocation() override {
    GpuMapping::placeInvocation();
    std::swap(group, e.ty); // a tile has one row
  }
  Value firstRow() override { return {}; }
  /// Only the first group, which merges, stores the row.
  Value stores(RankedTensorType tile) override;
  LogicalResult emitLoop(scf::ForOp loop) override;

  int64_t stepsOfProduct(std::optional<int64_t> known, int64_t vec4s) const override;
  /// Groups without a chunk have loops without iterations.
  bool skipsMissingRows() const override { return false; }
  bool loadsFirst() const override { return true; }
  void sumGuarded(GpuProduct &product, SmallVector<Value> &sums) override {
    product.sumBeyondOrRepeat(sums);
  }

  Value stagedRow() override { return group; }
  int64_t stagedRows() const override { return groups() * GpuMapping::stagedRows(); }
  bool readsApart() const override { return true; }

protected:
  /// Each invocation sums the row of its group.
  Fragment sumsOfStagedRows(RankedTensorType type) override {
    return {{sumOfStagedRow(group, type.getDimSize(1))}, 1, 0};
  }

private:
  using Registers = SmallVector<Value>;
  /// The ops of a loop's body, and the tiles of a chunk that the merge reads.
  struct Parts {
    SmallVector<Operation *> chunk, merge;
    SmallVector<Value> handed;
  };

  int64_t groups() const { return e.placement.groups; }
  static Parts partsOf(scf::ForOp loop);
  LogicalResult emitChunk(scf::ForOp loop, const Parts &parts, Value first);
  LogicalResult mergeChunk(scf::ForOp loop, const Parts &parts, Value from, Registers &state);
  Value placeOf(Value tile, Value from);
  LogicalResult hand(Value tile, int64_t number);
  void take(Value tile, int64_t number, Value from);

  Value group; ///< index of this invocation's group
};
} // namespace

Value SplitKeys::stores(RankedTensorType tile) {
  Value isStored = owns(tile), isFirst = e.compare(arith::CmpIPredicate::eq, group, e.constant(0));
  return e.allOf(isStored, isFirst);
}

/// The loop is bound by memory, so only registers limit the number of loads in flight.
int64_t SplitKeys::stepsOfProduct(std::optional<int64_t> known, int64_t vec4s) const {
  const int64_t most = e.target.level == 0 ? 16 : 32;
  if (!known) // a loop over keys, each of `vec4s` vec4s; the result is a power of two
    return std::max(most / static_cast<int64_t>(llvm::PowerOf2Ceil(std::max<int64_t>(vec4s, 1))),
                    kVec4);
  for (int64_t steps = most; steps > kVec4; steps -= kVec4)
    if (*known % steps == 0)
      return steps;
  return kVec4;
}

//===- The parts of a loop ------------------------------------------------===//

/// Whether an op contains a product over rows, and thus computes chunks of keys.
static bool hasChunks(Operation *op) {
  return op
      ->walk([](ProductOpInterface product) {
        return product.isOverRows() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

SplitKeys::Parts SplitKeys::partsOf(scf::ForOp loop) {
  Parts parts;
  llvm::SmallPtrSet<Operation *, 16> merging;
  auto reads = [&](Operation &op, function_ref<bool(Value)> matches) {
    return op
        .walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(), matches) ? WalkResult::interrupt()
                                                             : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    const bool merges = reads(op, [&](Value value) {
      return llvm::is_contained(loop.getRegionIterArgs(), value) ||
             merging.contains(value.getDefiningOp());
    });
    if (!merges) {
      parts.chunk.push_back(&op);
      continue;
    }
    merging.insert(&op);
    parts.merge.push_back(&op);
  }
  merging.insert(loop.getBody()->getTerminator());
  for (Operation *op : parts.chunk)
    for (Value value : op->getResults())
      if (llvm::any_of(value.getUsers(), [&](Operation *user) {
            Operation *ancestor = loop.getBody()->findAncestorOpInBlock(*user);
            return ancestor && merging.contains(ancestor);
          }))
        parts.handed.push_back(value);
  return parts;
}

//===- Results of a chunk -------------------------------------------------===//

/// Index of this invocation's first vec4 in the tile of group `from`, or the group's index for a
/// tile of one column.
Value SplitKeys::placeOf(Value tile, Value from) {
  const int64_t columns = GpuEmitter::columnsOf(tile.getType());
  if (columns == 1)
    return from;
  return e.add(e.mul(from, columns / kVec4), e.memory.quarter(e.columnBase(columns)));
}

/// Writes a tile of the chunk to workgroup memory for the merge. A tile of one column is lane
/// `number` of the group's vec4.
LogicalResult SplitKeys::hand(Value tile, int64_t number) {
  if (!GpuEmitter::isTile(tile.getType()))
    return emitError(tile.getLoc(), "expected tiles to be merged, found ") << tile.getType();
  FailureOr<Fragment> fragment = e.use(tile);
  if (failed(fragment))
    return failure();
  const auto type = cast<RankedTensorType>(tile.getType());
  const int64_t columns = type.getDimSize(1);
  Value place = placeOf(tile, group);
  e.onlyIf(owns(type), [&] {
    for (int64_t j = 0; j < fragment->columns(); ++j)
      if (fragment->vectors)
        e.workgroup.write(SharedArray::Chunks, e.vec4Type(), groups() * columns / kVec4,
                          e.add(place, e.constant(j)), fragment->at(0, j));
      else
        e.workgroup.write(SharedArray::ChunkNumbers, e.vec4Type(), groups(), place,
                          fragment->at(0, j), e.constant(number));
  });
  return success();
}

void SplitKeys::take(Value tile, int64_t number, Value from) {
  Fragment fragment = e.shapeOf(tile.getType());
  const int64_t columns = GpuEmitter::columnsOf(tile.getType());
  Value place = placeOf(tile, from);
  for (int64_t j = 0; j < fragment.columns(); ++j)
    fragment.registers.push_back(
        fragment.vectors ? e.workgroup.read(SharedArray::Chunks, e.vec4Type(),
                                            groups() * columns / kVec4, e.add(place, e.constant(j)))
                         : e.workgroup.read(SharedArray::ChunkNumbers, e.vec4Type(), groups(),
                                            place, e.constant(number)));
  e.fragments[tile] = std::move(fragment);
}

//===- The loop ------------------------------------------------------------===//

/// Emits this group's chunk; the first group's begins at `first`. A group without a chunk takes the
/// first group's with loops without iterations, since all invocations have to reach the barriers.
LogicalResult SplitKeys::emitChunk(scf::ForOp loop, const Parts &parts, Value first) {
  const int64_t step = *e.constantOf(e.scalar(loop.getStep()));
  Value own = e.add(first, e.mul(group, step));
  Value exists = e.less(own, e.scalar(loop.getUpperBound()));
  noteRows(exists);
  e.scalars[loop.getInductionVar()] = e.select(exists, own, first);
  if (failed(e.emitOps(parts.chunk)))
    return failure();
  e.workgroup.beforeWrite(SharedArray::Chunks);
  for (auto [number, tile] : llvm::enumerate(parts.handed))
    if (failed(hand(tile, static_cast<int64_t>(number))))
      return failure();
  e.workgroup.barrier();
  return success();
}

LogicalResult SplitKeys::mergeChunk(scf::ForOp loop, const Parts &parts, Value from,
                                    Registers &state) {
  for (auto [number, tile] : llvm::enumerate(parts.handed))
    take(tile, static_cast<int64_t>(number), from);
  e.bindRegisters(loop.getRegionIterArgs(), state);
  if (failed(e.emitOps(parts.merge)))
    return failure();
  Registers next;
  for (Value value : loop.getBody()->getTerminator()->getOperands())
    if (failed(e.appendRegisters(value, next)))
      return failure();
  state = std::move(next);
  return success();
}

LogicalResult SplitKeys::emitLoop(scf::ForOp loop) {
  if (!hasChunks(loop))
    return GpuMapping::emitLoop(loop);
  const Parts parts = partsOf(loop);
  if (parts.handed.size() > kVec4)
    return loop.emitOpError("expected at most ")
           << kVec4 << " tiles of a chunk to be merged, found " << parts.handed.size();
  const int64_t step = *e.constantOf(e.scalar(loop.getStep()));
  Value end = e.scalar(loop.getUpperBound());
  Registers state;
  for (Value init : loop.getInitArgs())
    if (failed(e.appendRegisters(init, state)))
      return failure();
  auto outside = e.fragments;
  LogicalResult emitted = success();
  e.loopOver(e.scalar(loop.getLowerBound()), end, step * groups(), state, [&](Value first) {
    e.markLoop(kRolled);
    if (failed(emitChunk(loop, parts, first)))
      return void(emitted = failure());
    Value left = e.quotient(e.add(e.sub(end, first), e.constant(step - 1)), step);
    Value isFirst = e.compare(arith::CmpIPredicate::eq, group, e.constant(0));
    Value merged = e.select(isFirst, e.minimum(left, e.constant(groups())), e.constant(0));
    e.loopOver(e.constant(0), merged, 1, state, [&](Value from) {
      if (failed(mergeChunk(loop, parts, from, state)))
        emitted = failure();
    });
  });
  e.fragments = std::move(outside);
  if (failed(emitted))
    return failure();
  e.bindRegisters(loop.getResults(), state);
  return success();
}

std::unique_ptr<GpuMapping> makeSplitKeys(GpuEmitter &emitter) {
  return std::make_unique<SplitKeys>(emitter);
}

} // namespace heddle
