//===- BodyRandom.cpp - Random words of a body ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2,
// 3, 2011). The rounds are a loop, because unrolled rounds are most of a
// kernel's code. If a row of the fragment has whole groups of 64 columns, the
// columns c, c + 16, c + 32 and c + 48 share one block of four words.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "heddle/Support/Philox.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
constexpr int64_t neighbors = DropoutBlocks::neighbors;
constexpr int64_t wordsPerBlock = DropoutBlocks::columns / neighbors;
constexpr int64_t blocksTogether = 2; ///< independent blocks of a loop, which hide latencies

/// A block of four words, for one register or for one register a word.
struct RandomBlock {
  std::array<Value, wordsPerBlock> words; ///< the counter, later the result
  Value column;                           ///< column of the first register
  int64_t first;                          ///< the first register
};
} // namespace

/// Whether an emitted integer is known to be a multiple of `factor`, a power of two.
static bool isMultiple(Value value, int64_t factor) {
  APInt bits;
  if (!value)
    return true;
  if (matchPattern(value, m_ConstantInt(&bits)))
    return bits.getSExtValue() % factor == 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isMultiple(loop.getLowerBound(), factor) &&
           isMultiple(loop.getStep(), factor);
  }
  Operation *op = value.getDefiningOp();
  auto holds = [&](Value operand) { return isMultiple(operand, factor); };
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::TruncIOp,
          arith::ExtSIOp, arith::ExtUIOp>(op))
    return llvm::all_of(op->getOperands(), holds);
  if (isa<arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(), holds);
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    return holds(choice.getTrueValue()) && holds(choice.getFalseValue());
  return false;
}

bool BodyEmitter::sharesBlocks(RandomWordsOp op, const Fragment &shape) {
  auto iota = op.getColumn().getDefiningOp<IotaOp>();
  if (!iota || iota.getOfRows() || !shape.vectors || width > neighbors ||
      shape.vectors * width % DropoutBlocks::columns != 0)
    return false;
  const int64_t tileColumns = columnsOf(op.getType());
  for (int64_t j = 0; j < shape.vectors; ++j)
    if (vectorColumn(j, tileColumns) != j * width)
      return false;
  return isMultiple(scalar(iota.getStart()), DropoutBlocks::columns) &&
         isMultiple(columnBase(tileColumns), DropoutBlocks::columns);
}

/// Computes the rounds of `blocks`, whose words are the counters.
static void emitRounds(BodyEmitter &e, MutableArrayRef<RandomBlock> blocks, Value seed,
                       Value step) {
  OpBuilder &b = e.builder;
  Location loc = e.loc;
  const Type type = blocks.front().words[0].getType();
  auto number = [&](uint32_t value, Type like) {
    return e.wordConstant(static_cast<int32_t>(value), like);
  };
  auto differ = [&](Value x, Value y) -> Value { return arith::XOrIOp::create(b, loc, x, y); };
  auto product = [&](Value x, uint32_t factor) {
    return arith::MulUIExtendedOp::create(b, loc, x, number(factor, type));
  };
  SmallVector<Value> carried;
  for (RandomBlock &block : blocks)
    llvm::append_range(carried, block.words);
  carried.append({seed, step});
  e.loopOver(e.constant(0), e.constant(philoxRounds), 1, carried, [&](Value) {
    MutableArrayRef<Value> key = MutableArrayRef(carried).take_back(2), counter = carried;
    for (size_t n = 0; n < blocks.size(); ++n, counter = counter.drop_front(wordsPerBlock)) {
      auto first = product(counter[0], philoxFactors[0]),
           second = product(counter[2], philoxFactors[1]);
      counter[0] = differ(differ(second.getHigh(), counter[1]), e.splat(key[0], type));
      counter[2] = differ(differ(first.getHigh(), counter[3]), e.splat(key[1], type));
      counter[1] = second.getLow();
      counter[3] = first.getLow();
    }
    const Type word = key[0].getType();
    key[0] = arith::AddIOp::create(b, loc, key[0], number(philoxKeySteps[0], word));
    key[1] = arith::AddIOp::create(b, loc, key[1], number(philoxKeySteps[1], word));
  });
  ArrayRef<Value> results = carried;
  for (RandomBlock &block : blocks) {
    llvm::copy(results.take_front(wordsPerBlock), block.words.begin());
    results = results.drop_front(wordsPerBlock);
  }
}

