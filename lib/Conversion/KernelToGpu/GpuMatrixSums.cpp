//===- GpuMatrixSums.cpp - Sums of matrix units ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file distributes the sums of GpuMatrices after all blocks are multiplied. They move
// through workgroup memory to the invocations that the other ops of the tile expect them
// in. The scales of rows are then applied to them.
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

} // namespace heddle
