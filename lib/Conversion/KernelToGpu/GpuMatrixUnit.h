//===- GpuMatrixUnit.h - Matrices of a subgroup -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file creates ops on matrices in the registers of a subgroup
// (VK_KHR_cooperative_matrix). The element layout of a matrix is driver-defined.
#pragma once

#include "../MatrixUnit.h"

#include "heddle/Target/GpuTarget.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

namespace heddle {

class GpuEmitter;

/// Returns the type of a view's elements.
DType elementOf(mlir::Value view);

/// Creates ops on matrices of one shape of a matrix unit. Accumulators are variables of the
/// invocation.
class GpuMatrixUnit : public MatrixUnit {
public:
  using Type = mlir::spirv::CooperativeMatrixType;
  using Use = mlir::spirv::CooperativeMatrixUseKHR;
  using Layout = mlir::spirv::CooperativeMatrixLayoutKHR;
  GpuMatrixUnit(GpuEmitter &emitter, const MatrixShape &shape) : MatrixUnit(shape), e(emitter) {}

  /// Whether the unit multiplies signed bytes and sums integers.
  bool multipliesBytes() const { return shape.operands == DType::I8; }
  /// Returns the type of an operand or of sums, as `use` says.
  Type type(Use use) const;
  /// Returns the type of sums as f32.
  Type floats() const;

  mlir::Value zero(Type type);
  /// Creates a variable of the invocation without an initial value.
  mlir::Value variable(Type type);
  /// Loads a matrix whose rows, or columns, are `stride` entries of workgroup memory apart. If
  /// `stride` is 0, all are the same.
  mlir::Value load(Type type, mlir::Value pointer, int64_t stride, Layout layout);
  /// Returns a * b + c.
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c);

  mlir::Value accumulator(int64_t) override { return variable(type(Use::MatrixAcc)); }
  void clear(mlir::Value sums) override;
  void loadSums(mlir::Value sums, mlir::Value start, int64_t pitch) override;
  /// Stores an accumulator, or a matrix.
  void store(mlir::Value sums, mlir::Value start, int64_t pitch) override;
  mlir::Value load(Side side, int64_t number, mlir::Value start, int64_t pitch) override;
  void accumulate(mlir::Value sums, mlir::Value left, mlir::Value right) override;

private:
  mlir::Value constant(int64_t number);

  GpuEmitter &e;
};

} // namespace heddle
