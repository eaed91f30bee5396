//===- CpuProduct.h - Strategies of products on the CPU ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strategies of products. Each contraction has one of Products/, chosen by the formats of its sides
// and by the target (CpuProduct.cpp). There are two kinds of products:
//
//   over features   rows of a view by panels; the next panels are prefetched
//   over rows       a tile in scratch by rows of a view, maybe guarded
//
// To add a strategy: a file in Products/, its declaration at the end of this
// header, and its place in the list.
#pragma once

#include "CpuEmitter.h"

namespace heddle::kernel {

/// What a step of a product keeps in registers, beside operands: sums; also parts of operands, where
/// several instructions emulate the product; also the sums of a group of features.
enum class Keeps : uint8_t { Sums, Parts, GroupSums };

/// The product of one contraction. This base class multiplies f32 by a fused multiply-add a step;
/// other strategies override how operands are loaded, packed and multiplied.
class CpuProduct {
public:
  CpuProduct(CpuEmitter &emitter, ContractOp op)
      : e(emitter), builder(emitter.builder), loc(emitter.loc), width(emitter.width), op(op) {}
  virtual ~CpuProduct() = default;
  static bool accepts(ContractOp, const CpuTarget &) { return true; }
  static Keeps keeps(const CpuTarget &) { return Keeps::Sums; }
  /// Large register tiles from which packing B pays for a tile; 0: whenever one runs.
  static int64_t packsFrom(ContractOp) { return 0; }

  /// Packs features [from, to) of B (null: all) into scratch, if the strategy packs. The large
  /// register tile then reads them there.
  void pack(mlir::Value from = {}, mlir::Value to = {});
  void releasePacked();
  /// Begins the rows of a register tile: prepares features [from, to) of A once for all of their columns,
  /// in scratch that is free again when the caller's slots are.
  void enterRows(mlir::Value from, mlir::Value to);
  void leaveRows() { prepared.reset(); }
  /// Whether a matrix unit sums tiles of this op ahead of their register tiles, if their rows are many.
  bool usesMatrices() { return matricesFrom() > 0 && op.getType().getDimSize(0) >= matricesFrom(); }
  /// Emits that; register tiles then read `ahead`.
  void sumAhead();
  struct Ahead {
    mlir::Value isSummed; ///< i1: the rows were many, and `sums` holds all of them
    TileMemory sums;
  };
  std::optional<Ahead> ahead;
  /// Frees packed B and sums.
  void release();
  /// Adds the products of features [from, to) to `sums`.
  Registers overFeatures(const Fragment &shape, Registers sums, mlir::Value from, mlir::Value to);
  /// Multiplies a tile in scratch by the op's rows.
  Registers overRows(const Fragment &shape, const TileMemory &left);

  /// Partial sums over all blocks of features but the last.
  std::optional<TileMemory> partialSums;

protected:
  /// Loads an operand at k + `unrolled`: of A the scalar of row `i`, of B register `i`.
  using Operand = std::function<mlir::Value(mlir::Value k, int64_t i, int64_t unrolled)>;
  /// A chain of products over k in [from, to).
  struct Chain {
    const Fragment &shape;
    mlir::Value from, to;
    Operand left, right;
    std::function<void(mlir::Value k)> atStep; ///< once in each step of the unrolled loop
    int64_t unroll = 4;
    /// Steps of k that stay together: the remainder behind the unrolled loop runs in groups of so
    /// many.
    int64_t grain = 1;
    bool guarded = false; ///< leaves out products of a zero and a non-finite value
  };

  //===--------------------------------------------------------------------===//
  // Hooks of strategies
  //===--------------------------------------------------------------------===//

  /// c + a * b of one step of k; `a` is broadcast to a register.
  virtual mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded) {
    return multiplyAdd(a, b, c, guarded);
  }
  /// Loads registers of B from its panels or rows: elements as stored, or words of several.
  virtual Operand loadB(const Fragment &shape);
  /// Whether B is widened before it is multiplied. k then counts features instead of words.
  virtual bool decodes() const { return false; }
  /// The feature of A that a decoded product multiplies as the k-th of an even number.
  virtual int64_t featureAt(int64_t k) { return k; }
  /// Features that a step of k multiplies.
  virtual int64_t perStep() { return decodes() ? 1 : word(); }
  /// Unroll factor of a chain that reads B unpacked.
  virtual int64_t unrolled() { return decodes() ? 8 : 4; }
  virtual bool fetchesNextPanels() const { return true; }
  /// Sums over the features of a chain, the words [first, last).
  virtual Registers sumFeatures(Chain chain, Registers sums, mlir::Value first, mlir::Value last);
  /// Adds the products of the rows [begin, end).
  using RowPart =
      std::function<Registers(mlir::Value begin, mlir::Value end, Registers sums, bool guarded)>;
  virtual RowPart sumRows(const Fragment &shape, const TileMemory &left);

  /// The form of packed B; none if the strategy does not pack.
  virtual std::optional<TileMemory> packedForm() { return std::nullopt; }
  /// Features in a row of packed panels.
  virtual int64_t perPackedRow() { return 1; }
  /// Packs rows [begin, end) of B, counted from the op's index.
  virtual void packRows(const TileMemory &packed, mlir::Value begin, mlir::Value end) {}
  /// Packs columns of B, which start at a multiple of 16: rows [from, to) of packed panels.
  virtual void packPanels(const TileMemory &packed, ColumnRange columns, mlir::Value from,
                          mlir::Value to) {}