namespace {
/// Emits integer arithmetic on the numbers of columns.
struct ColumnArithmetic {
  BodyEmitter &e;

  Value shifted(Value x, int32_t by) const {
    return arith::ShRUIOp::create(e.builder, e.loc, x, e.wordConstant(by, x.getType()));
  }
  Value lowBits(Value x, int32_t mask) const {
    return arith::AndIOp::create(e.builder, e.loc, x, e.wordConstant(mask, x.getType()));
  }
  /// The number of the block of a column.
  Value block(Value column) const {
    Value group = shifted(column, llvm::Log2_64(DropoutBlocks::columns));
    Value first =
        arith::MulIOp::create(e.builder, e.loc, group, e.wordConstant(neighbors, group.getType()));
    return arith::AddIOp::create(e.builder, e.loc, first, lowBits(column, neighbors - 1));
  }
  /// The word of a block that belongs to a column.
  Value word(const RandomBlock &block) const {
    Value number = lowBits(shifted(block.column, llvm::Log2_64(neighbors)), wordsPerBlock - 1);
    Value word = block.words.back();
    for (int32_t n = 0; n < wordsPerBlock - 1; ++n) {
      Value isWord =
          e.compare(arith::CmpIPredicate::eq, number, e.wordConstant(n, number.getType()));
      if (auto lanes = dyn_cast<VectorType>(word.getType()))
        isWord = e.splat(isWord, lanes.clone(e.builder.getI1Type()));
      word = e.select(isWord, block.words[n], word);
    }
    return word;
  }
};
} // namespace

LogicalResult BodyEmitter::emitRandomWords(RandomWordsOp op) {
  Fragment result = shapeOf(op.getType());
  const Type type = registerType(builder.getI32Type(), result.vectors);
  SmallVector<Fragment> counters;
  for (Value counter : {op.getColumn(), op.getPosition(), op.getExample(), Value(op.getSite())}) {
    FailureOr<Fragment> fragment = operand(counter);
    if (failed(fragment))
      return failure();
    counters.push_back(std::move(*fragment));
  }
  const ColumnArithmetic columns{*this};
  const bool shares = sharesBlocks(op, result);
  const int64_t perRow = result.columns(), perWord = neighbors / width;
  SmallVector<RandomBlock> blocks;
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < perRow; ++column) {
      if (shares && column % (wordsPerBlock * perWord) >= perWord)
        continue; // the block of an earlier register
      auto counterAt = [&](int64_t which) {
        const Fragment &from = counters[which];
        return from.at(from.rows == 1 ? 0 : row, from.vectors ? column : 0);
      };
      Value at = counterAt(0);
      blocks.push_back({{splat(columns.block(at), type), splat(counterAt(1), type),
                         splat(counterAt(2), type), splat(counterAt(3), type)},
                        at,
                        row * perRow + column});
    }

  result.registers.resize(result.size());
  const Value seed = scalar(op.getSeed()), step = scalar(op.getStep());
  for (MutableArrayRef<RandomBlock> rest = blocks; !rest.empty();) {
    auto together = rest.take_front(blocksTogether);
    rest = rest.drop_front(together.size());
    emitRounds(*this, together, seed, step);
    for (const RandomBlock &block : together) {
      if (!shares)
        result.registers[block.first] = columns.word(block);
      for (int64_t n = 0; shares && n < wordsPerBlock; ++n)
        result.registers[block.first + n * perWord] = block.words[n];
    }
  }
  fragments[op.getResult()] = std::move(result);
  return success();
}
