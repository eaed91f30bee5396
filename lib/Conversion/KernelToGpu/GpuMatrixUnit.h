//===- GpuMatrixUnit.h - Matrices of a subgroup -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices that lie in the registers of a subgroup, and their ops
// (VK_KHR_cooperative_matrix). Which invocation has what of one is the driver's business.
#pragma once

#include "heddle/Target/GpuTarget.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

namespace heddle {

class GpuEmitter;

/// The type of a view's elements.
DType elementOf(mlir::Value view);

/// Makes ops on matrices that a unit multiplies in one shape.
class GpuMatrixUnit {
public:
  using Type = mlir::spirv::CooperativeMatrixType;
  using Use = mlir::spirv::CooperativeMatrixUseKHR;
  using Layout = mlir::spirv::CooperativeMatrixLayoutKHR;
  GpuMatrixUnit(GpuEmitter &emitter, const MatrixShape &shape) : e(emitter), shape(shape) {}

  /// Whether it multiplies bytes, all of them signed, and sums integers.
  bool multipliesBytes() const { return shape.operands == DType::I8; }
  /// A matrix that it multiplies, or sums of such.
  Type type(Use use) const;
  /// Sums as f32.
  Type floats() const;

  mlir::Value zero(Type type);
  /// A variable of the invocation, without a value.
  mlir::Value variable(Type type);
  /// Rows, or columns, begin `stride` entries of workgroup memory apart; 0: all are the same.
  mlir::Value load(Type type, mlir::Value pointer, int64_t stride, Layout layout);
  void store(mlir::Value matrix, mlir::Value pointer, int64_t stride);
  /// a * b + c.
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c);

private:
  mlir::Value constant(int64_t number);

  GpuEmitter &e;
  const MatrixShape &shape;
};

} // namespace heddle
