//===- GpuAttention.h - Attention through matrix units ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file computes both products of an attention on matrix units
// (VK_KHR_cooperative_matrix). Each subgroup has some of the tile's queries, and all
// subgroups share a chunk of keys:
//
//   before the loop   Queries become matrices that stay in registers, or in workgroup
//                     memory if there are many features. Queries of f32 are scaled and
//                     rounded like rows of linear layers.
//   scores            A chunk of keys is staged (GpuMatrixStaging.h). Scores are stored to
//                     the subgroup's strip of workgroup memory, where each pair of
//                     invocations reads a row.
//   softmax           Ops are emitted one by one, on each pair's elements of its row.
//   weighted values   Values are staged over the keys. Weights are stored to the strip as
//                     f16 or bf16.
//   merging           Sums of values stay matrices during the loop. Factors of their rows
//                     become matrices by loads with a stride of 0.
//   after the loop    Sums move through the strip to the pairs. The number of columns at a
//                     time is the number of keys in a chunk.
//
// The two invocations of a pair take turns of eight columns of a row. One of them has lanes
// 0 to 7 of the sixteen lanes of a sum, the other has lanes 8 to 15.
//
// A non-finite value makes the sums of all rows NaN, even if a row's weight for it is zero.
// The loop then runs again with zeros in place of non-finite values, and adds their
// products to the rows that have a weight for them.
#pragma once

#include "GpuEmitter.h"
#include "GpuMatrixStaging.h"
#include "GpuMatrixUnit.h"

namespace heddle {

/// Adds the shape of the matrix unit to the placement of an attention tiled for matrix units.
mlir::LogicalResult placeAttention(kernel::FuncOp func, const GpuTarget &target,
                                   GpuPlacement &placement);

/// Emits the attention of one kernel.
class GpuAttention {
public:
  /// Invocations of a row.
  static constexpr int64_t kPair = 2;
  GpuAttention(GpuEmitter &emitter, kernel::FuncOp func);

  bool isLoop(mlir::scf::ForOp op) const { return op == loop; }
  /// Emits the loop over chunks of keys, and the code before and after it.
  mlir::LogicalResult emitLoop();
  mlir::FailureOr<kernel::Fragment> emitProduct(kernel::ProductOpInterface op);
  mlir::FailureOr<kernel::Fragment> emitReduce(kernel::ReduceOp op);

  /// Whether a tile's registers are matrices: sums of weighted values inside the loop.
  bool holds(mlir::Value tile) const { return matrices.contains(tile); }
  /// Whether `emitElementwise` emits an op on tiles.
  bool takes(mlir::Operation &op) const {
    return isElsewhere(op) ||
           (mlir::isa<mlir::arith::MulFOp, mlir::arith::AddFOp>(op) && holds(op.getResult(0)));
  }
  mlir::LogicalResult emitElementwise(mlir::Operation &op);
  /// Stores a tile of matrices to the variables that carry it through the loop.
  mlir::LogicalResult carry(mlir::Value tile);
  /// Loads a tile of matrices from these variables.
  void carried(mlir::Value tile);

private:
  using Registers = llvm::SmallVector<mlir::Value>;
  using Use = GpuMatrixUnit::Use;
  using Layout = GpuMatrixUnit::Layout;
  /// Numbers of 16 bits in a vec4.
  static constexpr int64_t kHalves = 8;
  /// Most vec4s of a chunk that an invocation holds in addition to its matrices.
  static constexpr int64_t kMostCopies = 8;

  void findMatrices();
  void findScaling();
  /// Whether the effect of an op is part of another op.
  bool isElsewhere(mlir::Operation &op) const { return &op == scaling || &op == rounding; }
  bool isBf16() const { return shape.operands == DType::BF16; }
  mlir::Value load(Use use, mlir::Value pointer, int64_t stride, Layout layout) {
    return unit.load(unit.type(use), pointer, stride, layout);
  }
  mlir::Value zeroSum() { return unit.zero(unit.type(Use::MatrixAcc)); }
  Registers makeVariables();

  // Places in workgroup memory.
  mlir::Value tileAt(mlir::Value quad, mlir::Value lane = {});
  mlir::Value stripAt(mlir::Value quad, mlir::Value lane = {});
  mlir::Value factorAt(mlir::Value row);
  int64_t stripPitch() const { return chunk / kVec4 + 1; }
  /// Vec4s between the starts of two rows of the array.
  static int64_t pitchOf(int64_t halves) { return halves / kHalves + 1; }
  /// Whether queries stay in workgroup memory, and keys and values are staged in parts of a chunk.
  /// The sums then leave no registers for them.
  bool isWide() const { return part < chunk; }
  /// Returns the vec4 of the strip for register `vector` of row `row` of this invocation.
  mlir::Value stripQuad(int64_t row, int64_t vector);
  /// Returns the vec4 of the strip that is `quads` vec4s after the start of row `row` of the
  /// subgroup.
  mlir::Value teamQuad(int64_t row, int64_t quads) {
    return e.add(teamStrip, e.constant(row * stripPitch() + quads));
  }

