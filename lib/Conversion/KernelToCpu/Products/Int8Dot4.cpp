//===- Int8Dot4.cpp - Products of bytes in groups of four -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes. A word holds four features, a step multiplies all of them (dot4 in
// CpuArithmetic.cpp), and sums are i32. A matrix unit, if the target has one, sums tiles of several
// rows. Their features are padded to 16, as in panels, with zeros on the right side.

#include "Int8Dot4.h"

#include "ByteMatrices.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// A single row is bound by memory. Short panels are read one after another as one stream; long
/// panels are read in parallel, because several streams are prefetched at once
/// (docs/benchmarks.md). Integer sums may be reordered, so each vector has several partial sums to
/// hide latency. Their number is small, because more would load lines out of order.
Registers Int8Dot4::sumFeatures(Chain chain, Registers sums, Value from, Value to) {
  if (chain.shape.rows > 1)
    return CpuProduct::sumFeatures(std::move(chain), std::move(sums), from, to);
  constexpr int64_t mostOfShort = 2048; // features
  const int64_t vectors = chain.shape.vectors;
  const bool together = width > 4 && features() > mostOfShort;
  int64_t group = together ? vectors : 16 / width;             // vectors read in parallel
  int64_t phases = together ? width / 8 : width == 16 ? 3 : 2; // sums per vector
  int64_t first = 0;
  chain.unroll = chain.grain = 1; // one line at a time
  fetchMeanwhile(chain, from, to);
  auto loop = [&](Value begin, Value end, int64_t count, Registers &parts) {
    e.loopOver(begin, end, count, parts, [&](Value k) {
      for (int64_t u = 0; u < count; ++u) {
        chain.atStep(e.add(k, e.constant(u)));
        Value word = chain.left(k, 0, u);
        word = e.splat(word, VectorType::get({width}, word.getType()));
        for (int64_t j = 0; j < group; ++j) {
          Value &part = parts[u % phases * group + j];
          part = step(word, chain.right(k, first + j, u), part, /*guarded=*/false);
        }
      }
    });
  };
  const int64_t unrolled = 8 * phases;
  Value rest = arith::RemUIOp::create(builder, loc, e.sub(to, from), e.constant(unrolled));
  Value whole = e.sub(to, rest);
  for (; first < vectors; first += group) {
    Registers parts(phases * group, e.zeroSum(op));
    llvm::copy(ArrayRef(sums).slice(first, group), parts.begin());
    loop(from, whole, unrolled, parts);
    loop(whole, to, 1, parts);
    for (int64_t i = group; i < phases * group; ++i)
      parts[i % group] = arith::AddIOp::create(builder, loc, parts[i % group], parts[i]);
    std::copy_n(parts.begin(), group, sums.begin() + first);
  }
  return sums;
}

namespace {
/// Sums tiles of several rows by the matrix unit of the target.
struct Int8Matrices : Int8Dot4 {
  using Int8Dot4::Int8Dot4;

  /// Few rows are bound by memory, and matrices of few rows are not faster.
  int64_t matricesFrom() override {
    return e.target.int8Matrices && !op.getRange().visited ? 5 : 0;
  }

  /// Features after the last whole matrix are added in a second pass, because reconfiguring the
  /// shapes clears the sums.
  void sumMatrices(const TileMemory &sums, Value count) override {
    ByteMatrices unit(e);
    const int64_t all = padded(features()),
                  whole = all / ByteMatrices::rowBytes * ByteMatrices::rowBytes;
    if (whole)
      addMatrices(unit, sums, count, {0, whole, ByteMatrices::rowBytes});
    if (whole < all)
      addMatrices(unit, sums, count, {whole, all, all - whole});
  }

private:
  struct Features {
    int64_t from, to, step;
  };

  void addMatrices(ByteMatrices &unit, const TileMemory &sums, Value count, Features features) {
    unit.overBlocks(count, columnsInView(), features.step, [&](const ByteMatrices::Block &block) {
      addBlock(unit, sums, block, features);
    });
  }

  /// Adds the products of some features of a block.
  void addBlock(ByteMatrices &unit, const TileMemory &sums, const ByteMatrices::Block &block,
                Features features) {
    const BoundView right = this->right();
    const int64_t stored = padded(right.type.getDims().back().pitch.value);
    int64_t step = 0; // elements between words of a panel
    Address rows = leftRows(oneVector()).front(),
            panels =
                e.moved(e.rightPlaces(op, oneVector(), step).front(), e.mul(block.column, stored));
    Value rightPitch = e.constant(step), sumPitch = e.constant(sums.columns * 4);
    unit.overSums(sums, block, [&](int64_t i, int64_t j, Value place) {
      if (features.from)
        unit.load(ByteMatrices::sum(i, j), place, sumPitch);
      else
        unit.clear(ByteMatrices::sum(i, j));
    });
    {
      OpBuilder::InsertionGuard guard(builder);
      Value k = e.loopBy(e.constant(features.from), e.constant(features.to), features.step)
                    .getInductionVar();
      for (int64_t j = 0; j < block.panels; ++j)
        unit.load(ByteMatrices::right(j),
                  e.address(e.pointers[right.argument],
                            e.moved(panels, e.mul(k, step / 4), j * ByteMatrices::columns * stored),
                            builder.getI8Type()),
                  rightPitch);
      for (int64_t i = 0; i < block.matrices; ++i) {
        unit.loadLeft(i, left(), e.moved(rows, k));
        for (int64_t j = 0; j < block.panels; ++j)
          unit.multiply(ByteMatrices::sum(i, j), ByteMatrices::left(i), ByteMatrices::right(j),
                        ByteMatrices::Signed::Right);
      }
    }
    unit.overSums(sums, block, [&](int64_t i, int64_t j, Value place) {
      unit.store(ByteMatrices::sum(i, j), place, sumPitch);
    });
  }
};
} // namespace

const ProductStrategy heddle::kernel::int8Dot4 = strategyOf<Int8Matrices>();
