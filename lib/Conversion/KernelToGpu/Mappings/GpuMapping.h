//===- GpuMapping.h - A tile on the invocations of a workgroup -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mapping assigns the rows and columns of a tile to the invocations of a workgroup,
// and emits the ops that depend on this: products, reductions, loops over chunks of
// keys, stores. There is one subclass for each assignment; only `create` selects one,
// by the kernel's plan.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;
class GpuProduct;

/// Number of vec4s that hold the sixteen lanes of a row's sum.
inline constexpr int64_t kLaneVectors = 4;

/// Base class of mappings, and the mapping `blocked`: each invocation has a block of neighboring
/// rows and columns.
class GpuMapping {
public:
  explicit GpuMapping(GpuEmitter &emitter);
  virtual ~GpuMapping();
  /// Creates the mapping of the emitter's placement.
  static std::unique_ptr<GpuMapping> create(GpuEmitter &emitter);

  //===--------------------------------------------------------------------===//
  // Rows and columns
  //===--------------------------------------------------------------------===//

  /// Sets the emitter's indices of this invocation: in the workgroup, over rows, over columns.
  virtual void placeInvocation();
  /// Called once, after the kernel's arguments are bound.
  virtual void begin(kernel::FuncOp) {}
  /// First row of this invocation in the tile; null: row 0.
  virtual mlir::Value firstRow();
  /// Number of vec4s that an invocation has in each row of a tile.
  virtual int64_t vectorsOf(int64_t tileColumns) const;
  /// Column of vec4 `number` of an invocation, relative to its first column.
  virtual int64_t columnOf(int64_t number) const;
  /// First column of this invocation in a tile. Invocations without columns of their own repeat the
  /// last columns.
  virtual mlir::Value firstColumn(int64_t tileColumns);
  /// Condition under which this invocation owns its part of a tile, which others may have as well;
  /// null: always.
  virtual mlir::Value owns(mlir::RankedTensorType tile);
  /// Condition under which this invocation stores its part of a tile to memory; null: always.
  virtual mlir::Value stores(mlir::RankedTensorType tile) { return owns(tile); }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  /// Emits a product and adds its fragments to the emitter's.
  virtual mlir::LogicalResult emitProduct(kernel::ProductOpInterface op);
  /// Emits the maxima or sums of a tile's rows.
  virtual mlir::LogicalResult emitReduce(kernel::ReduceOp op);
  virtual mlir::LogicalResult emitLoop(mlir::scf::ForOp op);
  /// Emits a loop over columns that computes a run of ops, in mappings with column loops.
  virtual mlir::LogicalResult emitColumnLoop(llvm::ArrayRef<mlir::Operation *> run);
  /// Whether the mapping emits an op on tiles itself, by `emitElementwise`.
  virtual bool takes(mlir::Operation &) const { return false; }
  virtual mlir::LogicalResult emitElementwise(mlir::Operation &) { return mlir::failure(); }
  /// x * 2^n for the weights of keys; null: computed as any other power.
  virtual mlir::Value scaleWeight(mlir::Value, mlir::Value) { return {}; }
  /// Whether the mapping itself carries a value through loops. If so, `carry` is called where the
  /// value is yielded, and `carried` binds it where it is received.
  virtual bool carriesItself(mlir::Value) const { return false; }
  virtual mlir::LogicalResult carry(mlir::Value) { return mlir::success(); }
  virtual void carried(mlir::Value) {}

  //===--------------------------------------------------------------------===//
  // Products by strategies (GpuProduct.h)
  //===--------------------------------------------------------------------===//

  /// Steps of k in an iteration of the main loop. `known` is the number of steps, if static; a step
  /// loads `vec4s` vec4s of the right side.
  virtual int64_t stepsOfProduct(std::optional<int64_t> known, int64_t vec4s) const;
  /// First row of this invocation in a view with `rows` rows: row `base` (null: 0) of the tile that
  /// begins at row `first`.
  virtual mlir::Value rowOfProduct(mlir::Value first, mlir::Value base, mlir::Value rows);
  /// Whether invocations without existing rows skip the loop of a product.
  virtual bool skipsMissingRows() const { return true; }
  /// Records that from here on in this block `condition` tells whether this invocation's rows
  /// exist.
  void noteRows(mlir::Value condition);
  /// Returns the end of a loop over k, or 0 if this invocation's rows do not exist.
  mlir::Value unlessMissing(mlir::Value end);
  /// Whether all loads of an iteration, as vec4s, precede its products.
  virtual bool loadsFirst() const { return false; }
  /// Adds the products of a guarded contraction, except products of zero and a non-finite value.
  virtual void sumGuarded(GpuProduct &product, llvm::SmallVector<mlir::Value> &sums);

