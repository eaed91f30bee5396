//===- GpuEmitter.h - A body for one invocation ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file declares GpuEmitter, the BodyEmitter for Vulkan. A workgroup of ty x tx invocations
// computes one tile. A mapping (Mappings/GpuMapping.h) assigns rows and columns to invocations and
// emits the ops that depend on the assignment. All other ops are the same for every mapping.
//
// Invocations exchange the tiles that a contraction reads, and the partial results of row
// reductions, through workgroup memory.
#pragma once

#include "GpuElements.h"
#include "GpuKernel.h"
#include "GpuMemory.h"
#include "GpuOps.h"
#include "GpuRuns.h"
#include "GpuScores.h"
#include "GpuWorkgroup.h"
#include "Mappings/GpuMapping.h"

namespace heddle {

/// Masks of an f32's magnitude and exponent. The second is also the magnitude of infinity; the
/// magnitude of a NaN is larger.
inline constexpr int32_t kMagnitudeBits = 0x7fffffff, kExponentBits = 0x7f800000;

/// Placement of a workgroup's invocations on a tile.
struct GpuPlacement {
  kernel::Mapping mapping = kernel::Mapping::Blocked;
  int64_t ty = 1, tx = 1; ///< invocations over rows and columns
  int64_t rows = 1;       ///< rows of an invocation
  /// Steps of k that products over features stage at a time (GpuStaging.h); 0: nothing is staged.
  int64_t block = 0;
  int64_t ahead = 1;   ///< blocks in flight while one is multiplied (GpuBlocks.h)
  int64_t buffers = 1; ///< blocks in workgroup memory
  /// Words of a block's rows that workgroup memory holds, if there are several rows; 0: all of them.
  int64_t rowBlock = 0;
  /// Shape of the matrices that matrix units multiply (GpuMatrices.h); null: no matrix units.
  const MatrixShape *matrix = nullptr;
  int64_t mostColumns = 0;   ///< columns of the kernel's widest product on matrix units
  int64_t stagedColumns = 0; ///< most columns that products stage together
  int64_t subgroup = 0;      ///< invocations of a subgroup
  /// Groups of ty x tx invocations. Each takes some chunks of keys of the one row (SplitKeys.cpp).
  int64_t groups = 1;

  int64_t invocations() const { return groups * ty * tx; }
};

/// Returns the placement that follows from the kernel's plan and tiles.
mlir::FailureOr<GpuPlacement> placeInvocations(kernel::FuncOp func, const GpuTarget &target);

/// Position of the emitted code in a tile: an invocation's fragment, or one element of it.
struct GpuContext {
  int64_t rows = 1;
  mlir::Value firstRow;
  mlir::Value runColumn; ///< first column of an iteration of a column loop; null: outside
  /// Whether code is in a loop over elements. Fragments are then scalars, and tiles are emitted at
  /// their uses.
  bool byElement = false;
  mlir::Value elementColumn;
  /// In slices of a run (GpuRuns.h): number of a row's registers (0: all), and the first of them.
  int64_t vectors = 0, firstVector = 0;
};

class GpuEmitter;
/// Emits a product over common rows (Products/CommonRows.cpp).
mlir::LogicalResult emitCommonRows(GpuEmitter &e, kernel::ContractCommonOp op);

/// Emits the code of a kernel for one invocation.
class GpuEmitter : public GpuOps {
public:
  GpuEmitter(mlir::OpBuilder &builder, kernel::FuncOp func, const GpuTarget &target,
             GpuPlacement placement);
  ~GpuEmitter() override;
  /// Whether the device's conversion rounds what is stored as f16.
  bool convertsHalves() const { return kernel::FuncOp(func).getRounds(); }
  /// Emits the kernel's module before `func`.
  mlir::LogicalResult run();

  // Placement.
  int64_t fragmentRows() const override { return at.rows; }
  int64_t fragmentVectors(int64_t tileColumns) const override;
  mlir::Value rowBase() override { return at.firstRow; }
  bool beginsInStrips() const override { return true; }
  mlir::Value columnBase(int64_t tileColumns) override { return mapping->firstColumn(tileColumns); }
  int64_t vectorColumn(int64_t j, int64_t) const override {
    return mapping->columnOf(at.firstVector + j);
  }

  // Memory.
  mlir::Value loadVector(const kernel::BoundView &view, kernel::Address place) override;
  llvm::SmallVector<mlir::Value> loadScalars(const kernel::BoundView &view, kernel::Address place,
                                             int64_t count) override;
  mlir::Value loadWord(const kernel::BoundView &view, kernel::Address place) override {
    return asWords(memory.loadWord(view, place));
  }
  mlir::Value loadPanelWord(const kernel::BoundView &view, kernel::Address place) override {
    const int64_t inWord = perWord(view);
    return loadWord(view,
                    moved({view.offset, place.constant * inWord}, mul(place.dynamic, inWord)));
  }
  void storeVector(mlir::Value value, const kernel::BoundView &view,
                   kernel::Address place) override;
  void storeScalar(mlir::Value value, const kernel::BoundView &view,
                   kernel::Address place) override;

