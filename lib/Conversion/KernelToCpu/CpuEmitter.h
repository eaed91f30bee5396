//===- CpuEmitter.h - Tiled bodies on native vectors -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU's side of the walker. One function computes one grid point:
//
//   scalars and views of the body
//   [k-blocks of large contractions, partial sums in row memory]
//   for row fragments of the tile            (rows_inside: this loop stands inside the loop over
//   keys)
//     ops on narrow tiles, in registers
//     for column fragments of a wide tile    (a nest of fused ops; results that later nests need stay in scratch)
//
// The last rows of a tile run through a register tile of few rows, the last
// columns through one of 16: the same chains, so the same bits.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"
#include "heddle/Target/CpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SmallSet.h"

namespace heddle::kernel {

/// Register tile of a body and what must be trimmed, see CpuPlan.cpp.
struct CpuPlan {
  int64_t tileRows = 1;        ///< rows of the body's tiles
  CpuFragment fragment{1, 16}; ///< rows and columns of the register tile
  int64_t fewRows = 0;         ///< rows of the one for the last rows; 0: none
  bool oneRow = false;         ///< a single row has one of its own
  int64_t visitTile = 1 << 20; ///< columns of the narrowest tile that a mask decides on
  llvm::SmallSet<int64_t, 4> clippedColumns; ///< tile widths that may reach past a view's columns
};

/// Last value that an index can have, if the grid and constants decide it.
std::optional<int64_t> largestIndex(mlir::Value index);
mlir::FailureOr<CpuPlan> planBody(mlir::Block &body, const CpuTarget &target,
                                  const ScheduleAttr &schedule);

/// Columns [from, to) of a tile; null is the first and the last.
struct ColumnRange {
  mlir::Value from, to;
};

/// A tile in memory.
struct TileMemory {
  mlir::Value base;
  int64_t rows = 0, columns = 0; ///< stored; columns is the pitch
  bool allRows = false;          ///< of the tile; otherwise one fragment's
  mlir::Type element;            ///< as it lies in memory
  ColumnRange valid;
};

/// Stack memory of a function, used again by tiles that do not live together.
struct CpuScratch {
  /// Gives a tile memory of a slot that nobody uses now, or of a new one at the function's start.
  void place(TileMemory &tile, mlir::OpBuilder &builder, mlir::Location loc, mlir::Block &entry) {
    int64_t elements = tile.rows * tile.columns;
    int64_t bytes = elements * tile.element.getIntOrFloatBitWidth() / 8;
    used.resize(slots.size());
    size_t i = 0;
    while (i < slots.size() && (used[i] || slots[i].bytes != bytes))
      ++i;
    if (i == slots.size()) {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&entry);
      mlir::Value size =
          mlir::arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(elements));
      auto pointer = mlir::LLVM::LLVMPointerType::get(builder.getContext());
      slots.push_back({mlir::LLVM::AllocaOp::create(builder, loc, pointer, tile.element, size,
                                                    /*alignment=*/64),
                       bytes});
      used.push_back(false);
      this->bytes += bytes;
    }
    used[i] = true;
    tile.base = slots[i].base;
  }
  void release(const TileMemory &tile) {
    for (auto [slot, isUsed] : llvm::zip(slots, used))
      if (slot.base == tile.base)
        isUsed = false;
  }

  struct Slot {
    mlir::Value base;
    int64_t bytes = 0;
  };
  llvm::SmallVector<Slot> slots;
  /// By slot, none behind its end; saved and restored around what is free again behind it.
  llvm::SmallVector<bool> used;
  int64_t bytes = 0; ///< of all slots
};

/// Columns of both sides of a product.
inline int64_t featuresOf(ContractOp op) {
  return op.getRhs().getType().getDims().back().extent.value;
}

using Registers = llvm::SmallVector<mlir::Value>;

class CpuProduct;

/// The part of a tile that is emitted: a register tile, in a loop over rows and maybe one over
/// columns. Null is the first row or column.
struct TileContext {
  int64_t rows = 1;
  mlir::Value row;
  mlir::Value fewTurns; ///< whether fewer than four large register tiles are run
  mlir::Value column;   ///< null: in no loop over columns
  int64_t columns = 0;  ///< of a step of that loop
};

class CpuEmitter : public BodyEmitter {
public:
  CpuEmitter(mlir::OpBuilder &builder, FuncOp kernel, const CpuTarget &target);
  ~CpuEmitter() override;

  /// Emits the function in front of the kernel.
  mlir::LogicalResult run();

