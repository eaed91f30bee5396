//===- GpuMatrixGroups.h - Groups of i4 on matrix units ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file adds groups of i4, which matrix units multiply, to chains of f32 that
// Products/Groups.cpp explains. The sums of codes of a group are integers, which units may
// sum in any order. They are converted to f32 and enter the chain of each element, group by
// group:
//
//   sum  Fma(u, e * d, sum), then Fma(s, m, sum)
//
// Units have no elementwise fused multiply-add, so each invocation loops over the elements
// that it holds of a matrix. Their layout is driver-defined, but equal for all matrices of
// one type. It is discovered once, by loading two matrices that hold the numbers of their
// rows and of their columns. The scales of rows (e, s) and columns (d, m) are in workgroup
// memory for the groups of a block.
#pragma once

#include "GpuEmitter.h"
#include "GpuMatrixStaging.h"
#include "GpuMatrixUnit.h"

namespace heddle {

/// Stages the scales of a product's groups, and adds the groups to the product's sums.
class GpuMatrixGroups {
public:
  /// Size of a block: rows and columns of the tile, and groups that are staged at a time.
  struct Block {
    int64_t rows, columns, groups;
  };
  GpuMatrixGroups(GpuEmitter &emitter, GpuMatrixUnit &unit, kernel::ContractGroupsOp op,
                  Block block);

  /// Places the scales. `startOfRow` and `startOfPanel` return the vec4 at which a row of scales,
  /// or a panel, begins. `placeOfRow` returns the position of a row in the staged order.
  void place(llvm::function_ref<mlir::Value(mlir::Value row)> startOfRow,
             llvm::function_ref<mlir::Value(mlir::Value row)> placeOfRow,
             llvm::function_ref<mlir::Value(mlir::Value panel)> startOfPanel);
  /// Appends the scales of the block whose first group is `first`. The block may extend beyond
  /// group `end` if one is given.
  void fetch(mlir::Value first, std::optional<int64_t> end,
             llvm::SmallVectorImpl<mlir::Value> &loaded);
  void store(llvm::ArrayRef<mlir::Value> loaded);

  /// Finds the row and column of each element. The subgroup's sums, which are f32, begin at `row`
  /// and `column`.
  void number(mlir::Value row, mlir::Value column);
  /// Place of a matrix of sums: its group, and its first row and column, counted from the
  /// subgroup's.
  struct Place {
    mlir::Value group;
    int64_t row, column;
  };
  /// Adds the integers of a group to `sums`, a variable.
  void add(Place place, mlir::Value integers, mlir::Value sums);

private:
  static constexpr int64_t kinds = 2; ///< scales of a row, or of a column, in a group

  /// Scales that this invocation copies in each block. `start` is the vec4 of memory at which their
  /// row or panel begins, `place` their entry of the array. In a row, `number` counts vec4s. In a
  /// panel, `number` is a group and `lane` a word of a vec4.
  struct Slot {
    mlir::Value start, number, lane, place;
  };
  int64_t entries() const { return block.groups * (block.rows + block.columns); }
  mlir::VectorType scaleType();
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
  mlir::Value products;                  ///< variable: the integers of a group as f32
};

} // namespace heddle
