//===- BodyRandom.cpp - Random words of a body ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2,
// 3, 2011). The rounds are a loop, because unrolled rounds are most of a
// kernel's code. If a row of the fragment has whole groups of 64 columns, the
// columns c, c + 16, c + 32 and c + 48 share one block of four words.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include <array>

using namespace mlir;
using namespace heddle::kernel;

namespace {
constexpr int64_t groupColumns = 64; ///< columns that share blocks
constexpr int64_t wordColumns = 16;  ///< neighbors with the same word of their blocks
constexpr int64_t wordsPerBlock = 4;
constexpr int64_t blocksTogether = 2; ///< independent blocks of a loop, which hide latencies

/// A block of four words, and the registers that take a word of it.
struct RandomBlock {
  std::array<Value, wordsPerBlock> words;       ///< the counter, later the result
  std::array<int64_t, wordsPerBlock> registers; ///< of a shared block, by word
  Value number; ///< number of the word of the only register; null: the block is shared
  int64_t only = 0;
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
  if (!iota || iota.getOfRows() || !shape.vectors || width > wordColumns ||
      shape.vectors * width % groupColumns != 0)
    return false;
  const int64_t tileColumns = columnsOf(op.getType());
  for (int64_t j = 0; j < shape.vectors; ++j)
    if (vectorColumn(j, tileColumns) != j * width)
      return false;
  return isMultiple(scalar(iota.getStart()), groupColumns) &&
         isMultiple(columnBase(tileColumns), groupColumns);
}

/// Computes the rounds of `blocks`, whose words are the counters.
static void emitRounds(BodyEmitter &e, MutableArrayRef<RandomBlock> blocks, Value seed,
                       Value step) {
  constexpr int64_t rounds = 10;
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
  e.loopOver(e.constant(0), e.constant(rounds), 1, carried, [&](Value) {
    MutableArrayRef<Value> key = MutableArrayRef(carried).take_back(2), counter = carried;
    for (size_t n = 0; n < blocks.size(); ++n, counter = counter.drop_front(wordsPerBlock)) {
      auto first = product(counter[0], 0xD2511F53), second = product(counter[2], 0xCD9E8D57);
      counter[0] = differ(differ(second.getHigh(), counter[1]), e.splat(key[0], type));
      counter[2] = differ(differ(first.getHigh(), counter[3]), e.splat(key[1], type));
      counter[1] = second.getLow();
      counter[3] = first.getLow();
    }
    const Type word = key[0].getType();
    key[0] = arith::AddIOp::create(b, loc, key[0], number(0x9E3779B9, word));
    key[1] = arith::AddIOp::create(b, loc, key[1], number(0xBB67AE85, word));
  });
  ArrayRef<Value> results = carried;
  for (RandomBlock &block : blocks) {
    llvm::copy(results.take_front(wordsPerBlock), block.words.begin());
    results = results.drop_front(wordsPerBlock);
  }
}

LogicalResult BodyEmitter::emitRandomWords(RandomWordsOp op) {
  Fragment result = shapeOf(op.getType());
  const Type type = registerType(builder.getI32Type(), result.vectors);
  SmallVector<Fragment> counters;
  for (Value counter : {op.getColumn(), op.getPosition(), op.getExample(), Value(op.getSite())}) {
    FailureOr<Fragment> fragment = isTile(counter.getType())
                                       ? use(counter)
                                       : FailureOr<Fragment>(Fragment{{scalar(counter)}, 1, 0});
    if (failed(fragment))
      return failure();
    counters.push_back(std::move(*fragment));
  }
  auto counterAt = [&](int64_t which, int64_t row, int64_t column) {
    const Fragment &from = counters[which];
    return from.at(from.rows == 1 ? 0 : row, from.vectors ? column : 0);
  };
  auto shifted = [&](Value x, int32_t by) -> Value {
    return arith::ShRUIOp::create(builder, loc, x, wordConstant(by, x.getType()));
  };
  auto lowBits = [&](Value x, int32_t mask) -> Value {
    return arith::AndIOp::create(builder, loc, x, wordConstant(mask, x.getType()));
  };
  /// The block that has the word of a register.
  auto blockAt = [&](int64_t row, int64_t column) {
    Value at = counterAt(0, row, column);
    Value group = shifted(at, 6);
    Value number =
        arith::MulIOp::create(builder, loc, group, wordConstant(wordColumns, group.getType()));
    number = arith::AddIOp::create(builder, loc, number, lowBits(at, wordColumns - 1));
    RandomBlock block;
    block.words = {splat(number, type), splat(counterAt(1, row, column), type),
                   splat(counterAt(2, row, column), type), splat(counterAt(3, 0, 0), type)};
    return block;
  };

  SmallVector<RandomBlock> blocks;
  const bool shares = sharesBlocks(op, result);
  const int64_t perRow = result.columns(), perWord = wordColumns / width;
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < perRow; ++column) {
      if (shares && column % (wordsPerBlock * perWord) >= perWord)
        continue; // the block of an earlier register
      RandomBlock block = blockAt(row, column);
      block.only = row * perRow + column;
      for (int64_t n = 0; n < wordsPerBlock; ++n)
        block.registers[n] = block.only + n * perWord;
      if (!shares)
        block.number = lowBits(shifted(counterAt(0, row, column), 4), wordsPerBlock - 1);
      blocks.push_back(block);
    }

  result.registers.resize(result.size());
  const Value seed = scalar(op.getSeed()), step = scalar(op.getStep());
  for (MutableArrayRef<RandomBlock> rest = blocks; !rest.empty();) {
    auto together = rest.take_front(blocksTogether);
    rest = rest.drop_front(together.size());
    emitRounds(*this, together, seed, step);
    for (RandomBlock &block : together) {
      if (shares) {
        for (auto [at, word] : llvm::zip(block.registers, block.words))
          result.registers[at] = word;
        continue;
      }
      Value word = block.words.back();
      for (int32_t n = 0; n < wordsPerBlock - 1; ++n) {
        Value isWord = compare(arith::CmpIPredicate::eq, block.number,
                               wordConstant(n, block.number.getType()));
        word = select(isWord, block.words[n], word);
      }
      result.registers[block.only] = word;
    }
  }
  fragments[op.getResult()] = std::move(result);
  return success();
}