  //===--------------------------------------------------------------------===//
  // Tiles in workgroup memory
  //===--------------------------------------------------------------------===//

  /// First row of this invocation in staged tiles.
  virtual mlir::Value stagedRow();
  /// Number of rows of a workgroup's staged tiles.
  virtual int64_t stagedRows() const;
  /// Index of a vec4 in a staged tile with `vec4s` in each row.
  virtual mlir::Value stagedPlace(int64_t vec4s, mlir::Value row, mlir::Value column);
  /// Whether invocations read staged tiles of others, so that barriers are needed.
  virtual bool exchangesTiles() const { return true; }

  //===--------------------------------------------------------------------===//
  // Properties of fragments
  //===--------------------------------------------------------------------===//

  /// Whether registers hold fragments of wide tiles; otherwise loops over columns recompute them.
  virtual bool holdsTiles() const { return true; }
  /// Whether loops over the elements of a fragment save registers.
  virtual bool loopsOverElements() const { return true; }
  /// Whether a slice of a product over rows can be emitted by itself.
  virtual bool slicesProducts() const { return false; }
  /// Whether an invocation holds enough of a row for a branch around a rare correction to pay.
  virtual bool branchesOnRareValues() const { return false; }
  /// Whether a product of a tile and powers of two is added by a fused multiply-add.
  virtual bool fusesExactProducts() const { return true; }
  /// Whether read-only memory has a separate variable (GpuKernel::begin).
  virtual bool readsApart() const { return false; }

protected:
  /// Sets the indices over rows and columns from the index in the workgroup.
  virtual void placeNumber();
  /// Number of invocations that own columns of a tile.
  virtual int64_t activeColumns(int64_t tileColumns) const;
  /// Maxima of this invocation's rows of a tile.
  virtual kernel::Fragment maximaOfRows(const kernel::Fragment &tile);
  /// Sums of this invocation's rows of the staged tile.
  virtual kernel::Fragment sumsOfStagedRows(mlir::RankedTensorType type);
  /// Sum of a row of the staged tile, by one invocation because the order of a sum is fixed.
  mlir::Value sumOfStagedRow(mlir::Value row, int64_t columns);
  /// Emits a product by the strategies of GpuProduct.h.
  mlir::LogicalResult emitByStrategy(kernel::ProductOpInterface op);

  GpuEmitter &e;
  mlir::OpBuilder &builder;

private:
  /// Whether this invocation's rows exist, for blocks inside `rowsKnownIn`.
  mlir::Value rowsExist;
  mlir::Block *rowsKnownIn = nullptr;
};

/// Base class of mappings whose subgroups multiply matrices.
class SubgroupMapping : public GpuMapping {
public:
  using GpuMapping::GpuMapping;
  void placeInvocation() override;
};

//===--------------------------------------------------------------------===//
// Lanes of a row's sum (Strided.cpp)
//===--------------------------------------------------------------------===//

/// Lanes of an invocation before its first column: of a sum, and of a maximum.
mlir::Value zeroLanes(GpuEmitter &emitter);
mlir::Value lowestLanes(GpuEmitter &emitter);
/// Each lane of `vec4` in the invocation whose index in the subgroup is this one's xor `distance`.
mlir::Value shuffledLanes(GpuEmitter &emitter, mlir::Value vec4, int64_t distance);
/// Combines the lanes of four neighboring invocations by the first two steps of the tree. Addition
/// commutes, so all four have the same result.
mlir::Value exchangedLanes(GpuEmitter &emitter, kernel::ReduceKind kind, mlir::Value lanes);

// Factories of the subclasses, each in the file of its name.
std::unique_ptr<GpuMapping> makeStrided(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeWideRows(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeOwnRows(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeSplitKeys(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeMatrix(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeMatrixAttention(GpuEmitter &emitter);

} // namespace heddle