  // Placement.
  int64_t fragmentRows() const override { return at.rows; }
  int64_t fragmentVectors(int64_t tileColumns) const override;
  mlir::Value rowBase() override { return at.row; }
  mlir::Value columnBase(int64_t tileColumns) override {
    return isWideColumns(tileColumns) ? at.column : mlir::Value();
  }
  bool isWide(mlir::RankedTensorType type) const override {
    return isWideColumns(type.getDimSize(1));
  }
  using BodyEmitter::vectorColumn;
  bool inColumnLoop() const override { return static_cast<bool>(at.column); }

  // Memory (CpuMemory.cpp).
  mlir::Value loadVector(const BoundView &view, Address place) override;
  llvm::SmallVector<mlir::Value> loadScalars(const BoundView &view, Address place,
                                             int64_t count) override;
  void storeVector(mlir::Value value, const BoundView &view, Address place) override;
  void storeScalar(mlir::Value value, const BoundView &view, Address place) override;
  /// Words that begin at an element of a view: a vector of them, or one.
  mlir::Value loadWords(const BoundView &view, Address place, bool vector);
  mlir::Type memoryElement(mlir::Type element) const;
  mlir::Value address(mlir::Value base, Address place, mlir::Type element);
  mlir::Value loadAt(mlir::Value base, Address place, mlir::Type type, mlir::Type element);
  void storeAt(mlir::Value value, mlir::Value base, Address place, mlir::Type element);
  void fetch(mlir::Value start, Address place, mlir::Type element, bool isWritten = false);
  Address placeIn(const TileMemory &memory, int64_t rowOffset, mlir::Value column,
                  int64_t columnOffset);
  void place(TileMemory &memory) {
    scratch.place(memory, builder, loc, function.getBody().front());
  }
  /// Where the fragment's registers go, of a view in rows.
  llvm::SmallVector<Address> storePlaces(StoreOp op, const Fragment &shape);

  // f16 (CpuArithmetic.cpp).
  mlir::Value widened(mlir::Value bits);
  std::pair<mlir::Value, mlir::Value> widenedPair(mlir::Value words);

  // What products need of the loops around them.
  bool isBlocked(mlir::Operation &op);
  mlir::Value columnsLeft(mlir::Operation &op, int64_t columns);
  mlir::scf::ForOp loopBy(mlir::Value from, mlir::Value to, int64_t step);
  /// What `product` computes under a condition, else `otherwise`.
  Registers ifVisited(mlir::Value condition, mlir::ValueRange otherwise,
                      llvm::function_ref<Registers()> product);
  /// Emits `body` where the large register tile runs.
  void ifLargeTileRuns(llvm::function_ref<void()> body);

  FuncOp kernel;
  const CpuTarget &target;
  llvm::SmallVector<mlir::Value> pointers;
  mlir::Value readNext; ///< where the thread reads panels after this grid point; null: behind these
  CpuPlan plan;         ///< of the body that is being emitted
  TileContext at;
  CpuScratch scratch;

private:
  using Callback = llvm::function_ref<mlir::LogicalResult()>;

  mlir::Value scaleByPower(mlir::Value x, mlir::Value n) override;
  mlir::Value narrow(mlir::Value value, mlir::Type element) override;
  mlir::Value narrowedToHalf(mlir::Value value);
  mlir::Type narrowElement(mlir::Type element) const override {
    return builder.getIntegerType(element.getIntOrFloatBitWidth());
  }
  mlir::LogicalResult emitLoad(LoadOp op) override; ///< CpuPrefetch.cpp
  mlir::LogicalResult emitStore(StoreOp op) override;
  mlir::FailureOr<Fragment> materialize(mlir::Value tile) override;
  mlir::LogicalResult emitContract(ContractOp op) override;
  mlir::Value loadElements(const BoundView &view, mlir::Value indices, mlir::Value valid) override;
  mlir::Value loadNeighbours(const BoundView &view, mlir::Value indices,
                             mlir::Value valid) override;
  std::pair<mlir::Value, mlir::Value> rangeOfElements(const BoundView &view, mlir::Value from,
                                                      mlir::Value to) override;
  bool recomputes(mlir::Operation &op) const override;
  mlir::LogicalResult emitLoopNest(llvm::ArrayRef<mlir::Operation *> nest) override;
  mlir::LogicalResult emitFor(mlir::scf::ForOp op) override;

  // The function around the body (ConvertKernelToCpu.cpp).
  void bindArguments();
  mlir::LogicalResult emitParts();
  mlir::LogicalResult emitBody(mlir::Block &body);
  mlir::Value sizeOf(const Size &size);

