//===- GpuPlacement.cpp - Which invocation has which rows and columns ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GpuEmitter.h. Placement follows from a kernel's tiles and its schedule.
#include "GpuEmitter.h"

using namespace mlir;

namespace heddle {

/// Rows of the kernel's tiles: all tiles of more than one row agree.
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

/// Rejects loops that carry wide tiles in bodies without a contraction: four invocations share a
/// row, a vec4 each, so a loop would carry only the first columns.
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

FailureOr<GpuPlacement> placeInvocations(kernel::FuncOp func) {
  FailureOr<int64_t> rows = tileRows(func);
  if (failed(rows))
    return failure();
  GpuPlacement placement;
  placement.strided =
      !func.walk([](kernel::ContractOp) { return WalkResult::interrupt(); }).wasInterrupted();
  ArrayRef<int64_t> threads = func.getScheduleOrDefault().getThreads();
  if (!threads.empty() && (threads.size() != 2 || threads[0] < 1 || threads[1] < 1))
    return func.emitOpError("expected threads to be two positive numbers, found ")
           << threads.size();
  if (placement.strided) {
    // An invocation owns four of the sixteen lanes of a reduction, or loads for one that does.
    placement.tx = threads.empty() ? 4 : threads[1];
    if (!llvm::is_contained({4, 8, 16}, placement.tx))
      return func.emitOpError("expected 4, 8 or 16 invocations a row in a kernel without a "
                              "contraction, found ")
             << placement.tx;
    placement.ty = std::min<int64_t>(*rows, threads.empty() ? 16 : threads[0]);
    if (failed(carriesNarrowTiles(func)))
      return failure();
  } else {
    placement.block = func.getScheduleOrDefault().getKblock();
    placement.ahead = std::max<int64_t>(func.getScheduleOrDefault().getPrefetch(), 1);
    placement.tx = threads.empty() ? 8 : threads[1];
    placement.teams = *rows == 1 && GpuTeams::hasChunks(func) && !threads.empty() ? threads[0] : 1;
    placement.ty = threads.empty() ? std::max<int64_t>(1, *rows / 8) : std::min(*rows, threads[0]);
  }
  if (*rows % placement.ty != 0)
    return func.emitOpError("expected rows of tiles to divide among ")
           << placement.ty << " invocations, found " << *rows;
  placement.rows = *rows / placement.ty;
  return placement;
}

} // namespace heddle
