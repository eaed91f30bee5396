//===- ProductRows.h - Measured choices for products on GPUs ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block sizes and workgroups of staged products, as rows of a table. Each row names
// the benchmark that it was chosen by.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include <optional>

namespace heddle::planning {

/// What the choice for a staged product depends on.
struct ProductCase {
  kernel::Mapping mapping;
  /// The tile has at most `narrowColumns`; in a form for few rows, the layer has at most
  /// `fewColumns` and one product.
  bool isNarrow = false;
  bool isCode = false; ///< the weights are codes
  bool isRounded =
      false; ///< rows are stored in a wider type than they are multiplied in, or are codes
  bool hasSeveral = false; ///< a row of a tile holds the sums of several products
};

/// A choice. Conditions that are empty hold for both values.
struct ProductRow {
  kernel::Mapping mapping;
  std::optional<bool> isNarrow, isCode, isRounded, hasSeveral;
  int64_t
      rowsOfInvocation; ///< rows of sums that an invocation holds; 0: the workgroup is 8 rows by 16
  int64_t block, ahead; ///< as in #kernel.plan
  int64_t matrixSteps;  ///< at least so many steps of the level's matrix in a block
  const char *reason;
  const char *bench; ///< a row of `bench/gpu`, or of the gates of `bench/gpu-static`

  bool holdsFor(const ProductCase &product) const;
};

/// The first row that holds. There is one for every case of the mappings staged, few_rows, matrix and
/// matrix_few_rows.
const ProductRow &productRow(const ProductCase &product);

} // namespace heddle::planning