  /// Rows of a tile from which a matrix unit sums it; 0: none does.
  virtual int64_t matricesFrom() { return 0; }
  /// Prepares features [from, to) of the register tile's rows in `prepared`, where A is not multiplied as it is
  /// stored: narrow rows of a decoded product become f32.
  virtual void prepareRows(mlir::Value from, mlir::Value to);
  /// Writes the sums of the first `count` rows of a tile, at least those of `matricesFrom`.
  virtual void sumMatrices(const TileMemory &sums, mlir::Value count) {}

  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  Registers emitChain(const Chain &chain, Registers sums);
  /// Features whose steps stay together: those of a word of B, or of the words of a step.
  int64_t together() { return std::max(word(), perStep()); }
  /// How many times so many features are together, rounded up.
  mlir::Value wordsOf(mlir::Value features);
  /// Scales of rows of B that are codes, null of others: of a register's, `lane` behind row `column` of
  /// the op's; of each register of the register tile; of one row, in all lanes.
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
  /// One row of one vector of columns.
  static Fragment oneVector() {
    Fragment shape;
    shape.rows = shape.vectors = 1;
    return shape;
  }
  /// Columns of the op's tile that its view has.
  mlir::Value columnsInView();
  /// Addresses of a register tile's rows in the left view, and in a view beside it.
  llvm::SmallVector<Address> leftRows(const Fragment &shape) { return rowsOf(left(), shape); }
  llvm::SmallVector<Address> rowsOf(const BoundView &view, const Fragment &shape);
  bool isPacked() const {
    const TileLoops &loops = e.loops;
    return packed && !loops.at.isUnpacked && loops.at.rows == loops.plan.fragment.rows;
  }
  Operand loadPacked(const Fragment &shape);
  /// Whether few rows read B once, keys or values.
  bool readsOnce(const Fragment &shape);
  /// Bytes ahead of those that are read at which few rows fetch narrow keys or values; 0: they do not.
  int64_t bytesAhead(const Fragment &shape);
  /// Fetches the rows of B, `step` elements each, that are read that much later, where register `j`
  /// of row `place` stands for it: each line once for `rows` neighbours.
  void fetchRows(const Fragment &shape, Address place, int64_t step, int64_t j, int64_t rows);
  /// Form of B decoded to f32: panels [c/16][k][16], or rows. None if it would leave too little
  /// room in the second-level cache.
  std::optional<TileMemory> decodedForm();
  int64_t wholeFeatures();
  /// The row of packed panels that a feature begins, or with which features end.
  mlir::Value packedRow(mlir::Value feature);
  int64_t packedFeatures();

  CpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t width;
  ContractOp op;
  std::optional<TileMemory> prepared; ///< rows of the register tile, an element a step of k

private:
  bool readsByPanel(const Fragment &shape);
  Registers sumByPanel(const Chain &chain, const Registers &sums, mlir::Value first,
                       mlir::Value last);
  Registers overVisited(mlir::Value from, mlir::Value to, mlir::ValueRange start,
                        llvm::function_ref<Registers(mlir::Value, mlir::Value, Registers)> part);
  void forVisited(mlir::Value from, mlir::Value to,
                  llvm::function_ref<void(mlir::Value begin, mlir::Value end)> part);
  mlir::Value anyNotFinite(llvm::ArrayRef<mlir::Value> registers);
  mlir::Value leaveOut(mlir::Value a, mlir::Value b, mlir::Value kept, mlir::Value sum);

  struct Packed {
    TileMemory memory;
    mlir::Value from; ///< first row that is packed; null: row 0
  };
  std::optional<Packed> packed;
};

/// Prefetch during a product (CpuPrefetch.cpp): each step fetches some lines of the next tile's
/// panels and of this tile's result. A core has about twenty line fill buffers, and the product's
/// own loads need them too. Addresses need not exist, because a prefetch never faults.
class CpuPrefetch {
public:
  /// Prefetches for a product of `shape` over words [first, last), whose features end at `to`.
  CpuPrefetch(CpuEmitter &emitter, ContractOp op, const Fragment &shape, mlir::Value to,
              mlir::Value first, mlir::Value last, bool fetchesPanels);
  /// Prefetches the lines of the step of `words` words at `word`.
  void atStep(mlir::Value word, int64_t words);

private:
  /// Lines of row-major memory that the steps prefetch in order.
  struct Lines {
    mlir::Value start, pitch; ///< pitch: elements from row to row
    mlir::Type element;
    int64_t perLine, perRow, rows; ///< elements of a cache line, lines of a row, rows
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
  ContractOp op;
  mlir::Value first, last;
  mlir::Value panels; ///< what is prefetched: the next panels, or what comes in these; null: none
  int64_t ownPanels = 0; ///< of a lone row; 0: the next panels are
  mlir::Value share;     ///< words of a panel that are prefetched in one turn
  int64_t stored = 0;    ///< words of a column in a panel
  llvm::SmallVector<Lines> results;
  int64_t words = 0; ///< words of the product; 0: unknown, and no result lines
};

/// An entry of the list of strategies in CpuProduct.cpp.
struct ProductStrategy {
  bool (*accepts)(ContractOp op, const CpuTarget &target);
  Keeps (*keeps)(const CpuTarget &target);
  int64_t (*packsFrom)(ContractOp op);
  std::unique_ptr<CpuProduct> (*make)(CpuEmitter &emitter, ContractOp op);
};
template <class Product>
constexpr ProductStrategy strategyOf() {
  return {Product::accepts, Product::keeps, Product::packsFrom,
          [](CpuEmitter &emitter, ContractOp op) -> std::unique_ptr<CpuProduct> {
            return std::make_unique<Product>(emitter, op);
          }};
}

extern const ProductStrategy bf16Dot2, bf16Widened, f16Accumulate, int4, int8Dot4, int8Pairs,
    keptAsBf16, widened;

/// The strategy of a product: the first of the list that accepts its formats.
const ProductStrategy &chooseStrategy(ContractOp op, const CpuTarget &target);

} // namespace heddle::kernel
