//===- ProductRows.h - Measured choices for products on GPUs ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block sizes and workgroups of staged products, as rows of a table. Each row names
// the benchmark that decided it.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Support/Error.h"

#include <optional>

namespace heddle::planning {

/// Width of a product. `Narrow`: the tile has at most `narrowColumns`; in a variant for few rows,
/// the layer has at most `fewColumns` and one product. `Wide`: other tiles of up
/// to 128 columns.
enum class Width { Narrow, Wide, Widest };

/// Properties of a staged product that its choice depends on.
struct ProductCase {
  kernel::Mapping mapping;
  Width width = Width::Wide;
  bool isCode = false; ///< the weights are codes
  /// Rows have another type than the weights: they are rounded, or are bytes for weights of int4.
  bool isRounded = false;
  bool hasSeveral = false; ///< a row of a tile holds the sums of several products
};

/// A choice and its conditions. An empty condition holds for both values.
struct ProductRow {
  kernel::Mapping mapping;
  std::optional<Width> width;
  std::optional<bool> isCode, isRounded, hasSeveral;
  /// Rows and columns of sums that an invocation holds; 0: the workgroup is 8 rows by 16.
  int64_t rowsOfInvocation, columnsOfInvocation;
  int64_t block, ahead, buffers; ///< as in #kernel.plan
  int64_t matrixSteps;           ///< minimum number of steps of the level's matrix in a block
  const char *reason;
  const char *bench;    ///< a row of `bench/gpu`, or of the gates of `bench/gpu-static`
  int64_t rowBlock = 0; ///< as in #kernel.plan; blocks then take up to 32 KiB

  bool holdsFor(const ProductCase &product) const;
};

/// The first row that holds. Every case of the mappings staged, few_rows, matrix and
/// matrix_few_rows has one. HEDDLE_PLAN_ROWS replaces its block, the blocks ahead and the
/// buffers, for experiments: `matrix/wide=8,1,2;matrix_few_rows=128,1` (bench/gpu-lab). There is one
/// buffer unless two are given, and no row block. Results keep their bits.
ProductRow productRow(const ProductCase &product);
/// Whether products on matrix units may have the widest tiles. No measurement has shown yet from
/// how many rows on they are faster, so only experiments take them (`matrix/widest=8,1,2`).
bool takesWidestTiles();
/// A usage error if HEDDLE_PLAN_ROWS is set to something else.
Status checkPlanRows();

} // namespace heddle::planning
