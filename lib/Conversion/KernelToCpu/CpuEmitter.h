//===- CpuEmitter.h - Tiled bodies on native vectors ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BodyEmitter for CPUs: one function computes one grid point.
//
//   scalars and views of the body
//   [sums by a matrix unit, or k-blocks of large contractions; sums of all rows in scratch]
//   for row fragments of the tile   (cpu_strips: inside the loop over keys)
//     ops on narrow tiles, in registers
//     for column fragments of a wide tile   (a nest of fused ops)
//
// Later nests read results of earlier nests from scratch. A smaller register tile handles the last
// rows of a tile, and fragments of 16 columns handle the last columns. Each element keeps its chain
// of products, so its bits do not depend on the split.
#pragma once

#include "TileLoops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle::kernel {

/// A tile in memory.
struct TileMemory {
  mlir::Value base;
  int64_t rows = 0, columns = 0; ///< stored extents; columns is also the pitch
  bool allRows = false;          ///< holds all rows of the tile instead of one fragment
  mlir::Type element;            ///< element type in memory
  ColumnRange valid;
};

/// Tiles in the stack memory of a function. Tiles with disjoint lifetimes share a slot.
class CpuScratch {
public:
  /// Assigns a free slot of the tile's size, or a new slot that is allocated at the function's
  /// entry.
  void place(TileMemory &tile);
  void release(const TileMemory &tile);
  /// Returns the memory of a tile, or null if it is in registers only.
  const TileMemory *find(mlir::Value tile) const;

  mlir::Block *entry = nullptr; ///< entry block of the function
  /// Whether each slot is in use; slots past the end are free. Callers save and restore it around
  /// code that frees all its slots.
  llvm::SmallVector<bool> used;
  int64_t bytes = 0; ///< total size of the slots
  /// Tiles of the body that are in memory, with the rows of one fragment or all rows.
  llvm::DenseMap<mlir::Value, TileMemory> fragments, rows;

private:
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> slots; ///< pointer and size in bytes
};

/// Extent of B's last dimension: the features that are summed, or the result's columns in a product
/// over rows.
inline int64_t featuresOf(ProductOpInterface op) {
  return op.getRhs().getType().getDims().back().extent.value;
}

class CpuProduct;

/// Emits one kernel. The comments below name the file that implements each group of methods.
class CpuEmitter : public BodyEmitter {
public:
  CpuEmitter(mlir::OpBuilder &builder, FuncOp kernel, const CpuTarget &target);
  ~CpuEmitter() override;

  /// Emits the function before the kernel.
  mlir::LogicalResult run();

  // Placement.
  int64_t fragmentRows() const override { return loops.at.rows; }
  int64_t fragmentVectors(int64_t tileColumns) const override {
    return (loops.isWide(tileColumns) ? loops.at.columns : tileColumns) / width;
  }
  mlir::Value rowBase() override { return loops.at.row; }
  mlir::Value columnBase(int64_t tileColumns) override {
    return loops.isWide(tileColumns) ? loops.at.column : mlir::Value();
  }
  bool isWide(mlir::RankedTensorType type) const override {
    return loops.isWide(type.getDimSize(1));
  }
  using BodyEmitter::vectorColumn;
  bool inColumnLoop() const override { return static_cast<bool>(loops.at.column); }

