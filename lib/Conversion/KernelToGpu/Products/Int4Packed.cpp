//===- Int4Packed.cpp - Products with weights of i4, many rows ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with i4 (GpuGroups.h) by packed dot products, for tiles of many rows. One or two
// groups of both sides are staged with the scales of rows. An invocation multiplies two
// columns at a time, so that it holds few integers.

#include "GpuGroups.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;

namespace {
struct Int4Packed : GroupProduct {
  Int4Packed(GpuEmitter &emitter, kernel::ProductOpInterface op)
      : GroupProduct(emitter, op,
                     std::clamp<int64_t>(emitter.placement.block / groupWords, 1,
                                         CrosswiseRows::mostScaledSteps),
                     /*fetchesLate=*/true) {
    auto crosswise = std::make_unique<CrosswiseRows>(*this);
    rows = crosswise.get();
    left = std::move(crosswise);
  }

  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return op.getFormat().weights == DType::I4;
  }

protected:
  void addGroups(Value first, int64_t count, int64_t words, Value start, Registers &sums) override {
    for (int64_t group = 0; group < count; ++group)
      addGroup(e.add(first, e.constant(group)), start, words, sums);
  }

private:
  static constexpr int64_t together = 2; ///< columns
  static constexpr int64_t groupWords = formatOf(DType::I4).group / formatOf(DType::I8).perWord;

  /// Adds a group, some columns at a time. All columns read the words of rows again.
  void addGroup(Value inBlock, Value start, int64_t words, Registers &sums) {
    // Scales of rows are staged for two groups at a time.
    Value scaled =
        form.block == CrosswiseRows::mostScaledSteps ? inBlock : e.masked(e.add(start, inBlock), 1);
    for (int64_t j = 0; j < shape.vectors; ++j)
      for (int64_t lane = 0; lane < width; lane += together) {
        addColumns(inBlock, e.mul(scaled, CrosswiseRows::scalesOfStep), words, j, lane, sums);
        e.entry.forgetShared(); // else drivers keep all words of the rows in registers
      }
  }

  void addColumns(Value inBlock, Value firstScale, int64_t words, int64_t j, int64_t first,
                  Registers &sums) {
    Value far = e.mul(inBlock, blockWords() * wordFeatures()), line;
    Registers parts(together * shape.rows, e.constant(0));
    for (int64_t word = 0; word < words; ++word) {
      Value codes = codesOf(line, j, far, word);
      Registers p = rows->words(e.add(e.mul(inBlock, rowWords()), e.constant(word)));
      for (auto [number, part] : llvm::enumerate(parts)) {
        Value q = laneOf(codes, first + number % together);
        part = arith::AddIOp::create(builder, loc, part,
                                     e.words.dot(e.asWords(p[number / together]), q));
      }
    }
    const Scales columns = columnScales(j, far);
    Scales fours; // scales of four rows
    for (auto [number, part] : llvm::enumerate(parts)) {
      int64_t row = number / together, lane = first + number % together;
      if (number % (together * kVec4) == 0)
        for (int64_t which = 0; which < CrosswiseRows::scalesOfStep; ++which)
          fours[which] = rows->scales(e.add(firstScale, e.constant(which)), row);
      Value &sum = sums[row * shape.vectors + j];
      Value next =
          scaled(arith::SIToFPOp::create(builder, loc, builder.getF32Type(), part),
                 {laneOf(columns[0], lane), laneOf(columns[1], lane)},
                 {laneOf(fours[0], row % kVec4), laneOf(fours[1], row % kVec4)}, laneOf(sum, lane));
      sum = vector::InsertOp::create(builder, loc, next, sum, lane);
    }
  }

  Value laneOf(Value vector, int64_t lane) { return e.extract(vector, lane); }

  CrosswiseRows *rows; ///< the left side
};
} // namespace

const GpuProductStrategy heddle::gpuInt4Packed = gpuStrategyOf<Int4Packed>();
