//===- MatrixUnit.h - Interface of matrix units -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix unit multiplies matrices in registers of its own:
//
//   sums (m x n)  +=  left (m x k)  *  right (k x n)
//
// AMX is a unit of x86 (KernelToCpu/Units/Amx.cpp), and cooperative matrices are a unit of Vulkan
// (KernelToGpu/GpuMatrixUnit.h). Products loop over the matrices of a tile and call this interface,
// and a unit emits its instructions.
//
// The interface is one product of matrices. The loops are not shared by the devices: on a CPU, one
// thread reads the operands from the views, and on a GPU, the subgroups read what the workgroup has
// staged.
#pragma once

#include "heddle/Support/Program.h"

#include "mlir/IR/Value.h"

namespace heddle {

class MatrixUnit {
public:
  enum class Side : uint8_t { Left, Right };

  explicit MatrixUnit(const MatrixShape &shape) : shape(shape) {}
  virtual ~MatrixUnit() = default;

  /// Prepares the registers for left matrices of `rows` rows and `depth` columns, which are at most
  /// m and k. This clears all registers.
  virtual void setUp(mlir::Value rows, int64_t depth) {}
  /// Ends the use of the registers.
  virtual void release() {}

  /// Returns the register of sums with this number.
  virtual mlir::Value accumulator(int64_t number) = 0;
  virtual void clear(mlir::Value sums) = 0;
  virtual void loadSums(mlir::Value sums, mlir::Value start, int64_t pitch) = 0;
  virtual void store(mlir::Value sums, mlir::Value start, int64_t pitch) = 0;
  /// Loads operand `number` of a side. Rows in memory are `pitch` apart, counted in bytes on CPUs
  /// and in entries of workgroup memory on GPUs.
  virtual mlir::Value load(Side side, int64_t number, mlir::Value start, int64_t pitch) = 0;
  /// Adds left * right to `sums`.
  virtual void accumulate(mlir::Value sums, mlir::Value left, mlir::Value right) = 0;

  const MatrixShape shape;
};

} // namespace heddle
