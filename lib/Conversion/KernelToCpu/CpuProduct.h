//===- CpuProduct.h - Strategies of products on the CPU ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strategies of products. Each contraction uses one strategy of Products/, selected by the formats
// of its sides and by the target (CpuProduct.cpp). There are two kinds of products:
//
//   over features   rows of a view by panels; the next panels are prefetched
//   over rows       a tile in scratch by rows of a view, optionally guarded; or the rows that two
//                   views have in common
//
// To add a strategy, add a file to Products/, declare the strategy at the end of this header, and
// add it to the list.
#pragma once

#include "CpuEmitter.h"

namespace heddle::kernel {

/// Values that a step keeps in registers in addition to its operands. Sums: only sums. Parts: also
/// parts of operands, if several instructions emulate the product. GroupSums: also the sums of a
/// group of features.
enum class Keeps : uint8_t { Sums, Parts, GroupSums };

enum class MatrixOperands : uint8_t; // CpuMatrices.h
class CpuMatrices;
struct MatrixBlock;
struct MatrixSides;

/// The product of one contraction. This base class multiplies f32 by one fused multiply-add per
/// step; other strategies override how operands are loaded, packed and multiplied.
class CpuProduct {
public:
  CpuProduct(CpuEmitter &emitter, ProductOpInterface op)
      : e(emitter), builder(emitter.builder), loc(emitter.loc), width(emitter.width), op(op) {}
  virtual ~CpuProduct() = default;
  static bool accepts(ProductOpInterface, const CpuTarget &) { return true; }
  static Keeps keeps(const CpuTarget &) { return Keeps::Sums; }
  /// Number of large register tiles per tile from which packing B pays; 0: always.
  static int64_t packsFrom(ProductOpInterface) { return 0; }

  /// Packs features [from, to) of B (null: all) into scratch, if the strategy packs. The large
  /// register tile then reads B from there.
  void pack(mlir::Value from = {}, mlir::Value to = {});
  void releasePacked();
  /// Begins the rows of a register tile: prepares features [from, to) of A once for all of its
  /// columns. The prepared rows use scratch that is freed with the caller's slots.
  void enterRows(mlir::Value from, mlir::Value to);
  void leaveRows() { prepared.reset(); }
  /// Whether a matrix unit sums tiles of this op before the register tiles, if there are enough
  /// rows.
  bool usesMatrices() { return matricesFrom() > 0 && op.getType().getDimSize(0) >= matricesFrom(); }
  /// Emits these sums; register tiles then read `ahead`.
  void sumAhead();
  struct Ahead {
    mlir::Value
        isSummed; ///< i1: there were enough rows, and `sums` holds all of them; null: always
    TileMemory sums;
  };
  std::optional<Ahead> ahead;
  /// Frees packed B and sums.
  void release();
  /// Adds the products of features [from, to) to `sums`.
  Registers overFeatures(const Fragment &shape, Registers sums, mlir::Value from, mlir::Value to);
  /// Multiplies a tile in scratch by the op's rows.
  Registers overRows(const Fragment &shape, const TileMemory &left);
  /// Adds the products of the rows that the op's views have in common to `sums`.
  virtual Registers overCommonRows(const Fragment &shape, Registers sums) {
    llvm_unreachable("only a product over common rows has them");
  }

  /// Partial sums over all blocks of features but the last.
  std::optional<TileMemory> partialSums;

protected:
  /// Loads an operand at k + `unrolled`: the scalar of row `i` of A, or register `i` of B.
  using Operand = std::function<mlir::Value(mlir::Value k, int64_t i, int64_t unrolled)>;
  /// A chain of products over k in [from, to).
  struct Chain {
    const Fragment &shape;
    mlir::Value from, to;
    Operand left, right;
    std::function<void(mlir::Value k)> atStep; ///< called once per step of the unrolled loop
    int64_t unroll = 4;
    /// Steps of k that stay together: the remainder after the unrolled loop runs in groups of this
    /// size.
    int64_t grain = 1;
    bool guarded = false; ///< omits products of a zero and a non-finite value
  };

  //===--------------------------------------------------------------------===//
  // Hooks of strategies
  //===--------------------------------------------------------------------===//

