//===- CpuContract.cpp - Contractions on the CPU --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emission of contractions within the loops of a body: initial sums, sums computed ahead of the
// loops, blocks of features (k-blocks) and masks. CpuProduct.cpp emits the multiplications.

#include "CpuProduct.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- The op ------------------------------------------------------------===//

/// Returns the left tile of a product over rows, written to scratch if it is in no memory yet.
FailureOr<TileMemory> CpuEmitter::leftTile(ProductOpInterface op) {
  Value tile = op.getLhs();
  if (const TileMemory *memory = scratch.find(tile))
    return *memory;
  if (isWide(cast<RankedTensorType>(tile.getType())))
    return op.emitOpError("expected the left tile in scratch, found one that is in no memory");
  FailureOr<Fragment> fragment = use(tile);
  if (failed(fragment))
    return failure();
  TileMemory memory = allocate(tile.getType(), /*allRows=*/false);
  writeFragment(memory, *fragment, tile.getType());
  return memory;
}

Registers CpuEmitter::either(Value condition, function_ref<Registers()> yes,
                             function_ref<Registers()> no) {
  auto yielded = [](function_ref<Registers()> make) {
    return [make](OpBuilder &inside, Location at) { scf::YieldOp::create(inside, at, make()); };
  };
  return Registers(
      scf::IfOp::create(builder, loc, condition, yielded(yes), yielded(no)).getResults());
}

Registers CpuEmitter::ifVisited(Value condition, ValueRange otherwise,
                                function_ref<Registers()> product) {
  return either(condition, product, [&] { return Registers(otherwise); });
}

LogicalResult CpuEmitter::emitContract(ProductOpInterface op) {
  Fragment result = shapeOf(op.getType());
  if (!result.vectors)
    return op.emitOpError("expected a result of at least 16 columns");
  if (auto contract = dyn_cast<ContractOp>(*op); contract && contract.getCentered())
    return op.emitOpError("expected a product without {centered} on CPUs, whose instructions "
                          "multiply unsigned bytes by signed ones");
  if (auto common = dyn_cast<ContractCommonOp>(*op)) {
    FailureOr<Fragment> init = use(common.getInit());
    if (failed(init))
      return failure();
    result.registers = product(op).overCommonRows(result, std::move(init->registers));
  } else if (op.isOverRows()) {
    FailureOr<TileMemory> left = leftTile(op);
    if (failed(left))
      return failure(); // leftTile has reported the error
    result.registers = product(op).overRows(result, *left);
  } else {
    Registers zeros(result.size(), zeroSum(op)), start = zeros;
    const int64_t from = firstFeature(op);
    if (from)
      start = readFragment(*product(op).partialSums, op.getType()).registers;
    auto sum = [&] {
      return product(op).overFeatures(result, start, constant(from), constant(featuresOf(op)));
    };
    const auto &ahead = product(op).ahead;
    auto summed = [&] { return readFragment(ahead->sums, op.getType()).registers; };
    auto value = [&]() -> Registers {
      if (!ahead || (ahead->isSummed && loops.isOneRow()))
        return sum();
      return ahead->isSummed ? either(ahead->isSummed, summed, sum) : summed();
    };
    if (RowRange range = op.getRange(); range.visited && columnBase(columnsOf(op.getType())))
      result.registers =
          ifVisited(visitBit(range.visited, range.visitTile, columnBase(columnsOf(op.getType()))),
                    zeros, value);
    else
      result.registers = value();
  }
  fragments[op->getResult(0)] = std::move(result);
  return success();
}

//===- k-blocks ----------------------------------------------------------===//

bool CpuEmitter::isBlocked(Operation &op) {
  auto contract = dyn_cast<ProductOpInterface>(op);
  int64_t block = plan.getBlock();
  return contract && !contract.isOverRows() && block && block % 16 == 0 &&
         featuresOf(contract) > block && !product(contract).usesMatrices();
}

/// A single row that skips k-blocks reads each panel as one long stream. The bound keeps rows that
/// are widened for it within a thread's stack.
bool CpuEmitter::takesOneRowWhole(ProductOpInterface op) { return featuresOf(op) <= (64 << 10); }

/// First feature of the last block.
int64_t CpuEmitter::lastBlock(ProductOpInterface op) {
  int64_t size = plan.getBlock();
  return (featuresOf(op) - 1) / size * size;
}

/// First feature of the part that is fused with the ops after the product: the last block if the
/// product is blocked, else 0.
int64_t CpuEmitter::firstFeature(ProductOpInterface op) {
  return product(op).partialSums && !isWholeRow(op) ? lastBlock(op) : 0;
}

/// Emits one block of features over all rows; partial sums are read from memory and written back.
/// Each element continues its chain of products, so its bits equal the bits of a single pass.
LogicalResult CpuEmitter::emitFeatures(ProductOpInterface op, Value from, Value to, bool first) {
  CpuProduct &product = this->product(op);
  const TileMemory memory = *product.partialSums;
  product.pack(from, to);
  auto overRows = [&](auto body) {
    return takesOneRowWhole(op) ? loops.overSeveralRows(body)
                                : loops.overRows(/*hasProducts=*/true, body);
  };
  LogicalResult result = overRows([&] {
    auto block = [&] {
      Fragment shape = shapeOf(op.getType());
      Registers sums(shape.size(), zeroSum(op));
      if (!first)
        sums = readFragment(memory, op.getType()).registers;
      shape.registers = product.overFeatures(shape, std::move(sums), from, to);
      writeFragment(memory, shape, op.getType());
      return success();
    };
    llvm::SaveAndRestore slots(scratch.used);
    product.enterRows(from, to);
    Registers none;
    LogicalResult result = isWide(op.getType()) ? loops.overColumns(memory.columns, memory.valid,
                                                                    /*alone=*/false, none, block)
                                                : block();
    product.leaveRows();
    return result;
  });
  product.releasePacked();
  return result;
}

/// Emits all blocks but the last. The last block is fused with the ops after the product, so its
/// sums stay in registers.
LogicalResult CpuEmitter::emitFirstBlocks(ProductOpInterface op) {
  int64_t size = plan.getBlock(), end = lastBlock(op);
  TileMemory memory = allocate(op.getType(), /*allRows=*/true);
  if (Value left = loops.columnsLeft(*op, memory.columns))
    memory.valid.to = minimum(left, constant(memory.columns));
  product(op).partialSums = memory;
  if (failed(emitFeatures(op, constant(0), constant(size), /*first=*/true)))
    return failure();
  if (end == size)
    return success();
  OpBuilder::InsertionGuard guard(builder);
  Value from = loopBy(constant(size), constant(end), size).getInductionVar();
  return emitFeatures(op, from, add(from, constant(size)), /*first=*/false);
}
