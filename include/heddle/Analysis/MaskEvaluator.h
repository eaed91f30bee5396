//===- MaskEvaluator.h - Masks and score rules on the host ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the code that masks and score rules emit for kernels, here, on given data:
// the classes of tiles in reports and pictures, and the tests of masks, come from
// the same implementation as the kernels' own.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace heddle::transformer {

/// What an operand of a mask or rule holds, row-major: i32 numbers, truths (0 or 1), or the bits of
/// f32 numbers. A scalar has no shape and one value.
struct MaskData {
  llvm::SmallVector<int64_t> shape;
  std::vector<uint32_t> values;
};

/// Data of all operands, by the value that the op uses; constants of the function need none.
using MaskInputs = llvm::DenseMap<mlir::Value, MaskData>;

/// A sequence, a head, and the attention's numbers of queries and keys.
struct MaskPlace {
  int64_t batch = 0, head = 0, queries = 0, keys = 0;
};

/// Rows [i0, i1) by keys [j0, j1), none empty.
struct MaskTile {
  int64_t i0, i1, j0, j1;
};

/// `may` false: no pair of the tile is allowed; `must` true: all are.
struct MaskBounds {
  bool may, must;
};

class MaskEvaluator {
public:
  /// For a mask or a score rule of an attention with `heads` query heads. `elements` gives
  /// `tileRows` by `tileColumns` of them. The data must outlive the
  /// evaluator.
  static llvm::Expected<MaskEvaluator> create(mlir::Value maskOrRule, int64_t heads,
                                              const MaskInputs &inputs, int64_t tileRows = 1,
                                              int64_t tileColumns = 1);
  MaskEvaluator(MaskEvaluator &&);
  MaskEvaluator &operator=(MaskEvaluator &&);
  ~MaskEvaluator();

  /// Bounds of a mask; a score rule has none (true, false).
  MaskBounds bound(const MaskPlace &place, const MaskTile &tile);
  /// Truths, or bits of f32 numbers, of the tile from (i0, j0) on, row-major.
  const std::vector<uint32_t> &elements(const MaskPlace &place, int64_t i0, int64_t j0);
  /// Whether some op so far would have trapped or had no value on a device: a division by zero, a
  /// shift too far.
  bool hasTrapped() const;

private:
  struct Program;
  MaskEvaluator(std::unique_ptr<Program> program, int64_t rows, int64_t columns);
  std::unique_ptr<Program> program;
  int64_t rows, columns; ///< of `elements`
};

} // namespace heddle::transformer
