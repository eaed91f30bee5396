//===- GpuMatrixSums.cpp - Sums of matrix units ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file distributes the sums of GpuMatrices after all blocks are multiplied. They move
// through workgroup memory to the invocations that the other ops of the tile expect them
// in. The scales of rows, or the base of codes, are then applied to them.
#include "GpuMatrices.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Fragment;

namespace heddle {

void GpuMatrices::scaleSums(Fragment &sums) {
  for (int64_t row = 0; row < sums.rows; ++row) {
    Value scale = left->scaleOf(e.add(e.rowBase(), e.constant(row)));
    for (int64_t v = 0; v < sums.vectors; ++v) {
      Value &sum = sums.registers[row * sums.vectors + v];
      sum = e.mulf(sum, e.splat(scale, sum.getType()));
    }
  }
}

/// Stores one row of matrices of a product at a time, and reads this invocation's rows from it.
void GpuMatrices::exchange(int64_t product, Fragment &to) {
  const int64_t subgroupColumns = across * shape.n,
                pitch = pitchOfSums(subgroupColumns) * array.perVec4();
  Value base = isOneMatrixHigh() ? e.constant(0) : e.mul(e.subgroup, shape.m * pitch);
  for (int64_t i = 0; i < down; ++i) {
    e.workgroup.barrier();
    e.onlyIf(multiplies, [&] {
      for (int64_t j = 0; j < across; ++j) {
        Value sum = e.load(sums[i * acrossAll() + product * across + j]);
        unit.store(sum, pointer(e.add(base, e.constant(j * shape.n / array.unit))), pitch);
      }
    });
    e.workgroup.barrier();
    readRows(to);
  }
}

void GpuMatrices::readRows(Fragment &to) {
  const int64_t subgroupColumns = across * shape.n, pitch = pitchOfSums(subgroupColumns),
                together = fragment.rows / down;
  Value row = e.ty, vec4;
  if (isOneMatrixHigh()) {
    vec4 = e.minimum(e.tx, e.constant(columns() / kVec4 - 1));
  } else {
    Value laneRow = e.quotient(e.lane, lanesAcross), laneColumn = e.remainder(e.lane, lanesAcross);
    row = e.add(e.mul(e.subgroup, shape.m), e.mul(laneRow, together));
    vec4 = e.mul(laneColumn, fragment.vectors);
  }
  for (int64_t i = 0; i < together; ++i)
    for (int64_t v = 0; v < fragment.vectors; ++v) {
      Value place = e.add(e.mul(e.add(row, e.constant(i)), pitch), e.add(vec4, e.constant(v)));
      Value sum = readVec4(place);
      to.registers.push_back(sumsCodes() ? e.asWords(sum) : sum);
    }
}

Value GpuMatrices::readVec4(Value vec4) {
  Type entry = VectorType::get({array.unit}, builder.getF32Type());
  SmallVector<Value> words;
  for (int64_t part = 0; part < array.perVec4(); ++part) {
    Value read = e.workgroup.read(SharedArray::Matrices, entry, array.entries,
                                  e.add(e.mul(vec4, array.perVec4()), e.constant(part)));
    if (array.unit == kVec4)
      return read;
    for (int64_t word = 0; word < array.unit; ++word)
      words.push_back(e.extract(read, word));
  }
  return e.vectorOf(words);
}

//===- Bytes --------------------------------------------------------------===//
//
// Rows hold 128 + code. Products are of the signed codes, and the 128 enter the sums at the
// end:
//
//   sum of row * weight  =  sum of code * weight  +  128 * sum of weight

/// Adds up the weights of the vec4s that this invocation copies, one sum for each.
void GpuMatrices::addWeights(ArrayRef<Value> loaded, Registers &weights) {
  for (auto [sum, vec4] : llvm::zip(weights, loaded)) {
    Value words = e.asWords(vec4);
    for (int64_t word = 0; word < kVec4; ++word) {
      Value four = e.extract(words, word);
      sum = e.add(sum, e.words.dot(four, e.constant(0x01010101)));
    }
  }
}

/// Adds 128 times the sum of a column's weights. Several invocations copy the vec4s of a column, so
/// their partial sums are added up through workgroup memory.
void GpuMatrices::addBases(GpuMatrixStaging &right, ArrayRef<Value> weights, Fragment &sums) {
  constexpr int64_t base = 128;
  const int64_t vec4s = block / kVec4;
  Type entry = VectorType::get({array.unit}, builder.getF32Type());
  e.workgroup.barrier();
  for (auto [copy, sum] : llvm::enumerate(weights)) {
    Value word = e.add(e.mul(right.vec4Of(copy), columns()), right.lineOf(copy));
    Value place = e.quotient(word, array.unit), lane = e.remainder(word, array.unit);
    e.workgroup.write(SharedArray::Matrices, entry, array.entries, place,
                      e.asFloats(e.mul(sum, base)), lane);
  }
  e.workgroup.barrier();
  Value first = e.memory.quarter(e.columnBase(columns()));
  for (int64_t v = 0; v < sums.vectors; ++v) {
    Value all;
    for (int64_t vec4 = 0; vec4 < vec4s; ++vec4) {
      Value place = e.add(first, e.constant(vec4 * columns() / kVec4 + v));
      Value part = e.asWords(readVec4(place));
      all = all ? arith::AddIOp::create(builder, loc, all, part).getResult() : part;
    }
    for (int64_t row = 0; row < sums.rows; ++row) {
      Value &sum = sums.registers[row * sums.vectors + v];
      sum = arith::AddIOp::create(builder, loc, sum, all);
    }
  }
}

} // namespace heddle
