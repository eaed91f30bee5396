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
      sum = arith::MulFOp::create(builder, loc, sum, e.splat(scale, sum.getType()));
    }
  }
}

/// Stores one row of matrices of a product at a time, and reads this invocation's rows from it.
void GpuMatrices::exchange(int64_t product, Fragment &to) {
  const int64_t inTeam = across * shape.n, pitch = pitchOfSums(inTeam) * array.perQuad();
  Value base = isForFew() ? e.constant(0) : e.mul(e.subgroup, shape.m * pitch);
  for (int64_t i = 0; i < down; ++i) {
    e.workgroup.barrier();
    e.onlyIf(multiplies, [&] {
      for (int64_t j = 0; j < across; ++j) {
        Value sum =
            spirv::LoadOp::create(builder, loc, sums[i * acrossAll() + product * across + j]);
        unit.store(sum, pointer(e.add(base, e.constant(j * shape.n / array.unit))), pitch);
      }
    });
    e.workgroup.barrier();
    readRows(to);
  }
}

void GpuMatrices::readRows(Fragment &to) {
  const int64_t inTeam = across * shape.n, pitch = pitchOfSums(inTeam),
                together = fragment.rows / down;
  Value row = e.ty, quad;
  if (isForFew()) {
    quad = e.minimum(e.tx, e.constant(columns() / kQuad - 1));
  } else {
    Value below = arith::DivUIOp::create(builder, loc, e.lane, e.constant(lanesAcross)),
          beside = arith::RemUIOp::create(builder, loc, e.lane, e.constant(lanesAcross));
    row = e.add(e.mul(e.subgroup, shape.m), e.mul(below, together));
    quad = e.mul(beside, fragment.vectors);
  }
  for (int64_t i = 0; i < together; ++i)
    for (int64_t v = 0; v < fragment.vectors; ++v) {
      Value place = e.add(e.mul(e.add(row, e.constant(i)), pitch), e.add(quad, e.constant(v)));
      Value sum = readQuad(place);
      to.registers.push_back(sumsCodes() ? e.asWords(sum) : sum);
    }
}

Value GpuMatrices::readQuad(Value quad) {
  Type entry = VectorType::get({array.unit}, builder.getF32Type());
  SmallVector<Value> words;
  for (int64_t part = 0; part < array.perQuad(); ++part) {
    Value read = e.workgroup.read(SharedArray::Matrices, entry, array.entries,
                                  e.add(e.mul(quad, array.perQuad()), e.constant(part)));
    if (array.unit == kQuad)
      return read;
    for (int64_t word = 0; word < array.unit; ++word)
      words.push_back(vector::ExtractOp::create(builder, loc, read, word));
  }
  return vector::FromElementsOp::create(builder, loc, e.vec4Type(), words);
}

//===- Bytes --------------------------------------------------------------===//

/// Rows hold 128 + code. Products are of the signed codes, and the 128 enter the sums at the end:
///
///   sum of row * weight  =  sum of code * weight  +  128 * sum of weight
Value GpuMatrices::asSigned(Value quad) {
  Value words = e.asWords(quad);
  return e.asFloats(
      arith::XOrIOp::create(builder, loc, words, e.wordConstant(0x80808080, words.getType())));
}

/// Adds up the weights of the vec4s that this invocation copies, one sum for each.
void GpuMatrices::addWeights(ArrayRef<Value> loaded, Registers &weights) {
  auto packed = spirv::PackedVectorFormatAttr::get(
      builder.getContext(), spirv::PackedVectorFormat::PackedVectorFormat4x8Bit);
  for (auto [sum, quad] : llvm::zip(weights, loaded)) {
    Value words = e.asWords(quad);
    for (int64_t word = 0; word < kQuad; ++word) {
      Value four = vector::ExtractOp::create(builder, loc, words, word);
      sum = e.add(sum, spirv::SDotOp::create(builder, loc, builder.getI32Type(), four,
                                             e.constant(0x01010101), packed));
    }
  }
}

/// Adds 128 times the sum of a column's weights. Several invocations copy the vec4s of a column, so
/// their partial sums are added up through workgroup memory.
void GpuMatrices::addBases(GpuMatrixStaging &right, ArrayRef<Value> weights, Fragment &sums) {
  constexpr int64_t base = 128;
  const int64_t quads = block / kQuad;
  Type entry = VectorType::get({array.unit}, builder.getF32Type());
  e.workgroup.barrier();
  for (auto [copy, sum] : llvm::enumerate(weights)) {
    Value word = e.add(e.mul(right.quadOf(copy), columns()), right.lineOf(copy));
    Value place = arith::DivUIOp::create(builder, loc, word, e.constant(array.unit)),
          lane = arith::RemUIOp::create(builder, loc, word, e.constant(array.unit));
    e.workgroup.write(SharedArray::Matrices, entry, array.entries, place,
                      e.asFloats(e.mul(sum, base)), lane);
  }
  e.workgroup.barrier();
  Value first = e.memory.quarter(e.columnBase(columns()));
  for (int64_t v = 0; v < sums.vectors; ++v) {
    Value all;
    for (int64_t quad = 0; quad < quads; ++quad) {
      Value place = e.add(first, e.constant(quad * columns() / kQuad + v));
      Value part = e.asWords(readQuad(place));
      all = all ? arith::AddIOp::create(builder, loc, all, part).getResult() : part;
    }
    for (int64_t row = 0; row < sums.rows; ++row) {
      Value &sum = sums.registers[row * sums.vectors + v];
      sum = arith::AddIOp::create(builder, loc, sum, all);
    }
  }
}

} // namespace heddle