  /// A digit of a vec4's number, number / unit % count, which adds pitch times itself to a place.
  /// If count is 0, the digit is number / unit.
  struct Field {
    int64_t unit, count, pitch;
  };
  int64_t invocations() const { return e.placement.ty * kPair; }
  mlir::Value placeOf(llvm::ArrayRef<Field> fields);
  static int64_t placeOf(llvm::ArrayRef<Field> fields, int64_t number);

  void placeRows();
  void placeCopies();
  void stageQueries();
  mlir::Value loadLeft(int64_t i, int64_t k);
  int64_t copiesOf(kernel::ProductOpInterface op); ///< vec4s of a part that an invocation copies
  Registers fetch(kernel::ProductOpInterface op, mlir::Value first, int64_t from, int64_t copies);
  void storeKeys(int64_t from, llvm::ArrayRef<mlir::Value> loaded);
  void storeValues(int64_t from, llvm::ArrayRef<mlir::Value> loaded);
  static void inTurns(int64_t from, int64_t all,
                      llvm::function_ref<void(int64_t from, int64_t copies)> copy);
  bool knowsValues();
  void overBlocks(int64_t count, int64_t products, llvm::function_ref<void(mlir::Value)> body);
  void multiplyKeysOf(mlir::Value column, int64_t blocks, mlir::Value first);
  void multiplyKeysFrom(mlir::Value first);
  mlir::FailureOr<kernel::Fragment> multiplyKeys();
  void multiplyValuesOf(mlir::Value key, mlir::Value first, llvm::ArrayRef<mlir::Value> products);
  mlir::FailureOr<kernel::Fragment> multiplyValues();
  Registers rounded(mlir::Value weights);
  void storeWeights(const kernel::Fragment &weights);
  mlir::FailureOr<kernel::Fragment> numbersOf(mlir::Value tile);
  Registers factors(const kernel::Fragment &numbers, int64_t slot);

  // Non-finite values.
  mlir::Value withoutNonFinite(mlir::Value words);
  mlir::Value storedWeight(int64_t row, mlir::Value k);
  void addNonFinite(mlir::Value k, int64_t first, int64_t columns, Registers &added);
  void addNonFinite(llvm::ArrayRef<mlir::Value> products);
  mlir::Value isAnywhere(mlir::Value condition);

  /// Calls `body` for parts of the columns of sums, at most `most` columns at a time.
  void overParts(int64_t most, llvm::function_ref<void(int64_t first, int64_t columns)> body);
  /// Calls `body` for each matrix of sums in these columns, with its place in the strip. Places
  /// begin `behind` vec4s after the start of a row.
  void overMatrices(int64_t first, int64_t columns, int64_t behind,
                    llvm::function_ref<void(int64_t number, mlir::Value place)> body);
  Registers readSums(llvm::ArrayRef<mlir::Value> all);
  Registers readStrip(int64_t columns);
  void hoistInvariants();
  mlir::LogicalResult runOnce(Registers &results, mlir::Value pass);

  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::scf::ForOp loop;
  kernel::ContractOp keys;
  kernel::ContractRowsOp values;
  unsigned carriedTile = 0; ///< index of the tile of sums among the loop's carried values
  const MatrixShape &shape;
  GpuMatrixUnit unit;
  int64_t chunk, part, features, valueColumns; ///< part: keys that are staged at a time
  int64_t teamRows, down;                      ///< rows of a subgroup, and its matrices over rows
  MatrixArray array, queries;                  ///< of keys and values, and of queries
  llvm::DenseSet<mlir::Value> matrices;

  mlir::Value firstOfTeam;                     ///< first row of the subgroup in the tile
  mlir::Value teamStrip, ownStrip, ownWeights; ///< starts of rows; the rest of a place is constant
  llvm::SmallVector<Field> keyFields, wordFields, valueFields;
  mlir::Value keyPlace, wordPlace, valuePlace; ///< of the first vec4 that this invocation copies
  /// Multiplication of scores by a constant, which row scales include; may be null.
  mlir::Operation *scaling = nullptr;
  /// Rounding of weights to bf16, which is part of storing them; may be null.
  mlir::Operation *rounding = nullptr;
  Registers lefts;           ///< matrices of queries, by rows, then by features
  Registers rowScales;       ///< of this invocation's rows; empty: queries are bf16 already
  Registers sums;            ///< variables
  mlir::Value again;         ///< whether the loop runs again for non-finite values
  bool storedValues = false; ///< whether values are staged before scores are known
};

} // namespace heddle
