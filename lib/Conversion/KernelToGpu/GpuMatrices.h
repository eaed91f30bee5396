//===- GpuMatrices.h - Products through matrix units ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file computes the products of linear layers on matrix units
// (VK_KHR_cooperative_matrix), in three steps:
//
//   1. All invocations stage a block of k of both sides (GpuMatrixStaging.h).
//   2. Each subgroup multiplies it, matrix by matrix, in ascending k. Weights of i4 are
//      multiplied group by group; their integer sums enter chains of f32
//      (GpuMatrixGroups.h).
//   3. Sums move through workgroup memory to the invocations that the other ops of the
//      tile expect them in (GpuEmitter.h).
//
// In a tile of many rows, the invocations of a subgroup form a grid with `lanesAcross`
// columns. Each invocation has 8 rows, or 4 if the tile is narrow. The element layout of
// a matrix is driver-defined, so sums are stored and read again, one row of matrices at a
// time. Rows are staged in an order that gives a row of matrices equally many rows of each
// invocation. With 32 invocations of 8 rows and matrices of 16 rows, the first matrix has
// rows 0, 1, 8, 9, 16, 17 and so on.
//
// A tile of few rows is one matrix high, and one subgroup multiplies it. Its sums take the
// same steps, so that the bits of a row do not depend on the number of rows. Its blocks are
// long, so that few barriers and many loads are in flight. Workgroup memory then holds a lone row
// once, and a matrix of rows is loaded with a stride of 0. Several rows are staged in parts of
// the block.
#pragma once

#include "GpuBlocks.h"
#include "GpuEmitter.h"
#include "GpuMatrixGroups.h"
#include "GpuMatrixStaging.h"
#include "GpuMatrixUnit.h"

namespace heddle {

/// Whether an op is a product that matrix units may compute.
bool isMatrixProduct(kernel::ProductOpInterface op);
/// Adds the shape of the matrix unit, and the sizes that follow from it, to the placement of a
/// kernel for matrix units.
mlir::LogicalResult placeMatrices(kernel::FuncOp func, const GpuTarget &target,
                                  GpuPlacement &placement);

/// Computes a contraction, together with a second one of the same rows if there is one. Gated
/// layers have two contractions, and rotated heads have one for each half.
class GpuMatrices {
public:
  GpuMatrices(GpuEmitter &emitter, kernel::ProductOpInterface op);
  /// Returns the contractions that `run` computes.
  llvm::ArrayRef<kernel::ProductOpInterface> ops() const { return products; }
  /// Emits the products and returns the fragment of each.
  llvm::SmallVector<kernel::Fragment> run();

  /// Invocations of a subgroup over columns.
  static constexpr int64_t lanesAcross = 4;
  /// Vec4s between the starts of two rows of `columns` sums in workgroup memory.
  static constexpr int64_t pitchOfSums(int64_t columns) { return columns / 4 + 1; }

private:
  using Registers = llvm::SmallVector<mlir::Value>;
  using Use = GpuMatrixUnit::Use;

  int64_t rows() { return op.getType().getDimSize(0); }
  int64_t columns() { return op.getType().getDimSize(1); } ///< of each product
  int64_t acrossAll() { return products.size() * across; }
  bool isOneMatrixHigh() const { return fragment.rows == 1; }
  /// Whether sums are integers until all of k is summed. Codes of i4 become bytes too, but each of
  /// their groups is scaled.
  bool sumsCodes() const { return unit.multipliesBytes() && !hasGroups; }
  mlir::Value pointer(mlir::Value entry);

  void placeSubgroup();
  void placeSides();
  mlir::Value rowInArray(mlir::Value row);
  void sumAll();
  void scaleRows();
  void fetch(mlir::Value first, bool ends, Registers &loaded);
  void store(llvm::ArrayRef<mlir::Value> loaded);
  int64_t stepsAtOnce();
  void multiply(int64_t words);
  void multiplySteps(mlir::Value place, int64_t steps);
  void multiplyStep(mlir::Value place);
  mlir::Value loadSide(MatrixUnit::Side side, mlir::Value row, mlir::Value place);

  // Blocks whose rows are staged part by part.
  void placeRow();
  void storeRows(GpuMatrixStaging &rows, llvm::ArrayRef<mlir::Value> loaded);
  void multiplyParts(const KBlock &now);
  void multiplyRows(int64_t words);
  mlir::Value loadRows(mlir::Value place);
  GpuMatrixStaging::End endOfRows();
  int64_t features();
  int64_t allWords();
  mlir::Value startOfRow(const kernel::BoundView &view, mlir::Value row);
  mlir::Value startOfPanel(kernel::ProductOpInterface product, mlir::Value panel);
  void exchange(int64_t product, kernel::Fragment &to);
  void scaleSums(kernel::Fragment &sums);
  void readRows(kernel::Fragment &to);
  mlir::Value readVec4(mlir::Value vec4);

  // Groups of i4.
  void placeGroups();
  void multiplyGroups(int64_t count);
  void multiplyGroup(mlir::Value group);

  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  kernel::ProductOpInterface op; ///< the first of `products`
  llvm::SmallVector<kernel::ProductOpInterface> products;
  const MatrixShape &shape;
  GpuMatrixUnit unit;
  const kernel::Fragment fragment; ///< shape of each product's fragment
  llvm::SmallVector<kernel::Fragment> fragments;
  const int64_t perWord, block, rowBlock; ///< elements of a word, words of a block and of its rows
  const bool hasGroups;                   ///< weights are i4
  MatrixArray array;
  int64_t down = 1, across = 1;        ///< matrices of a subgroup in each product
  mlir::Value firstRow, firstColumn;   ///< of the subgroup: row of the array, column of the tile
  mlir::Value multiplies;              ///< whether this subgroup multiplies; null: all do
  llvm::SmallVector<mlir::Value> sums; ///< variables, by rows of matrices
  /// Rows of the array before the columns.
  int64_t leftRows = 0;
  mlir::Value isLone, areSeveral; ///< whether the launch has one row, if rows are staged in parts
  bool multipliesLone = false;    ///< whether the emitted products are those of a lone row
  mlir::Value partOfBlock;        ///< start of the part that is multiplied, in entries of the array
  std::optional<GpuMatrixStaging> left, loneRow;
  std::vector<GpuMatrixStaging> rights; ///< one for each product
  std::optional<GpuMatrixGroups> groups;
};

} // namespace heddle
