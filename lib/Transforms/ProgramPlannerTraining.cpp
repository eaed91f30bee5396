//===- ProgramPlannerTraining.cpp - Storage of gradients ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage of the memory that ops of training write in addition to their results: accumulators of
// gradients, and ranges of twins (Support/Program.h). A range is a matrix of 64 columns, which
// divide the alignment of weights.

#include "ProgramPlanner.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

static constexpr int64_t rangeColumns = 64;

/// The matrix of a range whose number of rows is `rows`.
static PlannedTensor rangeOf(Value buffer, const SizeExpr &rows) {
  PlannedTensor place;
  place.buffer = buffer;
  place.dims = {rows, rangeColumns};
  place.rows = rows;
  return place;
}

/// The weight of an op. The function, or an earlier one, reads the weight, which decides its layout.
FailureOr<std::pair<kernel::PackAttr, PlannedTensor>> ProgramPlanner::packedWeight(Operation *op,
                                                                                   StringRef name) {
  auto found = packs.find(name);
  if (found == packs.end())
    return op->emitOpError("expected a transformer.weight \"")
           << name << "\" that an earlier op reads, found none";
  if (found->second.size() > 1)
    return op->emitOpError("expected the weight \"")
           << name
           << "\" to be stored once, found several layouts; heads with padding are not supported "
              "in training";
  return std::pair(cast<kernel::PackAttr>(found->second.front().first),
                   found->second.front().second);
}

Value ProgramPlanner::accumulator(kernel::PackAttr weight, uint64_t use) {
  return kernel::GradientOp::create(b, func.getLoc(), b.getType<kernel::BufferType>(), weight, use);
}

PlannedTensor ProgramPlanner::twinPlace(StringRef name, WeightRange range) {
  Value &buffer = twins[name];
  if (!buffer)
    buffer = bufferOf({name.str(), Buffer::Kind::Twin, 0});
  const auto matrices = SizeExpr::dim(twinMatrices), vectors = SizeExpr::dim(twinVectors);
  PlannedTensor place = rangeOf(buffer, range == WeightRange::All        ? matrices + vectors
                                        : range == WeightRange::Matrices ? matrices
                                                                         : vectors);
  if (range == WeightRange::Vectors)
    place.offset = matrices * rangeColumns;
  return place;
}

LogicalResult ProgramPlanner::addWritten(Operation *op, SmallVectorImpl<PlannedTensor> &results) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](WeightGradientOpInterface gradient) {
        auto weight = packedWeight(op, gradient.getName());
        if (failed(weight))
          return failure();
        PlannedTensor place = weight->second;
        place.buffer = accumulator(weight->first, gradient.getUse());
        place.weight = false;
        results.push_back(std::move(place));
        return success();
      })
      .Case([&](GradientJoinOp join) {
        auto weight = packedWeight(op, join.getName());
        if (failed(weight))
          return failure();
        const int64_t rows =
            llvm::divideCeil(packedElements(weight->first.getValue()), rangeColumns);
        for (uint64_t use : {uint64_t(0), join.getUse()})
          results.push_back(rangeOf(accumulator(weight->first, use), rows));
        return success();
      })
      .Case([&](OptimizerOp optimizer) {
        for (StringRef twin : {weightTwin, firstMomentTwin, secondMomentTwin, gradientTwin})
          results.push_back(twinPlace(twin, optimizer.getRange()));
        return success();
      })
      .Case([&](GradientNormOp) {
        results.push_back(twinPlace(gradientTwin, WeightRange::All));
        return success();
      })
      .Default(success());
}
