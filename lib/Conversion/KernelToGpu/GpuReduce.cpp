//===- GpuReduce.cpp - What invocations of a workgroup share ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles and row statistics in Workgroup memory. Sums of a row follow the order
// of the language: sixteen lanes (column mod 16), each ascending, then lanes l
// and l + 8, l and l + 4, and so on. Maxima need no order.
//
//   blocked   the tile is staged, one invocation sums one row of it
//   strided   an invocation holds four lanes of its row; the four of a row exchange them
//
// A barrier stands before a write only where an earlier read of the same array
// may not be over: every array has one use, and the barriers of the others in
// the same block usually lie between.
#include "GpuEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::ReduceKind;
using heddle::kernel::ReduceOp;

namespace heddle {

/// Below every score and every finite partial maximum.
static constexpr float kLowest = -0x1.fffffep+127f;
/// Virtual lanes of a sum, in quads.
static constexpr int64_t kLaneQuads = 4;

//===- Workgroup memory --------------------------------------------------===//

void GpuEmitter::barrier() {
  shell.barrier();
  barrierIn = builder.getInsertionBlock();
  readSince.clear();
}

void GpuEmitter::beforeWrite(SharedArray array) {
  if (barrierIn != builder.getInsertionBlock() || readSince.count(array))
    barrier();
}

void GpuEmitter::writeShared(SharedArray array, Type element, int64_t entries, Value index,
                             Value value) {
  spirv::StoreOp::create(builder, loc, shell.shared(array, element, entries, index), value);
}

Value GpuEmitter::readShared(SharedArray array, Type element, int64_t entries, Value index) {
  readSince.insert(array);
  return spirv::LoadOp::create(builder, loc, shell.shared(array, element, entries, index));
}

LogicalResult GpuEmitter::stage(Value tile) {
  if (stagedTile == tile && stagedIn == builder.getInsertionBlock())
    return success();
  FailureOr<Fragment> fragment = use(tile);
  if (failed(fragment))
    return fragment;
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t quads = type.getDimSize(1) / width;
  beforeWrite(SharedArray::Tile);
  Value column = quarter(columnBase(type.getDimSize(1)));
  onlyIf(owns(type), [&] {
    for (int64_t row = 0; row < fragment->rows; ++row)
      for (int64_t j = 0; j < fragment->vectors; ++j) {
        Value index = add(mul(add(rowBase(), constant(row)), quads), add(column, constant(j)));
        writeShared(SharedArray::Tile, quadType(), type.getDimSize(0) * quads, index,
                    fragment->at(row, j));
      }
  });
  barrier();
  stagedTile = tile;
  stagedIn = builder.getInsertionBlock();
  return success();
}

Value GpuEmitter::stagedQuad(int64_t tileColumns, Value row, Value quadColumn) {
  int64_t quads = tileColumns / width;
  int64_t entries = placement.ty * placement.rows * quads;
  return readShared(SharedArray::Tile, quadType(), entries, add(mul(row, quads), quadColumn));
}

//===- Blocked tiles -----------------------------------------------------===//

Fragment GpuEmitter::maximaOfRows(const Fragment &tile) {
  int64_t entries = placement.ty * placement.rows * placement.tx;
  Type f32 = builder.getF32Type();
  auto place = [&](int64_t row, Value column) {
    return add(mul(add(rowBase(), constant(row)), placement.tx), column);
  };
  beforeWrite(SharedArray::Maxima);
  for (int64_t row = 0; row < tile.rows; ++row) {
    Value largest = tile.at(row, 0);
    for (int64_t j = 1; j < tile.vectors; ++j)
      largest = larger(largest, tile.at(row, j));
    writeShared(SharedArray::Maxima, f32, entries, place(row, tx),
                reduceLanes(ReduceKind::Max, {largest}));
  }
  barrier();
  Fragment result{{}, tile.rows, 0};
  for (int64_t row = 0; row < tile.rows; ++row) {
    Value largest;
    for (int64_t i = 0; i < placement.tx; ++i) {
      Value one = readShared(SharedArray::Maxima, f32, entries, place(row, constant(i)));
      largest = largest ? larger(largest, one) : one;
    }
    result.registers.push_back(largest);
  }
  return result;
}

Value GpuEmitter::sumOfStagedRow(Value row, int64_t columns) {
  SmallVector<Value> lanes(kLaneQuads);
  for (int64_t quad = 0; quad < columns / width; ++quad) {
    Value &lane = lanes[quad % kLaneQuads];
    Value next = stagedQuad(columns, row, constant(quad));
    lane = lane ? combine(ReduceKind::Add, lane, next) : next;
  }
  return reduceLanes(ReduceKind::Add, lanes);
}

/// Of the staged tile: invocation i sums rows i, i + invocations, ...; then every one reads its own
/// rows' sums.
Fragment GpuEmitter::sumsOfRows(RankedTensorType type) {
  int64_t rows = type.getDimSize(0), invocations = placement.ty * placement.tx;
  Type f32 = builder.getF32Type();
  beforeWrite(SharedArray::Sums);
  Value invocation = add(mul(ty, placement.tx), tx);
  for (int64_t first = 0; first < rows; first += invocations) {
    Value row = add(invocation, constant(first));
    bool isWhole = first + invocations <= rows;
    Value exists = isWhole ? Value() : compare(arith::CmpIPredicate::slt, row, constant(rows));
    onlyIf(exists, [&] {
      writeShared(SharedArray::Sums, f32, rows, row, sumOfStagedRow(row, type.getDimSize(1)));
    });
  }
  barrier();
  Fragment result{{}, placement.rows, 0};
  for (int64_t row = 0; row < placement.rows; ++row)
    result.registers.push_back(
        readShared(SharedArray::Sums, f32, rows, add(rowBase(), constant(row))));
  return result;
}

LogicalResult GpuEmitter::emitReduce(ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  if (placement.strided || type.getDimSize(1) == 1)
    return BodyEmitter::emitReduce(op);
  if (type.getDimSize(1) % 16 != 0 || type.getDimSize(0) != placement.ty * placement.rows)
    return op.emitOpError("expected a tile of ")
           << placement.ty * placement.rows << " rows and a multiple of 16 columns, found " << type;
  if (op.getKind() == ReduceKind::Max) {
    FailureOr<Fragment> tile = use(op.getOperand());
    if (failed(tile))
      return tile;
    fragments[op.getResult()] = maximaOfRows(*tile);
    return success();
  }
  if (LogicalResult staged = stage(op.getOperand()); failed(staged))
    return staged;
  fragments[op.getResult()] = sumsOfRows(type);
  return success();
}

//===- Column loops over strided tiles -----------------------------------===//

/// One quad of lanes for each row of each reduction.
SmallVector<Value> GpuEmitter::identities(ArrayRef<ReduceOp> reductions) {
  SmallVector<Value> lanes;
  for (ReduceOp op : reductions) {
    float identity = op.getKind() == ReduceKind::Max ? kLowest : 0.0f;
    Value quad =
        arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(quadType(), identity));
    lanes.append(shapeOf(op.getType()).rows, quad);
  }
  return lanes;
}

