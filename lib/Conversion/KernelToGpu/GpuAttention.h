//===- GpuAttention.h - Attention through matrix units ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both products of an attention through matrix units (VK_KHR_cooperative_matrix). Each
// subgroup has some of the tile's queries, and all share a chunk of keys:
//
//   before the loop   queries, of f32 scaled and rounded as rows of linear layers are, become
//                     matrices that stay in registers
//   scores            a chunk of keys is staged (GpuMatrixStaging.h), scores are multiplied
//                     and stored to the subgroup's strip of workgroup memory, where each pair
//                     of invocations reads a row
//   softmax           op by op, on what a pair has of its row
//   weighted values   values are staged where keys were, weights go back to the strip as f16
//                     or bf16
//   merging           sums of values stay matrices as long as the loop runs; what multiplies
//                     rows of them is a matrix, loaded with a stride of 0
//   behind the loop   sums go through the strip to the pairs, as many columns at a time as
//                     a chunk has keys
//
// A pair's invocations take the columns of a row by turns of eight, so that one has lanes 0
// to 7 of the sixteen of a sum, the other 8 to 15.
//
// A value that is not finite makes sums of all rows NaN, also of those whose weight for it is
// zero. The loop then runs again, with such values taken as zero, and adds their products to
// the rows that have a weight for them.
#pragma once

#include "GpuEmitter.h"
#include "GpuMatrixStaging.h"
#include "GpuMatrixUnit.h"

namespace heddle {

/// Where a kernel is an attention tiled for matrix units, the placement of its invocations.
mlir::LogicalResult placeAttention(kernel::FuncOp func, const GpuTarget &target,
                                   GpuPlacement &placement);

/// The attention of one kernel.
class GpuAttention {
public:
  /// Invocations of a row.
  static constexpr int64_t kPair = 2;
  GpuAttention(GpuEmitter &emitter, kernel::FuncOp func);

  bool isLoop(mlir::scf::ForOp op) const { return op == loop; }
  /// Emits the loop over chunks of keys, and what goes before and behind it.
  mlir::LogicalResult emitLoop();
  mlir::FailureOr<kernel::Fragment> emitProduct(kernel::ContractOp op);
  mlir::FailureOr<kernel::Fragment> emitReduce(kernel::ReduceOp op);

  /// Whether a tile's registers are matrices: sums of weighted values inside the loop.
  bool holds(mlir::Value tile) const { return matrices.contains(tile); }
  /// Whether an op on tiles is emitted here.
  bool takes(mlir::Operation &op) const {
    return isElsewhere(op) ||
           (mlir::isa<mlir::arith::MulFOp, mlir::arith::AddFOp>(op) && holds(op.getResult(0)));
  }
  mlir::LogicalResult emitElementwise(mlir::Operation &op);
  /// Such tiles go from block to block in variables.
  mlir::LogicalResult carry(mlir::Value tile);
  void carried(mlir::Value tile);

private:
  using Registers = llvm::SmallVector<mlir::Value>;
  using Use = GpuMatrixUnit::Use;
  using Layout = GpuMatrixUnit::Layout;
  /// Halves of a quad.
  static constexpr int64_t kHalves = 8;
  /// Quads of a chunk that an invocation holds beside its matrices.
  static constexpr int64_t kMostCopies = 8;

  void findMatrices();
  void findScaling();
  /// Whether what an op does is part of another.
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
  int64_t stripPitch() const { return chunk / kQuad + 1; }
  static int64_t pitchOf(int64_t halves) { return halves / kHalves + 1; } ///< of rows in the array
  /// Whether queries stay in workgroup memory, and keys and values are staged by parts of a chunk: beside
  /// as many sums there are no registers for them.
  bool isWide() const { return part < chunk; }
  /// The strip's quad of a row of this invocation that a register begins with.
  mlir::Value stripQuad(int64_t row, int64_t vector);
  /// That of a row of the subgroup, and further quads of it.
  mlir::Value teamQuad(int64_t row, int64_t quads) {
    return e.add(teamStrip, e.constant(row * stripPitch() + quads));
  }

  /// A part of a quad's number, and what it adds to a place: number / unit % count times pitch; count
  /// 0: number / unit.
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
  int64_t copiesOf(kernel::ContractOp op); ///< quads of a part that an invocation copies
  Registers fetch(kernel::ContractOp op, mlir::Value first, int64_t from, int64_t copies);
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

  // Values that are not finite.
  mlir::Value withoutNonFinite(mlir::Value words);
  mlir::Value storedWeight(int64_t row, mlir::Value k);
  void addNonFinite(mlir::Value k, int64_t first, int64_t columns, Registers &added);
  void addNonFinite(llvm::ArrayRef<mlir::Value> products);
  mlir::Value isAnywhere(mlir::Value condition);

  /// Sums go through the strip in parts, `most` columns at a time.
  void overParts(int64_t most, llvm::function_ref<void(int64_t first, int64_t columns)> body);
  /// Those matrices of sums that have these columns, with their places `behind` quads in the strip.
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
  kernel::ContractOp keys, values;
  unsigned carriedTile = 0; ///< which of the values that the loop carries is the tile of sums
  const MatrixShape &shape;
  GpuMatrixUnit unit;
  int64_t chunk, part, features, valueColumns; ///< part: keys that are staged at a time
  int64_t teamRows, down;                      ///< rows of a subgroup, and matrices of them
  MatrixArray array, queries;                  ///< of keys and values, and of queries
  llvm::DenseSet<mlir::Value> matrices;

  mlir::Value firstOfTeam;                     ///< row of the tile
  mlir::Value teamStrip, ownStrip, ownWeights; ///< where rows begin, so that the rest is constant
  llvm::SmallVector<Field> keyFields, wordFields, valueFields;
  mlir::Value keyPlace, wordPlace, valuePlace; ///< of the first quads that this invocation copies
  mlir::Operation *scaling =
      nullptr; ///< of scores by a constant, which row scales include; null: of none
  mlir::Operation *rounding =
      nullptr;               ///< of weights to bf16, which they are stored by; null: of none
  Registers lefts;           ///< queries, by rows, then by features
  Registers rowScales;       ///< of this invocation's rows; none: queries are bf16 as they are
  Registers sums;            ///< variables
  mlir::Value again;         ///< whether the loop runs for values that are not finite
  bool storedValues = false; ///< whether they are in workgroup memory before scores are known
};

} // namespace heddle
