//===- BodyEmitter.h - Emits a tiled body for one fragment -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits a tiled body for one fragment of the tile, for both lowerings of
// kernel.func. A fragment is a grid of native vectors in registers. The target
// chooses its position in the tile.
//
//   tensor<96x64xf32>  a fragment of rows x vectors registers vector<Wxf32>
//   tensor<1x64xf32>   one row of registers
//   tensor<96x1xf32>   one scalar a row
//   tensor<96x64xbf16> registers of the target's own form; i8 likewise
//   index              the target's index type
//
// Elementwise ops are cloned once for each register. A contraction is one loop
// that carries its accumulators. Ops on tiles wider than the fragment
// (`isWide`) are grouped in loop nests, which the target emits as column loops.
// A target implements placement and memory, and it may override the emission of
// any op.
#pragma once

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace heddle::kernel {

/// A view bound to values: its start in an argument, its extents and pitches.
struct BoundView {
  ViewType type;
  int64_t argument = 0;
  mlir::Value offset; ///< in elements; null is zero
  llvm::SmallVector<mlir::Value> extents, pitches;
};

/// Columns of a store that are contiguous in one matrix, although all columns of its tile may not
/// be (see StoreColumnsOp).
struct StorePiece {
  mlir::Value matrix; ///< in elements from the matrix selected by the op's indices; null: none
  /// First column in that matrix. It is in the matrix's padding if the columns are not stored.
  mlir::Value column;
  mlir::Value isStored; ///< i1; null means always stored
};

/// The part of a tile that is in registers.
struct Fragment {
  llvm::SmallVector<mlir::Value> registers; ///< in row-major order
  int64_t rows = 0;
  int64_t vectors = 0; ///< registers in a row; 0: one scalar for each row

  int64_t columns() const { return std::max<int64_t>(vectors, 1); }
  int64_t size() const { return rows * columns(); }
  mlir::Value at(int64_t row, int64_t column) const { return registers[row * columns() + column]; }
};

/// The address of an element: a computed part and a constant one, both in elements.
struct Address {
  mlir::Value dynamic; ///< null is zero
  int64_t constant = 0;
};

class BodyEmitter {
public:
  BodyEmitter(mlir::OpBuilder &builder, mlir::Type indexType, int64_t width)
      : builder(builder), loc(builder.getUnknownLoc()), indexType(indexType), width(width) {}
  virtual ~BodyEmitter() = default;

protected:
  //===--------------------------------------------------------------------===//
  // Placement, supplied by the target
  //===--------------------------------------------------------------------===//

  /// Rows of the fragment in a tile of more than one row.
  virtual int64_t fragmentRows() const = 0;
  /// Registers in a row of a tile of `tileColumns` columns (more than one).
  virtual int64_t fragmentVectors(int64_t tileColumns) const = 0;
  /// First row and column of the fragment in the tile; null is zero.
  virtual mlir::Value rowBase() { return {}; }
  virtual mlir::Value columnBase(int64_t tileColumns) { return {}; }
  /// Whether columnBase may be inside a strip of 16 columns.
  virtual bool beginsInStrips() const { return false; }
  /// Column of register `j` relative to columnBase.
  virtual int64_t vectorColumn(int64_t j, int64_t tileColumns) const { return j * width; }

  //===--------------------------------------------------------------------===//
  // Memory, supplied by the target
  //===--------------------------------------------------------------------===//

  /// Loads a register of consecutive elements.
  virtual mlir::Value loadVector(const BoundView &view, Address place) = 0;
  /// Loads `count` consecutive elements.
  virtual llvm::SmallVector<mlir::Value> loadScalars(const BoundView &view, Address place,
                                                     int64_t count) = 0;
  /// Loads the word that holds an element of a view of numbers, as i32.
  virtual mlir::Value loadWord(const BoundView &view, Address place) = 0;
  virtual void storeVector(mlir::Value value, const BoundView &view, Address place) = 0;
  virtual void storeScalar(mlir::Value value, const BoundView &view, Address place) = 0;
  /// Returns x * 2^n for integers n <= 127, and 0 for n below -125.
  virtual mlir::Value scaleByPower(mlir::Value x, mlir::Value n);
  /// Rounds a register of f32 to `element`, or truncates i32 to i8, in the target's representation.
  virtual mlir::Value narrow(mlir::Value value, mlir::Type element) = 0;
  /// Type in which a register holds elements of a narrow type.
  virtual mlir::Type narrowElement(mlir::Type element) const = 0;
  /// The larger operand; unspecified if one is NaN.
  virtual mlir::Value larger(mlir::Value a, mlir::Value b);

  //===--------------------------------------------------------------------===//
  // Ops, which a target may override
  //===--------------------------------------------------------------------===//

  /// Emits one op by its type. An op without an emitter is an error.
  virtual mlir::LogicalResult emitOp(mlir::Operation &op);
  virtual mlir::LogicalResult emitContract(ProductOpInterface op) = 0;
  virtual mlir::LogicalResult emitLoad(LoadOp op);
  virtual mlir::LogicalResult emitGather(GatherOp op);
  /// The first and the last row of `table` that a gather may read.
  virtual std::pair<mlir::Value, mlir::Value> gatherableRows(const BoundView &table);
  virtual mlir::LogicalResult emitStore(StoreOpInterface op) = 0;
  virtual mlir::LogicalResult emitReduce(ReduceOp op);
  virtual mlir::LogicalResult emitBroadcast(BroadcastOp op);
  virtual mlir::LogicalResult emitIota(IotaOp op);
  mlir::LogicalResult emitRandomWords(RandomWordsOp op); ///< BodyRandom.cpp
  virtual mlir::LogicalResult emitRead(ReadOp op);
  virtual mlir::LogicalResult emitMask(MaskOp op);
  /// Emits one i1 value for each register of the mask's tile, at the insertion point.
  virtual mlir::LogicalResult emitPredicate(MaskOp op, llvm::SmallVectorImpl<mlir::Value> &truth);
  /// Emits the registers of the mask's tile where its predicate holds, and `other` elsewhere.
  virtual mlir::LogicalResult emitChoice(MaskOp op, const Fragment &tile, mlir::Value other,
                                         llvm::SmallVectorImpl<mlir::Value> &chosen);
  virtual mlir::LogicalResult emitLookup(LookupOp op);
  virtual mlir::LogicalResult emitTableRange(TableRangeOp op);
  /// Loads `view[indices]` lane by lane where `valid`, else 0, for registers of i32 and i1.
  virtual mlir::Value loadElements(const BoundView &view, mlir::Value indices, mlir::Value valid);
  /// Loads consecutive elements where `valid`, else 0. The first element is at lane 0 of `indices`.
  virtual mlir::Value loadNeighbors(const BoundView &view, mlir::Value indices, mlir::Value valid) {
    return loadElements(view, indices, valid);
  }
  /// The smallest and the largest of the elements [from, to) of an i32 vector; from < to.
  virtual std::pair<mlir::Value, mlir::Value> rangeOfElements(const BoundView &view,
                                                              mlir::Value from, mlir::Value to);
  virtual mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  virtual mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult emitSlice(SliceOp op);
  mlir::LogicalResult emitElementwise(mlir::Operation &op);
  mlir::LogicalResult emitScaleb(ScalebOp op);
  /// Emits truncf or trunci of a tile to a type narrower than a word.
  mlir::LogicalResult emitNarrowing(mlir::Operation &op);
  /// Clones an op on scalars, with the target's index type instead of index.
  mlir::LogicalResult emitScalarOp(mlir::Operation &op);
  mlir::LogicalResult emitIndexCast(mlir::arith::IndexCastOp op);

  /// Emits ops in order, and ops on wide tiles in loop nests.
  mlir::LogicalResult emitOps(llvm::ArrayRef<mlir::Operation *> ops);
  /// Emits a prefix of `ops` in an order chosen by the target. Returns the number of ops emitted.
  virtual mlir::FailureOr<size_t> emitTogether(llvm::ArrayRef<mlir::Operation *> ops) {
    return size_t(0);
  }
  mlir::LogicalResult emitBlock(mlir::Block &block);
  /// Whether a tile does not fit a fragment, so that its ops are emitted in loop nests.
  virtual bool isWide(mlir::RankedTensorType type) const { return false; }
  /// Whether the column loop of a nest is being emitted, in which ops are emitted one by one.
  virtual bool inColumnLoop() const { return false; }
  /// Emits ops on wide tiles of equal width as one column loop. The ops must not use results of
  /// reductions or contractions of this nest.
  virtual mlir::LogicalResult emitLoopNest(llvm::ArrayRef<mlir::Operation *> run);
  /// Whether an op is rematerialized at each use instead of emitted in order. Such an op ends no
  /// nest.
  virtual bool recomputes(mlir::Operation &op) const;
  /// Returns registers of a tile that has none: recomputed here, or loaded from memory by a target.
  virtual mlir::FailureOr<Fragment> materialize(mlir::Value tile);
  /// Whether the target itself carries this value through loops and branches. If so, `carry` is
  /// called where the value is yielded, and `carried` binds it where it is received.
  virtual bool carriesItself(mlir::Value value) const { return false; }
  virtual mlir::LogicalResult carry(mlir::Value value) { return mlir::success(); }
  virtual void carried(mlir::Value value) {}

  //===--------------------------------------------------------------------===//
  // Helpers, also used by products and element loops
  //===--------------------------------------------------------------------===//

public:
  /// The fragment of a tile: its registers if it has any, otherwise the result of materialize().
  mlir::FailureOr<Fragment> use(mlir::Value tile);
  /// The fragment of a tile, or a scalar as a fragment of one register.
  mlir::FailureOr<Fragment> operand(mlir::Value value);
  /// A scalar operand in the target's types.
  mlir::Value scalar(mlir::Value value);
  /// The binding of a view, which precedes all uses.
  const BoundView &view(mlir::Value value);
  /// Rows and vectors of a tile's fragment, without registers.
  Fragment shapeOf(mlir::Type tile) const;
  /// Type of a register: a native vector, or a scalar if `vectors` is 0.
  mlir::Type registerType(mlir::Type element, int64_t vectors) const;
  /// The types of a value's registers: one for a scalar.
  void appendRegisterTypes(mlir::Value value, llvm::SmallVectorImpl<mlir::Type> &types) const;
  mlir::LogicalResult appendRegisters(mlir::Value value,
                                      llvm::SmallVectorImpl<mlir::Value> &registers);
  /// Takes the registers of `values` from the front of `registers`.
  void bindRegisters(mlir::ValueRange values, mlir::ValueRange registers);
  mlir::Value splat(mlir::Value value, mlir::Type type);
  /// Whether the bit of the column tile that holds this column is set; null: the first column.
  mlir::Value visitBit(mlir::Value bits, int64_t visitTile, mlir::Value column);
  mlir::Value zeroVector();
  /// The zero with which sums of a contraction begin.
  mlir::Value zeroSum(ProductOpInterface op);

  /// Distance in elements between neighbors of dimension `dim`.
  mlir::Value stride(const BoundView &view, int64_t dim);
  /// Offset of the points selected by leading `indices`, that is, all but the last `kept`
  /// dimensions of the view.
  mlir::Value pointOffset(const BoundView &view, mlir::ValueRange indices, int64_t kept);
  /// Addresses of a fragment's registers, given its first row and column in the view. `row` is null
  /// for vectors.
  llvm::SmallVector<Address> places(const BoundView &view, mlir::Value offset, mlir::Value row,
                                    mlir::Value column, const Fragment &shape, int64_t tileColumns);
  llvm::SmallVector<Address> placesInStrips(const BoundView &view, mlir::Value offset,
                                            mlir::Value row, mlir::Value column,
                                            const Fragment &shape, int64_t tileColumns);
  /// The row that a store writes for `row`: reduced by the size of the ring if it reaches that
  /// size. `row` must be below twice the size.
  mlir::Value inRing(StoreOpInterface op, mlir::Value row);
  /// The group of contiguous columns of a store that begins at column `inTile` of its tile.
  StorePiece pieceOf(StoreOpInterface op, mlir::Value inTile);
  /// Like `places`, for a store to row-major memory.
  llvm::SmallVector<Address> storedPlaces(StoreOpInterface op, mlir::Value offset, mlir::Value row,
                                          mlir::Value column, const Fragment &shape);
  /// Loads a vector of elements of a row in panels, starting at `place`, as f32.
  mlir::Value loadFromPanels(const BoundView &view, Address place);
  /// Loads word `place` of a matrix in panels, as i32; the address counts words.
  virtual mlir::Value loadPanelWord(const BoundView &view, Address place) = 0;
  /// Loads a vector of elements of a row in panels whose groups have scales, as f32. The first
  /// column is a multiple of the vector's width.
  mlir::Value loadFromGroups(const BoundView &view, mlir::Value row, mlir::Value column);
  /// Addresses of the registers of a load from row-major memory.
  llvm::SmallVector<Address> loadPlaces(LoadOp op);
  /// Binds an argument of the kernel; `size` gives the values of extents and pitches.
  BoundView bindView(mlir::Value value, ViewType type, int64_t argument,
                     llvm::function_ref<mlir::Value(const Size &)> size);

  /// Addresses of the right side of a contraction at k = 0, one for each register; `stepElements`
  /// is the distance from k to k + 1.
  llvm::SmallVector<Address> rightPlaces(ProductOpInterface op, const Fragment &shape,
                                         int64_t &stepElements);

  /// The bits of 32-bit floats as words, and back.
  mlir::Value asWords(mlir::Value floats);
  mlir::Value asFloats(mlir::Value words);
  mlir::Value wordConstant(int32_t word, mlir::Type like);
  /// The even (low) and the odd (high) bf16 of each word, as f32.
  std::pair<mlir::Value, mlir::Value> halvesOf(mlir::Value words);
  /// One byte of each word as i32, sign-extended or zero-extended.
  mlir::Value byteOf(mlir::Value words, int64_t byte, bool isSigned);
  /// Elements of a narrow type in words, as f32. Lane l takes element l mod n of its word, which
  /// holds n elements.
  mlir::Value widenedLanes(mlir::Value words, mlir::Type element);
  /// c plus the four products of the bytes of two words, exact. Bytes of `a` are unsigned, bytes of
  /// `b` are signed, and `c` is a vector of i32. Targets with a matching instruction override it.
  virtual mlir::Value dot4(mlir::Value a, mlir::Value b, mlir::Value c);
  /// Words whose high halves are the nearest bf16 to `floats`, ties to even. The numbers must be
  /// normal or zero; the low halves are unspecified.
  mlir::Value nearestWords(mlir::Value floats);
  /// f32 values rounded to bf16 in the high halves of words; the low halves are zero.
  mlir::Value roundedWords(mlir::Value floats);
  /// Widens the f16 in the low halves of words, whose high halves are zero, to f32. Independent of
  /// the denormal mode.
  mlir::Value widenedHalves(mlir::Value words);
  /// Rounds f32 values to f16 in the low halves of words. The high halves are zero.
  mlir::Value roundedHalves(mlir::Value floats);

  mlir::Value combine(ReduceKind kind, mlir::Value a, mlir::Value b);
  /// Registers that make up the 16 virtual lanes of a row reduction.
  int64_t laneGroups() const { return std::max<int64_t>(16 / width, 1); }
  /// Accumulates a row's registers into its lanes, in ascending order. A null lane is empty.
  void accumulateLanes(ReduceKind kind, const Fragment &from, int64_t row,
                       llvm::MutableArrayRef<mlir::Value> groups);
  /// Reduces the lanes to a scalar by the fixed tree.
  mlir::Value reduceLanes(ReduceKind kind, llvm::SmallVector<mlir::Value> groups);

  mlir::Value constant(int64_t value);
  std::optional<int64_t> constantOf(mlir::Value value);
  mlir::Value add(mlir::Value a, mlir::Value b); ///< null is zero
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  /// Emits a loop that carries `values`. `body` emits one step, which reads and updates them.
  void loopOver(mlir::Value from, mlir::Value to, int64_t step,
                llvm::SmallVectorImpl<mlir::Value> &values,
                llvm::function_ref<void(mlir::Value index)> body);
  /// Moves the insertion point into a new loop without carried values.
  mlir::scf::ForOp loopBy(mlir::Value from, mlir::Value to, int64_t step);
  /// Moves the insertion point into a new branch that runs if `condition` holds.
  void enterIf(mlir::Value condition);
  Address moved(Address place, mlir::Value dynamic, int64_t constant = 0);

  static bool isTile(mlir::Type type) { return mlir::isa<mlir::RankedTensorType>(type); }
  /// Whether the op or an op inside it reads or yields tiles.
  static bool touchesTiles(mlir::Operation &op);
  /// Elements in a word of 4 bytes.
  static int64_t perWord(mlir::Type element) { return formatOf(element).perWord; }
  static int64_t perWord(const BoundView &view) { return perWord(view.type.getElementType()); }
  /// `type` with other elements, for the type of a register or scalar.
  static mlir::Type withElement(mlir::Type type, mlir::Type element);
  static int64_t columnsOf(mlir::Type tile) {
    return mlir::cast<mlir::RankedTensorType>(tile).getDimSize(1);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type indexType;
  int64_t width; ///< lanes of a native vector; 1: registers are scalars

protected:
  /// Emitted values of the body's scalars, views and tiles.
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, BoundView> views;
  llvm::DenseMap<mlir::Value, Fragment> fragments;
  /// Cached halves of words, emitted in the block of the words.
  llvm::DenseMap<mlir::Value, std::pair<mlir::Value, mlir::Value>> halves;
  /// Cached bytes of words, emitted in the block of the words. The key is 2 * byte + isSigned.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> bytes;

  /// Width of the wide tiles that the op processes column by column; 0 if there are none.
  int64_t nestColumns(mlir::Operation &op) const;
  using OpSet = llvm::SmallPtrSet<mlir::Operation *, 16>;
  bool dependsOn(mlir::Operation &op, const OpSet &ops) const;

private:
  size_t collectRun(llvm::ArrayRef<mlir::Operation *> ops,
                    llvm::SmallVectorImpl<mlir::Operation *> &run,
                    llvm::SmallVectorImpl<mlir::Operation *> &before) const;
  mlir::LogicalResult emitArm(mlir::Region &from, mlir::Block *to);
  /// Whether the rows of the fragment have whole groups of columns that share random blocks.
  bool sharesBlocks(RandomWordsOp op, const Fragment &shape);
};

} // namespace heddle::kernel
