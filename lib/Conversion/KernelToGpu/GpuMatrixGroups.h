//===- GpuMatrixGroups.h - Groups of i4 beside matrix units -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with weights of i4 through matrix units (Products/Int4.cpp has their chain).
// A group's sums of codes are integers, which units sum in any order. They become f32,
// and every element's chain takes them, group by group:
//
//   sum  Fma(u, e * d, sum), then Fma(s, m, sum)
//
// Units have no fused multiply-add of elements, so that an invocation goes over those that
// it has of a matrix. Which they are is the driver's business. It is asked once, by two
// matrices whose elements are the numbers of their rows and of their columns: elements of
// matrices of one type lie alike. What a row has in common (e, s) and a column (d, m) lies in
// workgroup memory for the groups of a block.
#pragma once

#include "GpuEmitter.h"
#include "GpuMatrixStaging.h"
#include "GpuMatrixUnit.h"

namespace heddle {

class GpuMatrixGroups {
public:
  /// Of a tile of `rows` rows and `columns` columns, staged in blocks of `groups` groups.
  struct Block {
    int64_t rows, columns, groups;
  };
  GpuMatrixGroups(GpuEmitter &emitter, GpuMatrixUnit &unit, kernel::ContractOp op, Block block);

  /// Where scales of rows and of panels begin in memory, in quads, and where rows go to.
  void place(llvm::function_ref<mlir::Value(mlir::Value row)> startOfRow,
             llvm::function_ref<mlir::Value(mlir::Value row)> placeOfRow,
             llvm::function_ref<mlir::Value(mlir::Value panel)> startOfPanel);
  /// Appends the scales of the block whose first group is `first`. With an end, a number of groups,
  /// the block may reach beyond it.
  void fetch(mlir::Value first, std::optional<int64_t> end,
             llvm::SmallVectorImpl<mlir::Value> &loaded);
  void store(llvm::ArrayRef<mlir::Value> loaded);

  /// The subgroup's sums, which are f32, begin at this row and column.
  void number(mlir::Value row, mlir::Value column);
  /// A matrix of a group's sums: the group, and the matrix's first row and column behind the subgroup's.
  struct Place {
    mlir::Value group;
    int64_t row, column;
  };
  /// Adds the group's integers to the sums, which are a variable.
  void add(Place place, mlir::Value integers, mlir::Value sums);

private:
  static constexpr int64_t kinds = 2; ///< scales of a row, and of a column, in a group

  /// Scales of a block that this invocation copies: where their row or panel begins in memory, which
  /// quad of the row, or which group and word of the panel, and where they go.
  struct Slot {
    mlir::Value start, number, lane, place;
  };
  int64_t entries() const { return block.groups * (block.rows + block.columns); }
  mlir::VectorType pair();
  void write(mlir::Value place, mlir::Value first, mlir::Value second);
  std::pair<mlir::Value, mlir::Value> read(mlir::Value place);
  mlir::Value elementOf(mlir::Value variable, mlir::Value number);
  mlir::Value valueOf(mlir::Value variable, mlir::Value number);
  mlir::Value placeOf(mlir::Value numbers, mlir::Value first, mlir::Value number);

  GpuEmitter &e;
  GpuMatrixUnit &unit;
  kernel::BoundView rowView, columnView;
  const Block block;
  llvm::SmallVector<Slot> rowSlots, columnSlots;
  mlir::Value firstRow, firstColumn;
  mlir::Value rowNumbers, columnNumbers; ///< matrices, in variables
  mlir::Value products;                  ///< a group's, as f32
};

} // namespace heddle
