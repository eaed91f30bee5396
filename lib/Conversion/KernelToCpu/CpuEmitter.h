//===- CpuEmitter.h - Tiled bodies on native vectors -----------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CPU's side of the walker. One function computes one grid point:
//
//   scalars and views of the body
//   [k-blocks of large contractions, partial sums in row memory]
//   for row fragments of the tile            (rows_inside: this loop stands inside the loop over
//   keys)
//     ops on narrow tiles, in registers
//     for column fragments of a wide tile    (a run; results that later runs need stay in scratch)
//
// The last rows of a tile run through a register tile of few rows, the last
// columns through one of 16: the same chains, so the same bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"
#include "heddle/Target/CpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
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

class CpuEmitter : public BodyEmitter {
public:
  CpuEmitter(mlir::OpBuilder &builder, FuncOp kernel, const CpuTarget &target)
      : BodyEmitter(builder, builder.getI64Type(), target.lanes), kernel(kernel), target(target) {}

  /// Emits the function in front of the kernel.
  mlir::LogicalResult run();

protected:
  // Placement.
  int64_t fragmentRows() const override { return rows; }
  int64_t fragmentVectors(int64_t tileColumns) const override;
  mlir::Value rowBase() override { return row; }
  mlir::Value columnBase(int64_t tileColumns) override {
    return isWideColumns(tileColumns) ? runColumn : mlir::Value();
  }
  bool isWide(mlir::RankedTensorType type) const override {
    return isWideColumns(type.getDimSize(1));
  }

  // Memory (CpuMemory.cpp).
  mlir::Value loadVector(const BoundView &view, Place place) override;
  llvm::SmallVector<mlir::Value> loadScalars(const BoundView &view, Place place,
                                             int64_t count) override;
  void storeVector(mlir::Value value, const BoundView &view, Place place) override;
  void storeScalar(mlir::Value value, const BoundView &view, Place place) override;
  mlir::LogicalResult emitLoad(LoadOp op) override; ///< CpuPrefetch.cpp
  mlir::LogicalResult emitStore(StoreOp op) override;
  mlir::FailureOr<Fragment> materialize(mlir::Value tile) override;

  // Contractions (CpuContract.cpp).
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c) override;
  mlir::Value multiplyAddPair(mlir::Value a, mlir::Value b, mlir::Value c) override;
  mlir::Value scaleByPower(mlir::Value x, mlir::Value n) override;
  mlir::Value multiplyAddQuad(mlir::Value a, mlir::Value b, mlir::Value c) override;
  mlir::Value narrow(mlir::Value value, mlir::Type element) override;
  mlir::Type narrowElement(mlir::Type element) const override {
    return builder.getIntegerType(element.getIntOrFloatBitWidth());
  }
  mlir::LogicalResult emitContract(ContractOp op) override;
  mlir::Value loadElements(const BoundView &view, mlir::Value indices, mlir::Value valid) override;
  mlir::Value loadNeighbours(const BoundView &view, mlir::Value indices,
                             mlir::Value valid) override;
  std::pair<mlir::Value, mlir::Value> rangeOfElements(const BoundView &view, mlir::Value from,
                                                      mlir::Value to) override;

  // Runs (CpuRuns.cpp) and loops (CpuTiles.cpp).
  bool recomputes(mlir::Operation &op) const override;
  mlir::LogicalResult emitRun(llvm::ArrayRef<mlir::Operation *> run) override;
  mlir::LogicalResult emitFor(mlir::scf::ForOp op) override;

