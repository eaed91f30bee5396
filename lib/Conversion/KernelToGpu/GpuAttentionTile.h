//===- GpuAttentionTile.h - Parts of an attention -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file declares the parts of an attention on matrix units (GpuAttention.h). Workgroup
// memory has an array of keys or values, the queries if registers do not hold them, two
// factors for each row, and a strip for each subgroup. A strip has a line of a chunk's
// scores, or of weights, for each row of the subgroup.
#pragma once

#include "GpuEmitter.h"
#include "GpuMatrixStaging.h"
#include "GpuMatrixUnit.h"

namespace heddle {

/// Sizes of the tile of an attention, and places in workgroup memory.
class AttentionTile {
public:
  /// Invocations of a row.
  static constexpr int64_t rowInvocations = 2;
  /// Numbers of 16 bits in a vec4.
  static constexpr int64_t kHalves = 8;
  using Registers = llvm::SmallVector<mlir::Value>;
  using Use = GpuMatrixUnit::Use;
  using Layout = GpuMatrixUnit::Layout;

  AttentionTile(GpuEmitter &emitter, kernel::ContractOp keys, kernel::ContractRowsOp values);

  /// Computes the starts of rows.
  void place();
  int64_t invocations() const { return e.placement.ty * rowInvocations; }
  bool isBf16() const { return shape.operands == DType::BF16; }
  /// Whether queries stay in workgroup memory, and keys and values are staged in parts of a chunk.
  /// The sums then leave no registers for them.
  bool isWide() const { return part < chunk; }

  // Matrices.
  mlir::Value load(Use use, mlir::Value pointer, int64_t stride, Layout layout) {
    return unit.load(unit.type(use), pointer, stride, layout);
  }
  mlir::Value zeroSum() { return unit.zero(unit.type(Use::MatrixAcc)); }
  /// Creates variables for the sums of weighted values.
  Registers makeVariables();
  /// Calls `body` for each matrix of sums in `columns` columns from `first` on, with its place in
  /// the strip. Places begin `offset` vec4s after the start of a row.
  void overMatrices(int64_t first, int64_t columns, int64_t offset,
                    llvm::function_ref<void(int64_t number, mlir::Value place)> body);
  /// Calls `body` for parts of the columns of sums, at most `most` columns at a time.
  void overColumns(int64_t most, llvm::function_ref<void(int64_t first, int64_t columns)> body);
  /// Calls `body` for `count` blocks with `products` products of matrices each. Many blocks or
  /// products become a loop, which drivers compile faster.
  void overBlocks(int64_t count, int64_t products, llvm::function_ref<void(mlir::Value)> body);

  // Places in workgroup memory.
  /// Returns a pointer into the array of keys or values.
  mlir::Value operandAt(mlir::Value vec4, mlir::Value lane = {});
  mlir::Value stripAt(mlir::Value vec4, mlir::Value lane = {});
  /// Each row has two factors, for the chunk's sums and for the sums so far.
  mlir::Value factorAt(mlir::Value row);
  /// Vec4s between the starts of two rows of the strip, or of numbers of 16 bits.
  int64_t stripPitch() const { return chunk / kVec4 + 1; }
  static int64_t pitchOf(int64_t halves) { return halves / kHalves + 1; }
  /// Returns the vec4 of the strip for register `vector` of row `row` of this invocation.
  mlir::Value ownVec4(int64_t row, int64_t vector);
  /// Returns the vec4 of the strip that is `vec4s` vec4s after the start of row `row` of the
  /// subgroup.
  mlir::Value subgroupVec4(int64_t row, int64_t vec4s) {
    return e.add(subgroupStrip, e.constant(row * stripPitch() + vec4s));
  }
  /// Loads this invocation's elements of its rows from the strip.
  Registers readStrip(int64_t columns);