  /// Returns c + a * b for one step of k; `a` is broadcast to a register.
  virtual mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded) {
    return multiplyAdd(a, b, c, guarded);
  }
  /// Loads registers of B from its panels or rows: elements as stored, or words of several
  /// elements.
  virtual Operand loadB(const Fragment &shape);
  /// Whether B is widened before it is multiplied. If so, k counts features instead of words.
  virtual bool decodes() const { return false; }
  /// Feature of A that a decoded product multiplies at step k, within a group of an even size.
  virtual int64_t featureAt(int64_t k) { return k; }
  /// Features that a step of k multiplies.
  virtual int64_t perStep() { return decodes() ? 1 : word(); }
  /// Unroll factor of a chain that reads B unpacked.
  virtual int64_t unrolled() { return decodes() ? 8 : 4; }
  virtual bool fetchesNextPanels() const { return true; }
  /// Sums the features of a chain, words [first, last).
  virtual Registers sumFeatures(Chain chain, Registers sums, mlir::Value first, mlir::Value last);
  /// Adds the products of rows [begin, end).
  using RowPart =
      std::function<Registers(mlir::Value begin, mlir::Value end, Registers sums, bool guarded)>;
  virtual RowPart sumRows(const Fragment &shape, const TileMemory &left);

  /// Shape of packed B, or nullopt if the strategy does not pack.
  virtual std::optional<TileMemory> packedForm() { return std::nullopt; }
  /// Features in a row of packed panels.
  virtual int64_t perPackedRow() { return 1; }
  /// Packs rows [begin, end) of B, relative to the op's index.
  virtual void packRows(const TileMemory &packed, mlir::Value begin, mlir::Value end) {}
  /// Packs rows [from, to) of the panels for `columns` of B, which start at a multiple of 16.
  virtual void packPanels(const TileMemory &packed, ColumnRange columns, mlir::Value from,
                          mlir::Value to) {}

  /// Minimum number of rows for which a matrix unit sums a tile; 0: never.
  virtual int64_t matricesFrom() { return 0; }
  /// Prepares features [from, to) of the register tile's rows in `prepared`, if A is not multiplied
  /// as stored. Narrow rows of a decoded product become f32.
  virtual void prepareRows(mlir::Value from, mlir::Value to);
  /// Writes the sums of the first `count` rows of a tile; `count` is at least `matricesFrom`.
  virtual void sumMatrices(const TileMemory &sums, mlir::Value count) {}
  /// Writes the sums of features [0, end) by a matrix unit, block after block of the features of a
  /// matrix (Products/Matrices.cpp). The unit reads B from its panels, or packed panels of words of
  /// two features.
  void sumByUnit(MatrixOperands operands, int64_t end, const TileMemory &sums, mlir::Value count);
  /// Range of B's rows whose tiles the product visits.
  virtual RowRange visitedRange() { return op.getRange(); }

  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  Registers emitChain(const Chain &chain, Registers sums);
  /// Features that are processed together: the features of a word of B, or of one step.
  int64_t together() { return std::max(word(), perStep()); }
  /// Number of groups of `together` features, rounded up.
  mlir::Value wordsOf(mlir::Value features);
  /// Scales of rows of B that are codes; null for other formats. `scalesOfPanel` loads one register
  /// that starts `lane` rows after row `column`, `scalesOfColumns` each register of the register
  /// tile, and `scaleOfRow` one row in all lanes.
  mlir::Value scalesOfPanel(mlir::Value column, int64_t lane);
  Registers scalesOfColumns(const Fragment &shape);
  mlir::Value scaleOfRow(mlir::Value row);
  void fetchMeanwhile(Chain &chain, mlir::Value first, mlir::Value last);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded);
  BoundView left() { return e.view(op.getLhs()); }
  BoundView right() { return e.view(op.getRhs()); }
  /// Extent of B's last dimension, without padding.
  int64_t features() { return featuresOf(op); }
  int64_t word() { return CpuEmitter::perWord(right()); }
  /// A fragment of one row and one vector.
  static Fragment oneVector() {
    Fragment shape;
    shape.rows = shape.vectors = 1;
    return shape;
  }
  /// Columns of the op's tile that exist in its view.
  mlir::Value columnsInView();
  /// Addresses of a register tile's rows in the left view, or in a view with the same rows.
  llvm::SmallVector<Address> leftRows(const Fragment &shape) { return rowsOf(left(), shape); }
  llvm::SmallVector<Address> rowsOf(const BoundView &view, const Fragment &shape);
  bool isPacked() const {
    const TileLoops &loops = e.loops;
    return packed && !loops.at.isUnpacked && loops.at.rows == loops.plan.fragment.rows;
  }
  Operand loadPacked(const Fragment &shape);
  const TileMemory &packedMemory() const { return packed->memory; }
  /// Allocates packed B, which the strategy itself fills.
  void place(TileMemory form) {
    e.scratch.place(form);
    packed = {form, {}};
  }
  /// Emits `part` for each visited tile of [from, to), or once for the whole range if there is no
  /// mask.
  void forVisited(mlir::Value from, mlir::Value to,
                  llvm::function_ref<void(mlir::Value begin, mlir::Value end)> part);
  /// Whether few rows read B once, as keys or values.
  bool readsOnce(const Fragment &shape);
  /// Prefetch distance in bytes if few rows read narrow keys or values; 0: no prefetch.
  int64_t bytesAhead(const Fragment &shape);
  /// Prefetches `rows` adjacent rows of B, `step` elements each, at the prefetch distance from
  /// `place`. Each line is prefetched once, at one of the registers `j` that it contains.
  void fetchRows(const Fragment &shape, Address place, int64_t step, int64_t j, int64_t rows);
  /// Shape of B decoded to f32: panels [c/16][k][16], or rows. Returns nullopt if it would leave
  /// too little room in the second-level cache.
  std::optional<TileMemory> decodedForm();
  int64_t wholeFeatures();
  /// Index of the row of packed panels that starts at `feature`, or ends there.
  mlir::Value packedRow(mlir::Value feature);
  int64_t packedFeatures();

  CpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t width;
  ProductOpInterface op;
  std::optional<TileMemory> packedLeft; ///< packed rows of A; only products over common rows
  std::optional<TileMemory> prepared;   ///< rows of the register tile, one element per step of k

