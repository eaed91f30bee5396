//===- GpuPlacement.cpp - From a plan to a mapping -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives a kernel's workgroup from its plan and its tiles, and selects the class of its
// mapping.

#include "GpuAttention.h"
#include "GpuEmitter.h"
#include "GpuMatrices.h"

using namespace mlir;
using heddle::kernel::Mapping;
using heddle::kernel::PlanAttr;

namespace heddle {

/// Number of rows of the kernel's tiles. All tiles with more than one row have to agree.
static FailureOr<int64_t> tileRows(kernel::FuncOp func) {
  int64_t rows = 1;
  WalkResult walked = func.walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (!tile || tile.getDimSize(0) == 1 || tile.getDimSize(0) == rows)
        continue;
      if (rows != 1)
        return op->emitOpError("expected tiles of ") << rows << " rows, found " << tile;
      rows = tile.getDimSize(0);
    }
    return WalkResult::advance();
  });
  return walked.wasInterrupted() ? FailureOr<int64_t>(failure()) : rows;
}

/// Rejects loops that carry wide tiles in bodies without a contraction. Four invocations share a
/// row, with a vec4 each, so a loop would carry only the first columns.
static LogicalResult carriesNarrowTiles(kernel::FuncOp func) {
  WalkResult walked = func.walk([](scf::ForOp loop) {
    for (Type type : loop.getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type); tile && tile.getDimSize(1) > 16) {
        loop.emitOpError("expected tiles of at most 16 columns to be carried in a kernel without a "
                         "contraction, found ")
            << tile;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Requires tiles whose columns divide among `across` invocations with whole vec4s, or of one
/// column.
static LogicalResult dividesColumns(kernel::FuncOp func, int64_t across) {
  WalkResult walked = func.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type);
          tile && tile.getDimSize(1) > 1 && tile.getDimSize(1) % (kVec4 * across) != 0) {
        op->emitOpError("expected tiles of a multiple of ")
            << kVec4 * across << " columns for " << across << " invocations a row, found " << tile;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Plan of a kernel. A kernel without a plan is `blocked` with eight rows for each invocation, or
/// `strided` with four invocations for each row.
static PlanAttr planOf(kernel::FuncOp func, int64_t rows) {
  if (PlanAttr plan = func.getPlanAttr())
    return plan;
  if (func.multiplies())
    return PlanAttr::get(func.getContext(), Mapping::Blocked, {},
                         {std::max<int64_t>(1, rows / 8), 8});
  return PlanAttr::get(func.getContext(), Mapping::Strided, {}, {std::min<int64_t>(rows, 16), 4});
}

FailureOr<GpuPlacement> placeInvocations(kernel::FuncOp func, const GpuTarget &target) {
  FailureOr<int64_t> rows = tileRows(func);
  if (failed(rows))
    return failure();
  const PlanAttr plan = planOf(func, *rows);
  GpuPlacement placement;
  placement.mapping = plan.getMapping();
  if (isOfCpu(placement.mapping))
    return func.emitOpError("expected a plan for GPUs, found mapping ")
           << stringifyMapping(placement.mapping);
  placement.ty = std::min(*rows, plan.getDown());
  placement.tx = plan.getAcross();
  placement.block = plan.getBlock();
  placement.ahead = plan.getAhead();
  placement.buffers = plan.getBuffers();
  placement.rowBlock = plan.getRowBlock();
  if (placement.mapping == Mapping::SplitKeys)
    placement.groups = plan.getDown();
  if (placement.mapping == Mapping::Strided) {
    // An invocation owns four of the sixteen lanes of a reduction, or loads for one that does.
    if (!llvm::is_contained({4, 8, 16}, placement.tx))
      return func.emitOpError("expected 4, 8 or 16 invocations a row in a kernel without a "
                              "contraction, found ")
             << placement.tx;
    if (failed(carriesNarrowTiles(func)))
      return failure();
  }
  if (placement.mapping == Mapping::WideRows) {
    if (placement.ty != *rows || placement.tx % 16 != 0)
      return func.emitOpError("expected a multiple of 16 invocations for each of ")
             << *rows << " rows, found " << placement.ty << " x " << placement.tx;
    if (failed(dividesColumns(func, placement.tx)))
      return failure();
  }
  if (*rows % placement.ty != 0)
    return func.emitOpError("expected rows of tiles to divide among ")
           << placement.ty << " invocations, found " << *rows;
  placement.rows = *rows / placement.ty;
  if (usesMatrixUnit(placement.mapping)) {
    placement.subgroup = target.subgroup;
    if (failed(isOfAttention(placement.mapping) ? placeAttention(func, target, placement)
                                                : placeMatrices(func, target, placement)))
      return failure();
  }
  return placement;
}

std::unique_ptr<GpuMapping> GpuMapping::create(GpuEmitter &emitter) {
  switch (emitter.placement.mapping) {
  case Mapping::Strided:
    return makeStrided(emitter);
  case Mapping::WideRows:
    return makeWideRows(emitter);
  case Mapping::OwnRows:
    return makeOwnRows(emitter);
  case Mapping::SplitKeys: // one group has nothing to exchange
    return emitter.placement.groups > 1 ? makeSplitKeys(emitter)
                                        : std::make_unique<GpuMapping>(emitter);
  case Mapping::Matrix:
  case Mapping::MatrixFewRows:
    return makeMatrix(emitter);
  case Mapping::MatrixAttention:
    return makeMatrixAttention(emitter);
  default: // Blocked, and with staged products Staged and FewRows
    return std::make_unique<GpuMapping>(emitter);
  }
}

} // namespace heddle
