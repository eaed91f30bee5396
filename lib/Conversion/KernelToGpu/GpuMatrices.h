//===- GpuMatrices.h - Products through matrix units ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of linear layers through matrix units (VK_KHR_cooperative_matrix):
//
//   a block of k of both sides is staged by all invocations (GpuMatrixStaging.h)
//   each subgroup multiplies it, matrix by matrix, k ascending; of i4 group by group, and
//   the integers of a group enter chains of f32 (GpuMatrixGroups.h)
//   sums go through workgroup memory to the invocations that the tile's other ops
//   expect them in (GpuEmitter.h)
//
// A subgroup of a tile of many rows has `lanesAcross` invocations side by side, the
// others below them, each with 8 rows, or 4 where tiles are narrow. Which invocation holds what of a matrix is the
// driver's business, so that sums are stored and read again, a row of matrices at a
// time. Rows are staged in an order in which such a row of matrices has as many rows of
// each invocation: 32 invocations of 8 rows with matrices of 16 have rows 0, 1, 8, 9, 16, 17 …
//
// A tile of few rows is one matrix high and one subgroup multiplies it. Its sums take
// the same steps, so that a row's bits do not depend on its company.
#pragma once

#include "GpuEmitter.h"
#include "GpuMatrixGroups.h"
#include "GpuMatrixStaging.h"
#include "GpuMatrixUnit.h"

namespace heddle {

/// Whether an op is a product that matrix units may take.
bool isMatrixProduct(kernel::ContractOp op);
/// Adds the shape of the matrix unit, and the sizes that follow from it, to the placement of a kernel for matrix
/// units.
mlir::LogicalResult placeMatrices(kernel::FuncOp func, const GpuTarget &target,
                                  GpuPlacement &placement);

/// The product of one contraction, and with it those of the same rows by other columns: gated layers
/// have two, and the halves of rotated heads are two.
class GpuMatrices {
public:
  GpuMatrices(GpuEmitter &emitter, kernel::ContractOp op);
  /// The products that are made, and the registers of each.
  llvm::ArrayRef<kernel::ContractOp> ops() const { return products; }
  llvm::SmallVector<kernel::Fragment> run();

  /// Invocations of a subgroup over columns.
  static constexpr int64_t lanesAcross = 4;
  /// Quads from one row of sums to the next where `columns` of them go through workgroup memory.
  static constexpr int64_t pitchOfSums(int64_t columns) { return columns / 4 + 1; }

private:
  using Registers = llvm::SmallVector<mlir::Value>;
  using Use = GpuMatrixUnit::Use;

  int64_t rows() { return op.getType().getDimSize(0); }
  int64_t columns() { return op.getType().getDimSize(1); } ///< of each product
  int64_t acrossAll() { return products.size() * across; }
  bool isForFew() const { return fragment.rows == 1; }
  /// Whether sums are those of codes, or each group of them is scaled; codes of i4 become bytes.
  bool sumsCodes() const { return unit.multipliesBytes() && !hasGroups; }
  mlir::Value pointer(mlir::Value entry);

  void placeTeam();
  void placeSides();
  mlir::Value rowInArray(mlir::Value row);
  void sumAll();
  void fetch(mlir::Value first, bool ends, Registers &loaded);
  void store(llvm::ArrayRef<mlir::Value> loaded);
  int64_t stepsAtOnce();
  void multiply(int64_t words);
  void multiplySteps(mlir::Value place, int64_t steps);
  void multiplyStep(mlir::Value place);
  mlir::Value loadSide(Use use, mlir::Value row, mlir::Value place);
  GpuMatrixStaging::End endOfRows();
  int64_t features();
  int64_t allWords();
  mlir::Value startOfRow(const kernel::BoundView &view, mlir::Value row);
  mlir::Value startOfPanel(kernel::ContractOp product, mlir::Value panel);
  void exchange(int64_t product, kernel::Fragment &to);
  void scaleSums(kernel::Fragment &sums);
  void readRows(kernel::Fragment &to);
  mlir::Value readQuad(mlir::Value quad);

  // Of groups of i4.
  void placeGroups();
  void multiplyGroups(int64_t count);
  void multiplyGroup(mlir::Value group);

  // Of bytes: the left side is signed when it is staged.
  mlir::Value asSigned(mlir::Value quad);
  void addWeights(llvm::ArrayRef<mlir::Value> loaded, Registers &weights);
  void addBases(GpuMatrixStaging &right, llvm::ArrayRef<mlir::Value> weights,
                kernel::Fragment &sums);

  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  kernel::ContractOp op; ///< the first
  llvm::SmallVector<kernel::ContractOp> products;
  const MatrixShape &shape;
  GpuMatrixUnit unit;
  const kernel::Fragment fragment; ///< the shape of each product's
  llvm::SmallVector<kernel::Fragment> fragments;
  const int64_t perWord, block; ///< words of a block
  const bool hasGroups;         ///< weights are of i4
  MatrixArray array;
  int64_t down = 1, across = 1;        ///< matrices of a subgroup in each product
  mlir::Value firstRow, firstColumn;   ///< of the subgroup, in the array and in the tile
  mlir::Value multiplies;              ///< whether this subgroup does; null: all do
  llvm::SmallVector<mlir::Value> sums; ///< variables, row by row of matrices
  std::optional<GpuMatrixStaging> left;
  std::vector<GpuMatrixStaging> rights; ///< one for each product
  std::optional<GpuMatrixGroups> groups;
};

} // namespace heddle
