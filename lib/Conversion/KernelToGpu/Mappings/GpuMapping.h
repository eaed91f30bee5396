//===- GpuMapping.h - A tile on the invocations of a workgroup -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mapping assigns the rows and columns of a tile to the invocations of a workgroup,
// and emits the ops that depend on this: products, reductions, loops over chunks of
// keys, stores. There is one subclass for each assignment; `create` is the only place
// that chooses one, by the kernel's plan. The base class is the mapping `blocked`:
// each invocation has a block of neighbouring rows and columns.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;
class GpuProduct;

/// Vec4s that hold the sixteen lanes of a row's sum.
inline constexpr int64_t kLaneVectors = 4;

class GpuMapping {
public:
  explicit GpuMapping(GpuEmitter &emitter);
  virtual ~GpuMapping();
  /// The mapping of the emitter's placement.
  static std::unique_ptr<GpuMapping> create(GpuEmitter &emitter);

  //===--------------------------------------------------------------------===//
  // Rows and columns
  //===--------------------------------------------------------------------===//

  /// Sets the numbers of this invocation in the emitter: in the workgroup, over rows, over columns.
  virtual void placeInvocation();
  /// Called once, after the kernel's arguments are bound.
  virtual void begin(kernel::FuncOp) {}
  /// The first row of this invocation in the tile; null: row 0.
  virtual mlir::Value firstRow();
  /// Vec4s of an invocation in each row of a tile of so many columns.
  virtual int64_t vectorsOf(int64_t tileColumns) const;
  /// Column of vec4 `number` of an invocation, from its first column.
  virtual int64_t columnOf(int64_t number) const;
  /// The first column of this invocation in a tile. Invocations without columns of their own repeat the
  /// last ones.
  virtual mlir::Value firstColumn(int64_t tileColumns);
  /// Condition under which this invocation owns its part of a tile, which it may share with others; null:
  /// always.
  virtual mlir::Value owns(mlir::RankedTensorType tile);
  /// Condition under which this invocation stores its part of a tile to memory; null: always.
  virtual mlir::Value stores(mlir::RankedTensorType tile) { return owns(tile); }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  /// Emits a product, whose fragments it adds to the emitter's.
  virtual mlir::LogicalResult emitProduct(kernel::ContractOp op);
  /// Emits the maxima or sums of a tile's rows.
  virtual mlir::LogicalResult emitReduce(kernel::ReduceOp op);
  /// Emits a loop of the body.
  virtual mlir::LogicalResult emitLoop(mlir::scf::ForOp op);
  /// Emits ops that a loop over columns computes, in mappings that have such loops.
  virtual mlir::LogicalResult emitColumnLoop(llvm::ArrayRef<mlir::Operation *> run);
  /// Whether the mapping emits an op on tiles itself, by `emitElementwise`.
  virtual bool takes(mlir::Operation &) const { return false; }
  virtual mlir::LogicalResult emitElementwise(mlir::Operation &) { return mlir::failure(); }
  /// x * 2^n for weights of keys; null: as any other power.
  virtual mlir::Value scaleWeight(mlir::Value, mlir::Value) { return {}; }
  /// Whether a loop carries a value in a form of the mapping's own; `carry` and `carried` move such a
  /// value into a loop's iteration and out of it.
  virtual bool carriesItself(mlir::Value) const { return false; }
  virtual mlir::LogicalResult carry(mlir::Value) { return mlir::success(); }
  virtual void carried(mlir::Value) {}

  //===--------------------------------------------------------------------===//
  // Products by strategies (GpuProduct.h)
  //===--------------------------------------------------------------------===//

  /// Steps of k in an iteration of the main loop over `known` steps, or an unknown number; `quads`: vec4s
  /// of the right side that a step loads.
  virtual int64_t stepsOfProduct(std::optional<int64_t> known, int64_t quads) const;
  /// The row of a view with `rows` rows that is this invocation's first: row `base` of the tile, null for
  /// 0, which begins at row `first`.
  virtual mlir::Value rowOfProduct(mlir::Value first, mlir::Value base, mlir::Value rows);
  /// Whether invocations whose rows do not exist leave a product's loop out.
  virtual bool skipsMissingRows() const { return true; }
  /// Whether the loads of an iteration precede its products, sixteen bytes at a time.
  virtual bool loadsFirst() const { return false; }
  /// Adds the products of a guarded contraction, which leaves out a zero times a value that is not
  /// finite.
  virtual void sumGuarded(GpuProduct &product, llvm::SmallVector<mlir::Value> &sums);

  //===--------------------------------------------------------------------===//
  // Tiles in workgroup memory
  //===--------------------------------------------------------------------===//

  /// Row of staged tiles at which this invocation's rows begin.
  virtual mlir::Value stagedRow();
  /// Rows of a workgroup's staged tiles.
  virtual int64_t stagedRows() const;
  /// Place of a vec4 in a staged tile of `vec4s` a row.
  virtual mlir::Value stagedPlace(int64_t vec4s, mlir::Value row, mlir::Value column);
  /// Whether invocations read staged tiles of others, so that barriers are needed.
  virtual bool exchangesTiles() const { return true; }

  //===--------------------------------------------------------------------===//
  // Properties of fragments
  //===--------------------------------------------------------------------===//

  /// Whether fragments of wide tiles are in registers; else a loop over columns computes what it needs.
  virtual bool holdsTiles() const { return true; }
  /// Whether loops over the elements of a fragment save registers.
  virtual bool loopsOverElements() const { return true; }
  /// Whether a slice of a product over rows can be emitted apart from the rest.
  virtual bool slicesProducts() const { return false; }
  /// Whether an invocation holds so much of a row that a branch pays which skips a rare correction.
  virtual bool branchesOnRareValues() const { return false; }
  /// Whether a product of a tile and powers of two is added by a fused multiply-add.
  virtual bool fusesExactProducts() const { return true; }
  /// Whether memory that is only read has a variable of its own (GpuKernel::begin).
  virtual bool readsApart() const { return false; }

protected:
  /// Sets the numbers over rows and columns from the one in the workgroup.
  virtual void placeNumber();
  /// Number of invocations that own columns of a tile.
  virtual int64_t activeColumns(int64_t tileColumns) const;
  /// The maxima of a tile's rows, and the sums of the staged tile's, for the rows of this invocation.
  kernel::Fragment maximaOfRows(const kernel::Fragment &tile);
  virtual kernel::Fragment sumsOfStagedRows(mlir::RankedTensorType type);
  /// The sum of a whole row of the staged tile, by one invocation, because the order of a sum is fixed.
  mlir::Value sumOfStagedRow(mlir::Value row, int64_t columns);
  /// Emits a product by the strategies of GpuProduct.h.
  mlir::LogicalResult emitByStrategy(kernel::ContractOp op);

  GpuEmitter &e;
  mlir::OpBuilder &builder;
};

/// Base of mappings whose subgroups multiply matrices.
class SubgroupMapping : public GpuMapping {
public:
  using GpuMapping::GpuMapping;
  void placeInvocation() override;
};

// Constructors of the subclasses, each in the file of its name.
std::unique_ptr<GpuMapping> makeStrided(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeOwnRows(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeSplitKeys(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeMatrix(GpuEmitter &emitter);
std::unique_ptr<GpuMapping> makeMatrixAttention(GpuEmitter &emitter);

} // namespace heddle