  // Tile level (CpuTiles.cpp).
  mlir::Value rowsToRun(mlir::Block &body);
  mlir::LogicalResult emitTileBlock(mlir::Block &block, llvm::ArrayRef<TileMemory> carried);
  mlir::LogicalResult emitSegment(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> ops,
                                  mlir::ValueRange yields, llvm::ArrayRef<TileMemory> targets);
  mlir::LogicalResult emitTileFor(mlir::scf::ForOp op);
  bool canTakePlace(mlir::Value value, mlir::scf::IfOp branch);
  mlir::LogicalResult emitTileIf(mlir::scf::IfOp op);
  mlir::Value rowsOfLargeTile(mlir::Value count, int64_t large, int64_t small);
  /// The rows of a tile that products run: those from 0 on of the large register tile, those of
  /// the small one up to `several`, and then a lone one.
  struct RowSplit {
    mlir::Value large, several;
  };
  RowSplit splitRows();
  mlir::LogicalResult rowLoop(bool hasProducts, Callback body);
  mlir::LogicalResult rowsOf(int64_t count, mlir::Value from, mlir::Value to, mlir::Value fewTurns,
                             Callback body);
  mlir::LogicalResult keep(mlir::Value value, const TileMemory &memory);

  // Loop nests (CpuLoopNests.cpp).
  struct LoopNest {
    llvm::ArrayRef<mlir::Operation *> ops;
    int64_t columns = 0;
    ColumnRange range; ///< columns to compute
    llvm::SmallVector<ReduceOp> reductions;
    llvm::SmallVector<mlir::Value> kept; ///< results that outlive the nest
  };
  ColumnRange nestRange(const LoopNest &nest);
  void collectRead(mlir::Operation &op, llvm::SmallVectorImpl<mlir::Value> &tiles);
  void keepResults(LoopNest &nest);
  bool outlives(mlir::Value value, llvm::ArrayRef<mlir::Operation *> nest) const;
  mlir::LogicalResult emitColumnStep(LoopNest &nest, llvm::MutableArrayRef<mlir::Value> sums);
  /// Loops over the columns of a tile, carrying `sums`; `alone`: without a product.
  mlir::LogicalResult overColumns(int64_t columns, ColumnRange range, bool alone, Registers &sums,
                                  llvm::function_ref<mlir::LogicalResult(Registers &sums)> step);
  mlir::LogicalResult overColumns(int64_t columns, ColumnRange range, Callback step);
  int64_t stepColumns(int64_t columns, bool alone) const;
  bool isWideColumns(int64_t columns) const {
    return columns > 1 &&
           (columns > plan.fragment.columns || plan.clippedColumns.contains(columns));
  }

  // Tiles in memory and stores (CpuMemory.cpp).
  TileMemory allocate(mlir::Type tile, bool allRows);
  Fragment readFragment(const TileMemory &memory, mlir::Type tile);
  void writeFragment(const TileMemory &memory, const Fragment &fragment, mlir::Type tile);
  const TileMemory *memoryOf(mlir::Value tile) const;
  mlir::LogicalResult storeToPanels(StoreOp op, const Fragment &tile, const BoundView &to,
                                    mlir::Value offset, mlir::Value first, mlir::Value column);
  void storePanelColumns(const Fragment &tile, const BoundView &to, Address start);
  void storePanelElements(const Fragment &tile, const BoundView &to, mlir::Value offset,
                          mlir::Value first, mlir::Value column, mlir::Value left);
  mlir::Value rowsLeft(StoreOp op);
  struct Origin {
    mlir::Value offset, row, column;
  };
  Origin storeOrigin(StoreOp op, const Fragment &shape);
  void guardRows(mlir::Value left, int64_t count,
                 llvm::function_ref<void(std::optional<int64_t>)> store);

  // Contractions (CpuContract.cpp).
  CpuProduct &product(ContractOp op); ///< CpuProduct.cpp
  mlir::FailureOr<TileMemory> leftTile(ContractOp op);
  int64_t lastBlock(ContractOp op);
  mlir::LogicalResult emitFirstBlocks(ContractOp op);
  mlir::LogicalResult emitFeatures(ContractOp op, mlir::Value from, mlir::Value to, bool first);

  // Rows that are walked over (CpuPrefetch.cpp).
  bool fetchesNextRows(LoadOp op);
  void fetchNextRows(LoadOp op);

  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> scalarArguments;
  mlir::Value rowCount; ///< rows of the body's tile that are run
  llvm::DenseMap<mlir::Value, TileMemory> fragmentMemory, rowMemory;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<CpuProduct>> products;
};

} // namespace heddle::kernel
