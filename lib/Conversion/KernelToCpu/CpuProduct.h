//===- CpuProduct.h - What multiplies on the CPU ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction multiplies by one of the strategies in Products/, which the formats
// of its sides and the target choose (CpuProduct.cpp). Two kinds of products:
//
//   over features   rows of a view by panels; the next panels are fetched meanwhile
//   over rows       a tile in scratch by rows of a view, maybe guarded
//
// A further strategy is a file in Products/, its declaration at the end of this one, and
// its place in the list.
#pragma once

#include "CpuEmitter.h"

namespace heddle::kernel {

/// One contraction of a body: of f32, by a fused multiply-add a step. Other strategies derive from
/// it and say how they load, pack and multiply.
class CpuProduct {
public:
  CpuProduct(CpuEmitter &emitter, ContractOp op)
      : e(emitter), builder(emitter.builder), loc(emitter.loc), width(emitter.width), op(op) {}
  virtual ~CpuProduct() = default;
  static bool accepts(const NumberFormat &, const CpuTarget &) { return true; }
  static bool takesApart(const CpuTarget &target) { return false; }

  /// Packs the features [from, to) of B, null: all of them, for the large register tile, where the
  /// strategy does so: B is then read from scratch.
  void pack(mlir::Value from = {}, mlir::Value to = {});
  void releasePacked();
  /// Frees packed B and partial sums.
  void release();
  /// `sums` and the products of the features [from, to).
  Registers overFeatures(const Fragment &shape, Registers sums, mlir::Value from, mlir::Value to);
  /// The products of a tile in scratch by the op's rows.
  Registers overRows(const Fragment &shape, const TileMemory &left);

  /// Sums over all blocks of features but the last.
  std::optional<TileMemory> partialSums;

protected:
  /// Register `i` of a side at k + `unrolled`: the scalar of row i on the left, a vector on the right.
  using Operand = std::function<mlir::Value(mlir::Value k, int64_t i, int64_t unrolled)>;
  /// A chain of products over k in [from, to).
  struct Chain {
    const Fragment &shape;
    mlir::Value from, to;
    Operand left, right;
    std::function<void(mlir::Value k)> atStep; ///< once in each step of the unrolled loop
    int64_t unroll = 4;
    /// Steps of k that are never parted: what is left behind whole unrolled steps goes by so many.
    int64_t grain = 1;
    bool guarded = false; ///< leaves out products of a zero and a non-finite value
  };

  //===--------------------------------------------------------------------===//
  // What a strategy supplies
  //===--------------------------------------------------------------------===//

  /// c + a * b of one step of k; `a` is broadcast to a register.
  virtual mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded) {
    return multiplyAdd(a, b, c, guarded);
  }
  /// The registers of B, from its panels or rows: elements as they lie, or words of several.
  virtual Operand loadB(const Fragment &shape);
  /// Whether B is stored narrower than it is multiplied: k then counts features instead of words.
  virtual bool decodes() const { return false; }
  /// Steps of a chain that reads B unpacked.
  virtual int64_t unrolled() { return decodes() ? 8 : 4; }
  virtual bool fetchesNextPanels() const { return true; }
  /// Sums over the features of a chain, the words [first, last).
  virtual Registers sumFeatures(Chain chain, Registers sums, mlir::Value first, mlir::Value last);
  /// Adds the products of the rows [begin, end).
  using RowPart =
      std::function<Registers(mlir::Value begin, mlir::Value end, Registers sums, bool guarded)>;
  virtual RowPart sumRows(const Fragment &shape, const TileMemory &left);

