//===- TileDropout.h - Dropout of a tile -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10 as tile arithmetic, and the factors of dropout. The op `transformer.dropout`
// defines the counters.
#pragma once

#include "AttentionScores.h"

namespace heddle {

/// Dropout of the numbers of a tile.
class TileDropout {
public:
  /// Reads `key`, (seed, step, enabled), and `site`, which are arguments of the definition.
  TileDropout(KernelBuilder &f, mlir::Value key, mlir::Value site, double probability);

  /// Returns the factor of each number, 0 or 1 / (1 - probability), as a tile with the shape of
  /// `type`. The counters are i32 scalars or tiles that can be broadcast to it.
  mlir::Value factors(mlir::RankedTensorType type, mlir::Value column, mlir::Value position,
                      mlir::Value example);

private:
  TileBuilder &t;
  mlir::Value seed, step, site; ///< i32
  mlir::Value threshold;        ///< i32, unsigned; words below it drop their number
  mlir::Value kept;             ///< f32, factor of the other numbers
};

/// Dropout of the weights of an attention, of one head at a time.
class WeightDropout {
public:
  /// Reads the dropout of an attention or of its gradient. `scores` has entered a head.
  template <typename Op>
  WeightDropout(KernelBuilder &f, Op op, Scores &scores)
      : dropout(f, op.getDropoutKey(), op.getSite(), op.getDropout()->convertToDouble()),
        example(exampleOf(f, op.getExamples(), scores)) {}

  /// Returns the factors of the weights of a tile of scores.
  mlir::Value ofWeights(Scores &scores, mlir::Value i, const KeyChunk &chunk,
                        mlir::RankedTensorType type) {
    return dropout.factors(type, scores.numbers(/*ofKeys=*/true, i, chunk, type),
                           scores.numbers(/*ofKeys=*/false, i, chunk, type), example);
  }

private:
  static mlir::Value exampleOf(KernelBuilder &f, mlir::Value examples, Scores &scores);

  TileDropout dropout;
  mlir::Value example; ///< number of the head among the heads of all examples, i32
};

} // namespace heddle