private:
  using Callback = llvm::function_ref<mlir::LogicalResult()>;

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
  mlir::LogicalResult rowsOf(int64_t count, mlir::Value from, mlir::Value to, Callback body);
  mlir::LogicalResult emitFirstBlocks(ContractOp op);
  mlir::LogicalResult emitFeatures(ContractOp op, mlir::Value from, mlir::Value to, bool first);
  bool isBlocked(mlir::Operation &op);
  int64_t lastBlock(ContractOp op);
  mlir::LogicalResult keep(mlir::Value value, const TileMemory &memory);

  // Runs (CpuRuns.cpp).
  struct Run {
    llvm::ArrayRef<mlir::Operation *> ops;
    int64_t columns = 0;
    ColumnRange range; ///< columns to compute
    llvm::SmallVector<ReduceOp> reductions;
    llvm::SmallVector<mlir::Value> kept; ///< results that outlive the run
  };
  ColumnRange runRange(const Run &run);
  mlir::Value columnsLeft(mlir::Operation &op, int64_t columns);
  void collectRead(mlir::Operation &op, llvm::SmallVectorImpl<mlir::Value> &tiles);
  void keepResults(Run &run);
  bool outlives(mlir::Value value, llvm::ArrayRef<mlir::Operation *> run) const;
  mlir::LogicalResult emitColumns(Run &run, mlir::Value from, mlir::Value to, int64_t step,
                                  llvm::SmallVector<mlir::Value> &sums);
  mlir::LogicalResult emitColumnStep(Run &run, llvm::MutableArrayRef<mlir::Value> sums);
  mlir::LogicalResult
  overColumns(int64_t columns, ColumnRange range,
              llvm::function_ref<mlir::LogicalResult(mlir::Value, mlir::Value, int64_t)> loop);
  int64_t stepColumns(int64_t columns) const;
  bool isWideColumns(int64_t columns) const {
    return columns > 1 &&
           (columns > plan.fragment.columns || plan.clippedColumns.contains(columns));
  }

  // Scratch and addresses (CpuMemory.cpp).
  TileMemory allocate(mlir::Type tile, bool allRows);
  mlir::Value allocateElements(int64_t elements, mlir::Type element);
  void release(const TileMemory &memory);
  mlir::Value address(mlir::Value base, Place place, mlir::Type element);
  mlir::Value loadAt(mlir::Value base, Place place, mlir::Type type, mlir::Type element);
  void storeAt(mlir::Value value, mlir::Value base, Place place, mlir::Type element);
  mlir::Type memoryElement(mlir::Type element) const;
  /// Words that begin at an element of a view: a vector of them, or one.
  mlir::Value loadWords(const BoundView &view, Place place, bool vector);
  Place placeIn(const TileMemory &memory, int64_t rowOffset, mlir::Value column,
                int64_t columnOffset);
  Fragment readFragment(const TileMemory &memory, mlir::Type tile);
  void writeFragment(const TileMemory &memory, const Fragment &fragment, mlir::Type tile);
  const TileMemory *memoryOf(mlir::Value tile) const;
  mlir::LogicalResult storeToPanels(StoreOp op, const Fragment &tile, const BoundView &to,
                                    mlir::Value offset, mlir::Value first, mlir::Value column);
  void storePanelColumns(const Fragment &tile, const BoundView &to, Place start);
  void storePanelElements(const Fragment &tile, const BoundView &to, mlir::Value offset,
                          mlir::Value first, mlir::Value column, mlir::Value left);
  mlir::Value rowsLeft(StoreOp op);
  struct Origin {
    mlir::Value offset, row, column;
  };
  Origin storeOrigin(StoreOp op, const Fragment &shape);
  llvm::SmallVector<Place> storePlaces(StoreOp op, const Fragment &shape);
  void guardRows(mlir::Value left, int64_t count,
                 llvm::function_ref<void(std::optional<int64_t>)> store);

  // f16 (CpuHalf.cpp).
  mlir::Value widened(mlir::Value bits);
  mlir::Value narrowedToHalf(mlir::Value value);
  std::pair<mlir::Value, mlir::Value> widenedPair(mlir::Value words);
  bool isHalf(ContractOp op) { return view(op.getRhs()).type.getElementType().isF16(); }
  bool isNibbles(ContractOp op) { return view(op.getRhs()).type.getElementType().isInteger(4); }
  /// Right sides that are stored narrower than they are multiplied.
  bool isWidened(ContractOp op) { return (isHalf(op) && !sumsHalves(op)) || isNibbles(op); }
  llvm::SmallVector<mlir::Value> contractHalves(ContractOp op, const Fragment &shape,
                                                llvm::SmallVector<mlir::Value> sums,
                                                mlir::Value from, mlir::Value to);

  // Two f16 (CpuHalfSums.cpp).
  /// Whether the op's products are summed in f16.
  bool sumsHalves(ContractOp op) {
    auto left = mlir::dyn_cast<ViewType>(op.getLhs().getType());
    return target.halfSums && left && left.getElementType().isF16();
  }
  mlir::Value multiplyAddHalves(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value addHalves(mlir::Value sum, mlir::Value halves);
  llvm::SmallVector<mlir::Value> sumInHalves(const Fragment &shape,
                                             llvm::SmallVector<mlir::Value> sums, mlir::Value from,
                                             mlir::Value count, const Operands &operands);
  TileMemory widenLeftRows(ContractOp op, const Fragment &shape, mlir::Value from, mlir::Value to);

  // i4 (CpuNibbles.cpp).
  int64_t panelWords(ContractOp op);
  Place nibblePanel(ContractOp op, mlir::Value column);
  mlir::Value loadNibbles(ContractOp op, Place panel, mlir::Value feature, int64_t further);
  mlir::Value loadScales(ContractOp op, Place panel, mlir::Value feature);
  llvm::SmallVector<mlir::Value> contractNibbles(ContractOp op, const Fragment &shape,
                                                 llvm::SmallVector<mlir::Value> sums,
                                                 mlir::Value from, mlir::Value to);
  void decodePanels(ContractOp op, const TileMemory &side, ColumnRange columns, mlir::Value from,
                    mlir::Value to);

  // Right sides that are prepared once for all large row fragments (CpuSides.cpp).
  struct PreparedSide {
    TileMemory memory;
    mlir::Value from; ///< first feature that is there; null: the first of all
  };
  int64_t preparedFeatures(ContractOp op);
  std::optional<TileMemory> formOfSide(ContractOp op);
  /// The features [from, to) of a right side in panels; null: all of them.
  void prepareSide(ContractOp op, mlir::Value from = {}, mlir::Value to = {});
  void releaseSide(mlir::Operation *op);
  /// Emits `body` where the large register tile runs.
  void ifLargeTileRuns(llvm::function_ref<void()> body);
  /// The visited tiles of [from, to), one after the other, or all of it at once.
  void forVisited(ContractOp op, mlir::Value from, mlir::Value to,
                  llvm::function_ref<void(mlir::Value begin, mlir::Value end)> part);
  mlir::scf::ForOp loopBy(mlir::Value from, mlir::Value to, int64_t step);
  void widenPanels(ContractOp op, const TileMemory &side, ColumnRange columns, mlir::Value from,
                   mlir::Value to);
  void widenRows(ContractOp op, const TileMemory &side, mlir::Value row, mlir::Value end);
  /// What the rows of the current register tile read instead of the view; null: they read the view.
  const PreparedSide *preparedSide(ContractOp op);
  mlir::Value loadPrepared(const PreparedSide &side, Place place);
  llvm::SmallVector<Place> preparedPlaces(ContractOp op, const Fragment &shape, int64_t &step);

  // Pairs of rows of bf16 (CpuPairs.cpp).
  mlir::Value rowAsWords(const BoundView &view, Place place);
  mlir::Value pairOfRows(const BoundView &view, Place place, int64_t step);
  void pairRows(ContractOp op, const TileMemory &pairs, mlir::Value begin, mlir::Value end);
  llvm::SmallVector<mlir::Value> contractPairs(ContractOp op, const TileMemory &left,
                                               const Fragment &shape);

  // Contractions (CpuContract.cpp).
  mlir::FailureOr<TileMemory> leftTile(ContractOp op);
  /// Where the rows of the left view begin.
  llvm::SmallVector<Place> leftRows(ContractOp op, const Fragment &shape);
  llvm::SmallVector<mlir::Value> contractViews(ContractOp op, const Fragment &shape,
                                               llvm::SmallVector<mlir::Value> sums,
                                               mlir::Value from, mlir::Value to);
  /// The vector `column` of the right side at k + `unrolled`.
  using RightSide =
      llvm::function_ref<mlir::Value(mlir::Value k, int64_t column, int64_t unrolled)>;
  llvm::SmallVector<mlir::Value> overFeatures(ContractOp op, const Fragment &shape,
                                              llvm::SmallVector<mlir::Value> sums, mlir::Value from,
                                              mlir::Value to, RightSide right, int64_t unroll);
  llvm::SmallVector<mlir::Value> contractTile(ContractOp op, const TileMemory &left,
                                              const Fragment &shape);
  /// Adds the products of rows [begin, end) to `sums`.
  using RowPart = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value begin, mlir::Value end, llvm::SmallVector<mlir::Value> sums, int64_t unroll)>;
  llvm::SmallVector<mlir::Value> overRows(ContractOp op, const Fragment &shape, RowPart part);
  using ChainPart = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value begin, mlir::Value end, llvm::SmallVector<mlir::Value> sums)>;
  llvm::SmallVector<mlir::Value>
  guarded(ContractOp op, llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t unroll)> chain);
  llvm::SmallVector<mlir::Value> overVisited(ContractOp op, mlir::Value from, mlir::Value to,
                                             mlir::ValueRange start, ChainPart part);
  llvm::SmallVector<mlir::Value>
  ifVisited(mlir::Value condition, mlir::ValueRange otherwise,
            llvm::function_ref<llvm::SmallVector<mlir::Value>()> product);
  mlir::Value anyNotFinite(llvm::ArrayRef<mlir::Value> registers);
  mlir::Value leaveOut(mlir::Value a, mlir::Value b, mlir::Value kept, mlir::Value sum);

  // Lines fetched before they are needed (CpuPrefetch.cpp).
  void fetch(mlir::Value start, Place place, mlir::Type element, bool isWritten = false);
  struct NextPanels {
    mlir::Value start;
    int64_t quarter = 0; ///< words of one fragment's turn in a panel
    int64_t stored = 0;  ///< words of a panel's column
  };
  NextPanels nextPanels(ContractOp op, mlir::Value from, mlir::Value to);
  void fetchPanels(ContractOp op, const NextPanels &next, mlir::Value word);
  /// Lines of row-major memory that the steps of a product fetch one after the other.
  struct Lines {
    mlir::Value start, pitch; ///< pitch: elements from row to row
    mlir::Type element;
    int64_t perLine, perRow, rows; ///< elements of a cache line, lines of a row, rows
    bool isWritten;
  };
  llvm::SmallVector<Lines> resultLines(ContractOp op, const Fragment &shape);
  void fetchLines(const Lines &lines, mlir::Value step, int64_t steps);
  struct FetchedMeanwhile {
    std::optional<NextPanels> panels;
    llvm::SmallVector<Lines> results;
    mlir::Value first; ///< word of the product
    int64_t words = 0; ///< of the product; 0: unknown, and no results
  };
  FetchedMeanwhile fetchedMeanwhile(ContractOp op, const Fragment &shape, mlir::Value from,
                                    mlir::Value to, mlir::Value first, mlir::Value last);
  void fetchMeanwhile(ContractOp op, const FetchedMeanwhile &fetched, mlir::Value word,
                      int64_t words);
  void fetchAhead(const BoundView &right, Place place);
  bool fetchesNextRows(LoadOp op);
  void fetchNextRows(LoadOp op);

  // Products of bytes (CpuQuads.cpp).
  struct Bytes {
    mlir::Value even, odd;
  };
  Bytes bytesOf(mlir::Value words, bool isSigned);
  mlir::Value multiplyAddShorts(mlir::Value a, mlir::Value b, mlir::Value c);
  llvm::SmallVector<mlir::Value> contractRowOfQuads(ContractOp op, const Fragment &shape,
                                                    llvm::SmallVector<mlir::Value> sums,
                                                    mlir::Value from, mlir::Value to);

  FuncOp kernel;
  const CpuTarget &target;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> pointers, scalarArguments;
  mlir::Value readNext; ///< where the thread reads panels after this grid point; null: behind these

  // The body that is being emitted.
  CpuPlan plan;
  int64_t rows = 1;       ///< of the current register tile
  mlir::Value row;        ///< first row of the fragment in the tile
  mlir::Value rowCount;   ///< rows of the tile that are run
  mlir::Value fewTurns;   ///< whether fewer than four large fragments are run
  mlir::Value runColumn;  ///< first column of the fragment in a run
  int64_t runStep = 0;    ///< its columns
  bool runsAlone = false; ///< a run without a product
  bool guarding = false;  ///< contraction that leaves out 0 * non-finite
  llvm::DenseMap<mlir::Value, TileMemory> scratch, rowMemory;
  /// Sums over all blocks of features but the last; by product.
  llvm::DenseMap<mlir::Operation *, TileMemory> partialSums;
  /// Bytes of words that were made in the block of the words.
  llvm::DenseMap<mlir::Value, Bytes> knownBytes;
  llvm::DenseMap<mlir::Operation *, PreparedSide> preparedSides; ///< by product

  /// Stack memory of the function, used again by tiles that do not live together.
  struct Slot {
    mlir::Value base;
    int64_t bytes = 0;
    bool used = false;
  };
  llvm::SmallVector<Slot> slots;
  int64_t stackBytes = 0;
};

} // namespace heddle::kernel