  GpuEmitter &e;
  kernel::ContractOp keys;
  kernel::ContractRowsOp values;
  const MatrixShape &shape;
  GpuMatrixUnit unit;
  const int64_t rows, chunk, features, valueColumns;
  int64_t part;               ///< keys that are staged at a time
  int64_t subgroupRows, down; ///< rows of a subgroup, and its matrices over rows
  MatrixArray operands, queries;
  mlir::Value firstRow;      ///< first row of the subgroup in the tile
  mlir::Value subgroupStrip; ///< start of its rows in the strip
  mlir::Value ownWeights;    ///< start of this invocation's weights in the strip
  mlir::Value again;         ///< whether the loop runs again for non-finite values

private:
  mlir::Value ownStrip;
};

/// Access of a part to the tile and the emitter.
class AttentionPart {
protected:
  using Registers = AttentionTile::Registers;
  using Use = AttentionTile::Use;
  using Layout = AttentionTile::Layout;
  static constexpr int64_t kHalves = AttentionTile::kHalves;
  explicit AttentionPart(AttentionTile &tile)
      : tile(tile), e(tile.e), builder(e.builder), loc(e.loc), shape(tile.shape) {}

  AttentionTile &tile;
  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location &loc;
  const MatrixShape &shape;
};

/// Copies keys and values to workgroup memory.
class AttentionStaging : public AttentionPart {
public:
  /// Most vec4s of a chunk that an invocation holds in addition to its matrices.
  static constexpr int64_t mostCopies = 8;
  explicit AttentionStaging(AttentionTile &tile) : AttentionPart(tile) {}

  /// Computes the places of this invocation's copies.
  void place();
  /// Vec4s of a part that an invocation copies.
  int64_t copiesOf(kernel::ProductOpInterface op) const;
  /// Loads this invocation's vec4s of the part that begins with key `first` of the chunk: `copies`
  /// of them, beginning with number `from`.
  Registers fetch(kernel::ProductOpInterface op, mlir::Value first, int64_t from, int64_t copies);
  void storeKeys(int64_t from, llvm::ArrayRef<mlir::Value> loaded);
  void storeValues(int64_t from, llvm::ArrayRef<mlir::Value> loaded);
  /// Copies the rest of a part, from copy `from` on, a few copies at a time.
  void copyKeys(mlir::Value first, int64_t from);
  void copyValues(mlir::Value first);

private:
  /// A digit of a vec4's number, number / unit % count, which adds pitch times itself to a place.
  /// If count is 0, the digit is number / unit.
  struct Field {
    int64_t unit, count, pitch;
  };
  mlir::Value placeOf(llvm::ArrayRef<Field> fields);
  static int64_t placeOf(llvm::ArrayRef<Field> fields, int64_t number);
  mlir::Value withoutNonFinite(mlir::Value words);

  llvm::SmallVector<Field> keyFields, wordFields, valueFields;
  mlir::Value keyPlace, wordPlace, valuePlace; ///< places of this invocation's first vec4
};

/// Multiplies queries and keys.
class AttentionScores : public AttentionPart {
public:
  AttentionScores(AttentionTile &tile, AttentionStaging &staging)
      : AttentionPart(tile), staging(staging) {}

  /// Stages the queries. Queries of f32 are scaled by row; `factor` multiplies the scales.
  void stageQueries(std::optional<float> factor);
  /// Computes the scores of a chunk. If `takesValues`, it also stages the chunk's values.
  mlir::FailureOr<kernel::Fragment> multiply(bool takesValues);

private:
  mlir::Value loadQueries(int64_t i, int64_t k);
  void multiplyBlock(mlir::Value column, int64_t blocks, mlir::Value first);
  void multiplyPart(mlir::Value first);

  AttentionStaging &staging;
  Registers queries;   ///< matrices, by rows, then by features
  Registers rowScales; ///< scales of this invocation's rows; empty: queries have 16 bits
};

/// Multiplies weights and values.
class AttentionValues : public AttentionPart {
public:
  AttentionValues(AttentionTile &tile, AttentionStaging &staging)
      : AttentionPart(tile), staging(staging) {}

  /// Computes the weighted values of a chunk as matrices. `isStaged`: the values are staged.
  mlir::FailureOr<kernel::Fragment> multiply(bool isStaged);

private:
  Registers rounded(mlir::Value weights);
  void storeWeights(const kernel::Fragment &weights);
  void multiplyBlock(mlir::Value key, mlir::Value first, llvm::ArrayRef<mlir::Value> products);
  mlir::Value storedWeight(int64_t row, mlir::Value k);
  void addNonFinite(mlir::Value k, int64_t first, int64_t columns, Registers &added);
  void addNonFinite(llvm::ArrayRef<mlir::Value> products);

  AttentionStaging &staging;
};

} // namespace heddle