  // Memory (CpuMemory.cpp).
  mlir::Value loadVector(const BoundView &view, Address place) override;
  llvm::SmallVector<mlir::Value> loadScalars(const BoundView &view, Address place,
                                             int64_t count) override;
  void storeVector(mlir::Value value, const BoundView &view, Address place) override;
  void storeScalar(mlir::Value value, const BoundView &view, Address place) override;
  /// Loads one word of 4 bytes, or a vector of words, from `place` in a view.
  mlir::Value loadWord(const BoundView &view, Address place) override;
  mlir::Value loadPanelWord(const BoundView &view, Address place) override;
  mlir::Value loadWords(const BoundView &view, Address place);
  mlir::Type memoryElement(mlir::Type element) const;
  /// Returns a pointer to `place`, which counts elements of type `element`.
  mlir::Value address(mlir::Value base, Address place, mlir::Type element);
  mlir::Value loadAt(mlir::Value base, Address place, mlir::Type type, mlir::Type element);
  void storeAt(mlir::Value value, mlir::Value base, Address place, mlir::Type element);
  /// Prefetches an element's cache line into all cache levels.
  void fetch(mlir::Value start, Address place, mlir::Type element, bool isWritten = false);
  /// Returns the place of an element of a tile in memory. If the tile has all rows, the position of
  /// the row loop is added.
  Address placeIn(const TileMemory &memory, int64_t rowOffset, mlir::Value column,
                  int64_t columnOffset);
  TileMemory allocate(mlir::Type tile, bool allRows);
  Fragment readFragment(const TileMemory &memory, mlir::Type tile);
  void writeFragment(const TileMemory &memory, const Fragment &fragment, mlir::Type tile);

  // Stores (CpuStore.cpp).
  /// Start of a store's matrix, and the fragment's first row and column in it.
  struct Origin {
    mlir::Value offset, row, column;
  };
  Origin storeOrigin(StoreOpInterface op, const Fragment &shape);
  /// Addresses of a fragment's registers in a row-major view.
  llvm::SmallVector<Address> storePlaces(StoreOpInterface op, const Fragment &shape);

  // f16 and bytes (CpuArithmetic.cpp).
  mlir::Value widened(mlir::Value bits);
  std::pair<mlir::Value, mlir::Value> widenedPair(mlir::Value words);
  /// Widens a register of consecutive elements to f32; codes are multiplied by `scale`.
  /// `widenedWords` widens the elements of each word, from first to last.
  mlir::Value widened(mlir::Value elements, mlir::Type type, mlir::Value scale);
  Registers widenedWords(mlir::Value words, mlir::Type type, mlir::Value scale);
  /// Rounds two f32 registers to bf16 and packs them into words; `low` fills the low halves.
  mlir::Value bf16Pairs(mlir::Value low, mlir::Value high);
  mlir::Value dot4(mlir::Value a, mlir::Value b, mlir::Value c) override;
  /// Bytes of words widened to 16 bits: even bytes and odd bytes.
  struct Shorts {
    mlir::Value even, odd;
  };
  Shorts shortsOf(mlir::Value words, bool isSigned);
  /// Adds the products of pairs of 16-bit numbers to c, by vpmaddwd; x86 only.
  mlir::Value multiplyAddShorts(mlir::Value a, mlir::Value b, mlir::Value c);
  /// Whether one instruction widens f16 including denormals; every AArch64 has it (fcvtl).
  bool widensHalves() const { return target.has("f16c") || !isX86(); }
  bool isX86() const { return llvm::StringRef(target.triple).starts_with("x86_64"); }
  /// Selects the intrinsic for vectors of `width` words.
  llvm::StringRef formOf(llvm::StringRef of4, llvm::StringRef of8, llvm::StringRef of16) const {
    return width == 4 ? of4 : width == 8 ? of8 : of16;
  }
  /// Calls an x86 intrinsic.
  mlir::Value instruction(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands);

  /// Whether the op is a contraction that is split into k-blocks.
  bool isBlocked(mlir::Operation &op);
  /// `takesOneRowWhole`: whether a single row computes a blocked product in one pass. `isWholeRow`:
  /// the same, and the body is being emitted for a single row.
  static bool takesOneRowWhole(ProductOpInterface op);
  bool isWholeRow(ProductOpInterface op) const { return loops.isOneRow() && takesOneRowWhole(op); }
  /// Emits a branch that yields registers: `yes` if the condition is true, else `no`.
  Registers either(mlir::Value condition, llvm::function_ref<Registers()> yes,
                   llvm::function_ref<Registers()> no);
  /// Emits `product` under a condition; the result is `otherwise` if the condition is false.
  Registers ifVisited(mlir::Value condition, mlir::ValueRange otherwise,
                      llvm::function_ref<Registers()> product);