  // Interface for products, reductions, stores and loops over elements.
  mlir::LogicalResult emitOp(mlir::Operation &op) override;
  using BodyEmitter::emitOps;
  mlir::Value larger(mlir::Value a, mlir::Value b) override;
  mlir::Value scaleByPower(mlir::Value x, mlir::Value n) override;
  /// Emits `body` under a condition, else `otherwise`. A null condition is true.
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body,
              llvm::function_ref<void()> otherwise = {});
  /// Replaces registers under a condition that is rarely true.
  void replaceIf(mlir::Value condition, llvm::MutableArrayRef<mlir::Value> registers,
                 llvm::function_ref<void(llvm::MutableArrayRef<mlir::Value>)> replace);

  const GpuTarget &target;
  const GpuPlacement placement;
  GpuKernel entry;
  mlir::Value tx, ty; ///< position of this invocation over columns and rows
  mlir::Value number; ///< number of this invocation in the workgroup
  /// With matrix units: number of this invocation's subgroup, and of the invocation in it.
  mlir::Value subgroup, lane;
  GpuContext at;
  GpuMemory memory{*this};
  GpuWords words{*this};
  GpuWorkgroup workgroup{*this};
  GpuElements elements{*this};
  GpuRuns runs{*this};
  GpuScores scores{*this};
  const std::unique_ptr<GpuMapping> mapping;
  using BodyEmitter::dependsOn;
  using BodyEmitter::fragments;
  using BodyEmitter::scalars;
  /// Emits a loop op by op.
  mlir::LogicalResult emitLoop(mlir::scf::ForOp op) { return BodyEmitter::emitFor(op); }
  /// Reduces this invocation's elements of a tile's rows, without the other invocations.
  mlir::LogicalResult reduceFragment(kernel::ReduceOp op) { return BodyEmitter::emitReduce(op); }
  bool recomputes(mlir::Operation &op) const override;
  mlir::LogicalResult emitChoice(kernel::MaskOp op, const kernel::Fragment &tile, mlir::Value other,
                                 llvm::SmallVectorImpl<mlir::Value> &chosen) override;

private:
  mlir::LogicalResult emitContract(kernel::ProductOpInterface op) override {
    auto common = mlir::dyn_cast<kernel::ContractCommonOp>(*op);
    return common ? emitCommonRows(*this, common) : mapping->emitProduct(op);
  }
  mlir::LogicalResult emitReduce(kernel::ReduceOp op) override { return mapping->emitReduce(op); }
  mlir::LogicalResult emitStore(kernel::StoreOpInterface op) override; ///< GpuStore.cpp
  std::pair<mlir::Value, mlir::Value> gatherableRows(const kernel::BoundView &table) override;
  mlir::LogicalResult emitLoopNest(llvm::ArrayRef<mlir::Operation *> run) override {
    return mapping->emitColumnLoop(run);
  }
  mlir::LogicalResult emitPredicate(kernel::MaskOp op,
                                    llvm::SmallVectorImpl<mlir::Value> &truth) override;
  mlir::LogicalResult emitLookup(kernel::LookupOp op) override;
  mlir::LogicalResult emitLoad(kernel::LoadOp op) override;
  mlir::LogicalResult emitFor(mlir::scf::ForOp op) override { return mapping->emitLoop(op); }
  bool carriesItself(mlir::Value value) const override { return mapping->carriesItself(value); }
  mlir::LogicalResult carry(mlir::Value value) override { return mapping->carry(value); }
  void carried(mlir::Value value) override { mapping->carried(value); }
  bool isWide(mlir::RankedTensorType type) const override;
  bool inColumnLoop() const override { return static_cast<bool>(at.runColumn); }
  mlir::FailureOr<size_t> emitTogether(llvm::ArrayRef<mlir::Operation *> ops) override {
    return runs.emit(ops);
  }
  mlir::FailureOr<kernel::Fragment> materialize(mlir::Value tile) override;
  mlir::Value narrow(mlir::Value value, mlir::Type element) override;
  mlir::Type narrowElement(mlir::Type element) const override {
    return element.isInteger() ? mlir::Type(builder.getI32Type()) : builder.getF32Type();
  }

  void bindArguments();
  mlir::LogicalResult emitParts();
  mlir::LogicalResult emitPartsFrom(llvm::ArrayRef<kernel::PartOp> parts, mlir::Value point);

  kernel::FuncOp func;
};

} // namespace heddle
