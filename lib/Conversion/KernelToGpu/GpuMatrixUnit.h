//===- GpuMatrixUnit.h - Matrices of a subgroup -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file creates ops on matrices in the registers of a subgroup
// (VK_KHR_cooperative_matrix). The element layout of a matrix is driver-defined.
#pragma once

#include "heddle/Target/GpuTarget.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

namespace heddle {

class GpuEmitter;

/// Returns the type of a view's elements.
DType elementOf(mlir::Value view);

/// Creates ops on matrices of one shape of a matrix unit.
class GpuMatrixUnit {
public:
  using Type = mlir::spirv::CooperativeMatrixType;
  using Use = mlir::spirv::CooperativeMatrixUseKHR;
  using Layout = mlir::spirv::CooperativeMatrixLayoutKHR;
  GpuMatrixUnit(GpuEmitter &emitter, const MatrixShape &shape) : e(emitter), shape(shape) {}

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
  void store(mlir::Value matrix, mlir::Value pointer, int64_t stride);
  /// Returns a * b + c.
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c);

private:
  mlir::Value constant(int64_t number);

  GpuEmitter &e;
  const MatrixShape &shape;
};

} // namespace heddle
