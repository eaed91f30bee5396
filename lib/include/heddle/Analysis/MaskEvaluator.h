//===- MaskEvaluator.h - Masks and score rules on the host ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a mask or score rule on the host with the code that it emits for
// kernels. Reports, pictures and tests of masks therefore share the kernels'
// implementation.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace heddle::transformer {

/// Data of one operand of a mask or score rule, row-major: i32 numbers, truth values (0 or 1) or
/// the bits of f32 numbers. A scalar has no shape and one value.
struct MaskData {
  llvm::SmallVector<int64_t> shape;
  std::vector<uint32_t> values;
};

/// Data of each operand, keyed by the value that the op uses. Operands that are constants need no
/// data.
using MaskInputs = llvm::DenseMap<mlir::Value, MaskData>;

/// Batch element and query head, and the numbers of queries and keys of the attention.
struct MaskPlace {
  int64_t batch = 0, head = 0, queries = 0, keys = 0;
};

/// Rows [i0, i1) by keys [j0, j1). Neither range is empty.
struct MaskTile {
  int64_t i0, i1, j0, j1;
};

/// Bounds of a mask over a tile. If `may` is false, no pair is allowed; if `must` is true, every
/// pair is.
struct MaskBounds {
  bool may, must;
};

/// A compiled mask or score rule, which can be evaluated for any place and tile. Not thread-safe.
class MaskEvaluator {
public:
  /// Compiles a mask or score rule of an attention with `heads` query heads. `elements` returns
  /// tiles of `tileRows` by `tileColumns`. `inputs` must outlive the evaluator. Returns an error if
  /// data of an operand are missing or have another shape.
  static llvm::Expected<MaskEvaluator> create(mlir::Value maskOrRule, int64_t heads,
                                              const MaskInputs &inputs, int64_t tileRows = 1,
                                              int64_t tileColumns = 1);
  MaskEvaluator(MaskEvaluator &&);
  MaskEvaluator &operator=(MaskEvaluator &&);
  ~MaskEvaluator();

  /// Bounds of a mask. A score rule has no bounds and yields (true, false).
  MaskBounds bound(const MaskPlace &place, const MaskTile &tile);
  /// Truth values, or bits of f32 numbers, of the tile that starts at (i0, j0), row-major. The
  /// reference is valid until the next call.
  const std::vector<uint32_t> &elements(const MaskPlace &place, int64_t i0, int64_t j0);
  /// Whether any op so far divided by zero or shifted out of range. A device traps in this case or
  /// returns an unspecified value.
  bool hasTrapped() const;

private:
  struct Program;
  MaskEvaluator(std::unique_ptr<Program> program, int64_t rows, int64_t columns);
  std::unique_ptr<Program> program;
  int64_t rows, columns; ///< size of the tiles of `elements`
};

} // namespace heddle::transformer
