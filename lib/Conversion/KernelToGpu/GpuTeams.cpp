//===- GpuTeams.cpp - Chunks of keys by teams of a workgroup --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GpuTeams.h. A team that has no chunk left goes the way of the others, since
// barriers are for all, with the first team's chunk and loops of no iterations.
#include "GpuAttention.h"
#include "GpuLoops.h"

using namespace mlir;
using heddle::kernel::ContractOp;
using heddle::kernel::Fragment;

namespace heddle {

bool GpuTeams::hasChunks(Operation *op) {
  return op
      ->walk([](ContractOp product) {
        return product.getRows() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool GpuTeams::isShared(scf::ForOp loop) const { return e.placement.teams > 1 && hasChunks(loop); }

GpuTeams::Parts GpuTeams::partsOf(scf::ForOp loop) {
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

//===- What a chunk leaves -------------------------------------------------===//

/// Where this invocation's columns of a team's tile lie: in quads, or as one number.
Value GpuTeams::placeOf(Value tile, Value team) {
  const int64_t columns = GpuEmitter::columnsOf(tile.getType());
  if (columns == 1)
    return team;
  return e.add(e.mul(team, columns / kQuad), e.quarter(e.columnBase(columns)));
}

/// Tiles of several columns are vec4s; of one, numbers, those of each tile behind the last one's.
LogicalResult GpuTeams::hand(Value tile, int64_t number) {
  if (!GpuEmitter::isTile(tile.getType()))
    return emitError(tile.getLoc(), "expected tiles to be merged, found ") << tile.getType();
  FailureOr<Fragment> fragment = e.use(tile);
  if (failed(fragment))
    return failure();
  const auto type = cast<RankedTensorType>(tile.getType());
  const int64_t teams = e.placement.teams, columns = type.getDimSize(1);
  Value place = placeOf(tile, e.team);
  e.onlyIf(e.owns(type), [&] {
    for (int64_t j = 0; j < fragment->columns(); ++j)
      if (fragment->vectors)
        e.workgroup.write(SharedArray::Chunks, e.vec4Type(), teams * columns / kQuad,
                          e.add(place, e.constant(j)), fragment->at(0, j));
      else
        e.workgroup.write(SharedArray::ChunkNumbers, e.vec4Type(), teams, place, fragment->at(0, j),
                          e.constant(number));
  });
  return success();
}

void GpuTeams::take(Value tile, int64_t number, Value team) {
  Fragment fragment = e.shapeOf(tile.getType());
  const int64_t teams = e.placement.teams, columns = GpuEmitter::columnsOf(tile.getType());
  Value place = placeOf(tile, team);
  for (int64_t j = 0; j < fragment.columns(); ++j)
    fragment.registers.push_back(
        fragment.vectors ? e.workgroup.read(SharedArray::Chunks, e.vec4Type(),
                                            teams * columns / kQuad, e.add(place, e.constant(j)))
                         : e.workgroup.read(SharedArray::ChunkNumbers, e.vec4Type(), teams, place,
                                            e.constant(number)));
  e.fragments[tile] = std::move(fragment);
}

//===- The loop ------------------------------------------------------------===//

/// The team's own chunk of those that begin with `first`.
LogicalResult GpuTeams::emitChunk(scf::ForOp loop, const Parts &parts, Value first) {
  const int64_t step = *e.constantOf(e.scalar(loop.getStep()));
  Value own = e.add(first, e.mul(e.team, step));
  Value exists = e.compare(arith::CmpIPredicate::slt, own, e.scalar(loop.getUpperBound()));
  e.noteRows(exists);
  e.bindScalar(loop.getInductionVar(), e.select(exists, own, first));
  if (failed(e.emitAll(parts.chunk)))
    return failure();
  e.workgroup.beforeWrite(SharedArray::Chunks);
  for (auto [number, tile] : llvm::enumerate(parts.handed))
    if (failed(hand(tile, static_cast<int64_t>(number))))
      return failure();
  e.workgroup.barrier();
  return success();
}

LogicalResult GpuTeams::mergeChunk(scf::ForOp loop, const Parts &parts, Value team,
                                   Registers &state) {
  for (auto [number, tile] : llvm::enumerate(parts.handed))
    take(tile, static_cast<int64_t>(number), team);
  e.bindRegisters(loop.getRegionIterArgs(), state);
  if (failed(e.emitAll(parts.merge)))
    return failure();
  Registers next;
  for (Value value : loop.getBody()->getTerminator()->getOperands())
    if (failed(e.appendRegisters(value, next)))
      return failure();
  state = std::move(next);
  return success();
}

LogicalResult GpuTeams::emitLoop(scf::ForOp loop) {
  const Parts parts = partsOf(loop);
  if (parts.handed.size() > kQuad)
    return loop.emitOpError("expected at most ")
           << kQuad << " tiles of a chunk to be merged, found " << parts.handed.size();
  const int64_t teams = e.placement.teams, step = *e.constantOf(e.scalar(loop.getStep()));
  Value end = e.scalar(loop.getUpperBound());
  Registers state;
  for (Value init : loop.getInitArgs())
    if (failed(e.appendRegisters(init, state)))
      return failure();
  auto outside = e.fragments;
  LogicalResult emitted = success();
  e.loopOver(e.scalar(loop.getLowerBound()), end, step * teams, state, [&](Value first) {
    e.builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, e.builder.getUnitAttr());
    if (failed(emitChunk(loop, parts, first)))
      return void(emitted = failure());
    Value left = arith::DivUIOp::create(
        e.builder, e.loc, e.add(e.sub(end, first), e.constant(step - 1)), e.constant(step));
    Value isFirst = e.compare(arith::CmpIPredicate::eq, e.team, e.constant(0));
    Value merged = e.select(isFirst, e.minimum(left, e.constant(teams)), e.constant(0));
    e.loopOver(e.constant(0), merged, 1, state, [&](Value team) {
      if (failed(mergeChunk(loop, parts, team, state)))
        emitted = failure();
    });
  });
  e.fragments = std::move(outside);
  if (failed(emitted))
    return failure();
  e.bindRegisters(loop.getResults(), state);
  return success();
}

} // namespace heddle