  /// The form of packed B; none where the strategy packs nothing.
  virtual std::optional<TileMemory> packedForm() { return std::nullopt; }
  virtual void packRows(const TileMemory &packed, mlir::Value begin, mlir::Value end) {}
  virtual void packPanels(const TileMemory &packed, ColumnRange columns, mlir::Value from,
                          mlir::Value to) {}

  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  Registers emitChain(const Chain &chain, Registers sums);
  /// The words that begin among some features.
  mlir::Value wordsOf(mlir::Value features);
  void fetchMeanwhile(Chain &chain, mlir::Value first, mlir::Value last);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded);
  BoundView left() { return e.view(op.getLhs()); }
  BoundView right() { return e.view(op.getRhs()); }
  /// The features of B, without padding.
  int64_t features() { return featuresOf(op); }
  int64_t word() { return CpuEmitter::perWord(right()); }
  /// Where the rows of the left view begin.
  llvm::SmallVector<Address> leftRows(const Fragment &shape);
  bool isPacked() const { return packed && e.at.rows == e.plan.fragment.rows; }
  Operand loadPacked(const Fragment &shape);
  /// Packed B of decoded f32, panels [c/16][k][16] or rows; none where it would leave little room
  /// in the second cache.
  std::optional<TileMemory> decodedForm();
  int64_t packedFeatures();

  CpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t width;
  ContractOp op;

private:
  TileMemory widenLeft(const Fragment &shape, mlir::Value from, mlir::Value to);
  Registers overVisited(mlir::Value from, mlir::Value to, mlir::ValueRange start,
                        llvm::function_ref<Registers(mlir::Value, mlir::Value, Registers)> part);
  void forVisited(mlir::Value from, mlir::Value to,
                  llvm::function_ref<void(mlir::Value begin, mlir::Value end)> part);
  mlir::Value anyNotFinite(llvm::ArrayRef<mlir::Value> registers);
  mlir::Value leaveOut(mlir::Value a, mlir::Value b, mlir::Value kept, mlir::Value sum);

  struct Packed {
    TileMemory memory;
    mlir::Value from; ///< first feature that is there; null: the first of all
  };
  std::optional<Packed> packed;
};

/// What a product fetches meanwhile (CpuPrefetch.cpp): the panels of the next tile and the lines of
/// its result, some in each step. A core has room for some twenty lines on their way, and the
/// product's own loads need it too. What is fetched need not exist: such addresses are no error.
class CpuPrefetch {
public:
  /// For a product of `shape` over the features up to `to`, the words [first, last) of them.
  CpuPrefetch(CpuEmitter &emitter, ContractOp op, const Fragment &shape, mlir::Value to,
              mlir::Value first, mlir::Value last, bool fetchesPanels);
  /// The lines of the step of `words` words that begins at `word`.
  void atStep(mlir::Value word, int64_t words);

private:
  /// Lines of row-major memory that the steps fetch one after the other.
  struct Lines {
    mlir::Value start, pitch; ///< pitch: elements from row to row
    mlir::Type element;
    int64_t perLine, perRow, rows; ///< elements of a cache line, lines of a row, rows
    bool isWritten;
  };
  void findNextPanels();
  void addResultLines(const Fragment &shape);
  void fetchPanels(mlir::Value word);
  void fetchLines(const Lines &lines, mlir::Value step, int64_t steps);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no) const {
    return mlir::arith::SelectOp::create(e.builder, e.loc, condition, yes, no);
  }

  CpuEmitter &e;
  ContractOp op;
  mlir::Value first, last;
  mlir::Value panels;  ///< where the next ones begin; null: none are fetched
  int64_t quarter = 0; ///< words of one fragment's turn in a panel
  int64_t stored = 0;  ///< words of a panel's column
  llvm::SmallVector<Lines> results;
  int64_t words = 0; ///< of the product; 0: unknown, and no results
};

/// One way to multiply, as the list in CpuProduct.cpp names it.
struct ProductStrategy {
  bool (*accepts)(const NumberFormat &format, const CpuTarget &target);
  /// Whether a step is other instructions on parts of words, which need registers.
  bool (*takesApart)(const CpuTarget &target);
  std::unique_ptr<CpuProduct> (*make)(CpuEmitter &emitter, ContractOp op);
};
template <class Product>
constexpr ProductStrategy strategyOf() {
  return {Product::accepts, Product::takesApart,
          [](CpuEmitter &emitter, ContractOp op) -> std::unique_ptr<CpuProduct> {
            return std::make_unique<Product>(emitter, op);
          }};
}

extern const ProductStrategy bf16Dot2, f16Accumulate, f16Widened, int4, int8Dot4;

/// The strategy of a product: the first of the list that accepts its formats.
const ProductStrategy &chooseStrategy(ContractOp op, const CpuTarget &target);

} // namespace heddle::kernel