/// The four invocations of a row exchange their lanes; each then goes through the same tree.
Fragment GpuEmitter::finishLanes(ReduceKind kind, ArrayRef<Value> lanes) {
  int64_t entries = placement.ty * placement.rows * kLaneQuads;
  auto place = [&](int64_t row, Value quad) {
    return add(mul(add(rowBase(), constant(row)), kLaneQuads), quad);
  };
  beforeWrite(SharedArray::Lanes);
  for (auto [row, quad] : llvm::enumerate(lanes))
    writeShared(SharedArray::Lanes, quadType(), entries, place(row, tx), quad);
  barrier();
  Fragment result{{}, static_cast<int64_t>(lanes.size()), 0};
  for (size_t row = 0; row < lanes.size(); ++row) {
    SmallVector<Value> quads;
    for (int64_t i = 0; i < kLaneQuads; ++i)
      quads.push_back(readShared(SharedArray::Lanes, quadType(), entries, place(row, constant(i))));
    result.registers.push_back(reduceLanes(kind, quads));
  }
  return result;
}

/// The ops of a run at the current columns; reductions add to their lanes.
LogicalResult GpuEmitter::emitRunStep(ArrayRef<Operation *> run, SmallVectorImpl<Value> &lanes) {
  Value *lane = lanes.begin();
  for (Operation *op : run) {
    auto reduction = dyn_cast<ReduceOp>(op);
    if (!reduction) {
      if (LogicalResult emitted = emitOp(*op); failed(emitted))
        return emitted;
      continue;
    }
    FailureOr<Fragment> tile = use(reduction.getOperand());
    if (failed(tile))
      return tile;
    for (int64_t row = 0; row < tile->rows; ++row, ++lane)
      for (int64_t j = 0; j < tile->vectors; ++j)
        *lane = combine(reduction.getKind(), *lane, tile->at(row, j));
  }
  return success();
}

LogicalResult GpuEmitter::emitRun(ArrayRef<Operation *> run) {
  SmallVector<ReduceOp> reductions;
  int64_t columns = 0;
  for (Operation *op : run) {
    if (auto reduction = dyn_cast<ReduceOp>(op))
      reductions.push_back(reduction);
    if (!isa<ReduceOp, kernel::StoreOp>(op))
      return op->emitOpError("expected an op that is computed column by column");
    columns = columnsOf(op->getOperand(0).getType());
  }
  int64_t step = fragmentVectors(columns) * width * placement.tx;
  if (columns % step != 0)
    return run.front()->emitOpError("expected a multiple of ")
           << step << " columns, found " << columns;
  SmallVector<Value> start = identities(reductions);
  auto loop =
      scf::ForOp::create(builder, loc, constant(0), constant(columns), constant(step), start);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    auto saved = fragments;
    runColumn = loop.getInductionVar();
    SmallVector<Value> lanes(loop.getRegionIterArgs());
    if (LogicalResult emitted = emitRunStep(run, lanes); failed(emitted))
      return emitted;
    if (!lanes.empty())
      scf::YieldOp::create(builder, loc, lanes);
    runColumn = Value();
    fragments = std::move(saved);
  }
  ValueRange lanes = loop.getResults();
  for (ReduceOp op : reductions) {
    int64_t rows = shapeOf(op.getType()).rows;
    fragments[op.getResult()] =
        finishLanes(op.getKind(), SmallVector<Value>(lanes.take_front(rows)));
    lanes = lanes.drop_front(rows);
  }
  return success();
}

} // namespace heddle
