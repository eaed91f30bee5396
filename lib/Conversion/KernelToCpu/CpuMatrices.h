//===- CpuMatrices.h - Loops over the matrices of a tile --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of a tile through a matrix unit. A tile is summed in blocks of up to two matrices of rows
// by two of columns. The sums of a block take four registers, and each side takes two.
//
//   left    rows of a view
//   right   panels of a view, whose rows are words of 16 columns
//
// To add a unit, add a file to Units/ with a class derived from MatrixUnit, declare its kind here,
// and add it to the list in CpuMatrices.cpp.
#pragma once

#include "CpuEmitter.h"

#include "../MatrixUnit.h"

namespace heddle::kernel {

/// Elements of the left and the right side of a unit: bytes, or bf16 on both sides.
enum class MatrixOperands : uint8_t { UnsignedBySigned, SignedByUnsigned, Bf16 };

/// A kind of matrix unit.
struct MatrixUnitKind {
  bool (*supports)(const CpuTarget &target, MatrixOperands operands);
  std::unique_ptr<MatrixUnit> (*make)(CpuEmitter &emitter, MatrixOperands operands);
};

extern const MatrixUnitKind amx;

/// The kinds in order of preference. A test adds its own.
std::vector<const MatrixUnitKind *> &matrixUnitKinds();
/// Returns the first kind that supports the operands on a target, or null.
const MatrixUnitKind *findMatrixUnit(const CpuTarget &target, MatrixOperands operands);

/// Matrices of rows, and panels that start at `column`. The first row is the row loop's position.
struct MatrixBlock {
  int64_t matrices, panels;
  mlir::Value rowsOfMatrix; ///< less than `rows` in the last matrix
  mlir::Value column;
};

/// Loads of a block's operands at step k: matrix i of its rows, and matrix j of its columns.
struct MatrixSides {
  std::function<mlir::Value(int64_t i, mlir::Value k)> left, right;
};

/// Loops over blocks of matrices, and the registers of a block.
class CpuMatrices {
public:
  /// Matrices of rows, and of columns, of a whole block.
  static constexpr int64_t perBlock = 2;

  /// Creates the unit that the emitter's target has for the operands.
  CpuMatrices(CpuEmitter &emitter, MatrixOperands operands);
  ~CpuMatrices();
  CpuMatrices(const CpuMatrices &) = delete;
  CpuMatrices &operator=(const CpuMatrices &) = delete;

  int64_t rows() const { return unit->shape.m; }
  int64_t columns() const { return unit->shape.n; }
  int64_t depth() const { return unit->shape.k; }

  using Block = MatrixBlock;
  using Sides = MatrixSides;
  /// Emits `body` for the blocks of `count` rows and of `columns`. Whole blocks of two matrices
  /// precede single matrices, and the last matrix may have fewer rows. Left sides have `depth`
  /// features.
  void overBlocks(mlir::Value count, ColumnRange columns, int64_t depth,
                  llvm::function_ref<void(const Block &)> body);
  /// Calls `act` for each matrix of sums of a block, with its address in `sums`.
  void overSums(const TileMemory &sums, const Block &block,
                llvm::function_ref<void(mlir::Value matrix, mlir::Value place)> act);

  /// Emits the sums of a block: from zero, or continued from `memory`, products that `add` adds.
  void sumBlock(const Block &block, const TileMemory &memory, bool continues,
                llvm::function_ref<void()> add);
  /// Adds the products of steps [from, to) to the sums of a block.
  void multiply(const Block &block, const Sides &sides, mlir::Value from, mlir::Value to,
                int64_t step);

  /// Sums of matrices i of rows and j of columns.
  mlir::Value sum(int64_t i, int64_t j) { return sums[i * perBlock + j]; }
  /// Loads matrix `i` of rows of a view; `first` is a place in the first row of matrix 0.
  mlir::Value loadLeft(int64_t i, const BoundView &view, Address first);
  mlir::Value loadLeft(int64_t i, mlir::Value start, int64_t pitch) {
    return unit->load(MatrixUnit::Side::Left, i, start, pitch);
  }
  mlir::Value loadRight(int64_t j, mlir::Value start, int64_t pitch) {
    return unit->load(MatrixUnit::Side::Right, j, start, pitch);
  }
  MatrixUnit *operator->() { return unit.get(); }

private:
  using RowBlock =
      llvm::function_ref<void(int64_t matrices, mlir::Value row, mlir::Value rowsOfMatrix)>;
  void overRows(mlir::Value count, int64_t depth, RowBlock block);

  CpuEmitter &e;
  std::unique_ptr<MatrixUnit> unit;
  llvm::SmallVector<mlir::Value> sums;
};

} // namespace heddle::kernel