  // Used by loop nests (CpuLoopNests.cpp).
  using BodyEmitter::emitOp, BodyEmitter::nestColumns, BodyEmitter::fragments;
  bool recomputes(mlir::Operation &op) const override;

  FuncOp kernel;
  const PlanAttr plan;
  const CpuTarget &target;
  llvm::SmallVector<mlir::Value> pointers;
  mlir::Value readNext; ///< panels that the thread reads after this grid point; null: the adjacent
                        ///< ones
  TileLoops loops{*this};
  CpuScratch scratch;

private:
  mlir::Value scaleByPower(mlir::Value x, mlir::Value n) override;
  mlir::Value narrow(mlir::Value value, mlir::Type element) override;
  mlir::Value narrowedToHalf(mlir::Value value);
  mlir::Type narrowElement(mlir::Type element) const override {
    return builder.getIntegerType(element.getIntOrFloatBitWidth());
  }
  mlir::LogicalResult emitLoad(LoadOp op) override;            ///< CpuPrefetch.cpp
  mlir::LogicalResult emitStore(StoreOpInterface op) override; ///< CpuStore.cpp
  mlir::FailureOr<Fragment> materialize(mlir::Value tile) override;
  mlir::LogicalResult emitContract(ProductOpInterface op) override;
  mlir::Value loadElements(const BoundView &view, mlir::Value indices, mlir::Value valid) override;
  mlir::Value loadNeighbors(const BoundView &view, mlir::Value indices, mlir::Value valid) override;
  std::pair<mlir::Value, mlir::Value> rangeOfElements(const BoundView &view, mlir::Value from,
                                                      mlir::Value to) override;
  mlir::LogicalResult emitLoopNest(llvm::ArrayRef<mlir::Operation *> nest) override;
  mlir::LogicalResult emitFor(mlir::scf::ForOp op) override;

  // The function around the body (ConvertKernelToCpu.cpp).
  void bindArguments();
  mlir::LogicalResult emitParts();
  mlir::LogicalResult emitBody(mlir::Block &body);
  mlir::Value sizeOf(const Size &size);

  // Tile level (CpuTiles.cpp).
  mlir::LogicalResult emitTileBlock(mlir::Block &block, llvm::ArrayRef<TileMemory> carried);
  mlir::LogicalResult emitSegment(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> ops,
                                  mlir::ValueRange yields, llvm::ArrayRef<TileMemory> targets);
  mlir::LogicalResult emitTileFor(mlir::scf::ForOp op);
  bool canTakePlace(mlir::Value value, mlir::scf::IfOp branch);
  mlir::LogicalResult emitTileIf(mlir::scf::IfOp op);
  mlir::LogicalResult keep(mlir::Value value, const TileMemory &memory);

  // Contractions (CpuContract.cpp).
  CpuProduct &product(ProductOpInterface op); ///< CpuProduct.cpp
  mlir::FailureOr<TileMemory> leftTile(ProductOpInterface op);
  int64_t lastBlock(ProductOpInterface op);
  int64_t firstFeature(ProductOpInterface op);
  mlir::LogicalResult emitFirstBlocks(ProductOpInterface op);
  mlir::LogicalResult emitFeatures(ProductOpInterface op, mlir::Value from, mlir::Value to,
                                   bool first);

  // Prefetch of rows (CpuPrefetch.cpp).
  bool fetchesNextRows(LoadOp op);
  void fetchNextRows(LoadOp op);

  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> scalarArguments;
  /// Strategies of the contractions, which hold packed B and partial sums.
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<CpuProduct>> products;

  /// Widened bytes of words, emitted in the same block; [0] unsigned, [1] signed.
  llvm::DenseMap<mlir::Value, Shorts> knownShorts[2];
};

} // namespace heddle::kernel