private:
  bool readsByPanel(const Fragment &shape);
  Registers sumByPanel(const Chain &chain, const Registers &sums, mlir::Value first,
                       mlir::Value last);
  Registers overVisited(mlir::Value from, mlir::Value to, mlir::ValueRange start,
                        llvm::function_ref<Registers(mlir::Value, mlir::Value, Registers)> part);
  MatrixSides sidesOf(CpuMatrices &unit, const MatrixBlock &block);
  mlir::Value anyNotFinite(llvm::ArrayRef<mlir::Value> registers);
  mlir::Value leaveOut(mlir::Value a, mlir::Value b, mlir::Value kept, mlir::Value sum);

  struct Packed {
    TileMemory memory;
    mlir::Value from; ///< first packed row; null: row 0
  };
  std::optional<Packed> packed;
};

/// Prefetch during a product (CpuPrefetch.cpp): each step prefetches lines of the next tile's
/// panels and of this tile's result. A core has about twenty line fill buffers, which the product's
/// own loads also need. Addresses need not be valid, because a prefetch never faults.
class CpuPrefetch {
public:
  /// Prefetches for a product of `shape` over words [first, last), whose features end at `to`.
  CpuPrefetch(CpuEmitter &emitter, ProductOpInterface op, const Fragment &shape, mlir::Value to,
              mlir::Value first, mlir::Value last, bool fetchesPanels);
  /// Prefetches the lines of the step of `words` words that starts at `word`.
  void atStep(mlir::Value word, int64_t words);

private:
  /// Lines of row-major memory, prefetched in order.
  struct Lines {
    mlir::Value start, pitch; ///< pitch: elements between rows
    mlir::Type element;
    int64_t perLine, perRow, rows; ///< elements per cache line, lines per row, rows
    bool isWritten;
  };
  mlir::Value findPanels();
  void findNextPanels();
  void findOwnPanels(const Fragment &shape);
  void fetchOwnPanels(mlir::Value word, int64_t count);
  void addResultLines(const Fragment &shape);
  void fetchPanels(mlir::Value word);
  void fetchLines(const Lines &lines, mlir::Value step, int64_t steps);

  CpuEmitter &e;
  ProductOpInterface op;
  mlir::Value first, last;
  mlir::Value panels;    ///< prefetched panels: the next ones, or later words of the current ones;
                         ///< null: none
  int64_t ownPanels = 0; ///< panels of a single row that prefetches its own; 0: prefetches the next
                         ///< panels
  mlir::Value share;     ///< words of a panel that one turn prefetches
  int64_t stored = 0;    ///< words of a column in a panel
  llvm::SmallVector<Lines> results;
  int64_t words = 0; ///< words of the product; 0: unknown, so result lines are not prefetched
};

/// An entry of the list of strategies in CpuProduct.cpp.
struct ProductStrategy {
  bool (*accepts)(ProductOpInterface op, const CpuTarget &target);
  Keeps (*keeps)(const CpuTarget &target);
  int64_t (*packsFrom)(ProductOpInterface op);
  std::unique_ptr<CpuProduct> (*make)(CpuEmitter &emitter, ProductOpInterface op);
};
template <class Product>
constexpr ProductStrategy strategyOf() noexcept {
  return {Product::accepts, Product::keeps, Product::packsFrom,
          [](CpuEmitter &emitter, ProductOpInterface op) -> std::unique_ptr<CpuProduct> {
            return std::make_unique<Product>(emitter, op);
          }};
}

extern const ProductStrategy bf16Dot2, bf16Matrices, bf16Widened, commonRows, f16Accumulate,
    groupBytes, int4, int8Dot4, int8Matrices, int8Pairs, keptAsBf16, widened;

/// Returns the first strategy of the list that accepts the op's formats.
const ProductStrategy &chooseStrategy(ProductOpInterface op, const CpuTarget &target);

} // namespace heddle::kernel
