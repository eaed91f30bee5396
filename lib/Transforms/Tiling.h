//===- Tiling.h - Builders of tiled bodies ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that all writers of bodies share: a builder of tile arithmetic, and the arguments of a
// kernel.def as views. One function per root writes the body; Tilers.cpp assigns them.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Planning/DefinitionViews.h"
#include "heddle/Support/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>
#include <numbers>

namespace heddle {

using std::numbers::ln2, std::numbers::log2e;

/// Tile arithmetic with explicit broadcasts.
class TileBuilder {
public:
  TileBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::RankedTensorType type(int64_t rows, int64_t cols, mlir::Type element = {});
  mlir::Value index(int64_t value);
  mlir::Value i32(mlir::Value index);
  mlir::Value toIndex(mlir::Value i32);
  /// Creates a constant in the type of `like`.
  mlir::Value constant(double value, mlir::Value like);
  mlir::Value constantI(int64_t value, mlir::Value like);
  mlir::Value broadcast(mlir::Value value, mlir::RankedTensorType type);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, double y) { return mul(x, constant(y, x)); }
  /// Quotient; unsigned for integers.
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  /// maxnum and minnum: if one operand is NaN, the result is the other.
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  /// Rounds to the nearest integer, ties to even.
  mlir::Value round(mlir::Value x);
  /// Rounds to a narrower float type; f32 is unchanged.
  mlir::Value narrow(mlir::Value x, mlir::Type element);
  /// Ordered comparison, false for NaN; signed for integers.
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value reduce(kernel::ReduceKind kind, mlir::Value x);
  mlir::Value iota(bool rows, mlir::Value from, mlir::RankedTensorType type);
  using Next = llvm::function_ref<mlir::Value(mlir::Value)>;
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  /// Combines `initial` with next(n) for every `step`th n in [first, end), in ascending order.
  mlir::Value fold(mlir::Value first, mlir::Value end, mlir::Value initial, Combine combine,
                   Next next, int64_t step = 1);
  /// Like fold, for large ranges. Rounds of sixteen keep errors of sums small, and keep loops below
  /// the 65,535 iterations after which Mesa's CPU driver exits them.
  mlir::Value foldMany(mlir::Value first, mlir::Value end, mlir::Value initial, Combine combine,
                       Next next);
  /// Like sumOfMany, but adds next(n) one by one, in ascending order from 0.
  mlir::Value chainOfMany(mlir::Value first, mlir::Value end, mlir::RankedTensorType type,
                          Next next);
  /// Sums next(n) for every n in [first, end), in ascending order from 0; tiles of f32.
  mlir::Value sum(mlir::Value first, mlir::Value end, mlir::RankedTensorType type, Next next);
  mlir::Value sumOfMany(mlir::Value first, mlir::Value end, mlir::RankedTensorType type, Next next);

  /// Required accuracy: f32, or eight bits if only operands of at most eight significant bits
  /// follow (bf16, int8).
  enum class Accuracy { F32, EightBits };
  /// Returns the accuracy that suffices if operands of products of this type follow.
  static Accuracy accuracyBeside(DType operands) {
    return formatOf(operands).significant <= 8 ? Accuracy::EightBits : Accuracy::F32;
  }
  /// 2^f for |f| <= 1/2, by a polynomial of degree 5, or 3 for eight bits.
  mlir::Value exp2Fraction(mlir::Value f, Accuracy accuracy = Accuracy::F32);
  /// x * 2^n for integers n <= 127, or 0 if n is below -125.
  mlir::Value scaleb(mlir::Value x, mlir::Value n);
  /// 2^d for integers d <= 127, or 0 if d is below -125 (never a denormal).
  mlir::Value exp2Integer(mlir::Value d);
  /// 2^x for any x; saturates at 2^126, and is 0 below -125.
  mlir::Value exp2(mlir::Value x);
  mlir::Value activation(transformer::Activation kind, mlir::Value x, Accuracy accuracy);
  /// log2 x of a finite normal x > 0, with a relative error below 3e-7.
  mlir::Value log2(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  /// e^x, and the natural logarithm with its limits: minus infinity at 0, NaN below.
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value erf(mlir::Value x);

private:
  mlir::Value coarseGelu(mlir::Value x);
};

/// A kernel under construction, with the definition's arguments and results as views. `setDims`
/// must be called before `createFunc`.
struct KernelBuilder : DefinitionViews {
  KernelBuilder(kernel::DefOp def, kernel::PlanAttr plan, mlir::OpBuilder &b)
      : DefinitionViews(def), plan(plan), t(b, def.getLoc()) {}

  kernel::PlanAttr plan;
  TileBuilder t;
  kernel::Size fewRows; ///< row count of a form for few rows; 0: the kernel serves any number
  bool rounds = false;  ///< the form rounds the rows of the definition's product

  /// Returns the view of the table that an op of the definition reads.
  mlir::Value tableOf(transformer::TransformerOpInterface op);
  /// Returns the row of a result of heads where a tile that starts at `row` is stored, relative to
  /// the layout's `at` or to the place of its sequence. Reduces `left` to the rows that the
  /// sequence stores.
  mlir::Value placeOf(unsigned result, mlir::Value sequence, mlir::Value row, mlir::Value &left);
  /// Returns the places of the only row that each of `rows` sequences, starting at `sequence`,
  /// stores in a result of heads, as Mx1; negative if a sequence stores none.
  mlir::Value placesOf(unsigned result, mlir::Value sequence, int64_t rows);
  /// Returns the attribute `ring` of a store to a result.
  mlir::IntegerAttr ringOf(unsigned result) const;
  /// Returns the row of an argument in its ring for `row`, the first row of a tile of keys.
  mlir::Value inRing(mlir::Value argument, mlir::Value row);
  /// Entries of `rows` sequences starting at `sequence`, Mx1 of i32.
  mlir::Value entriesOf(int64_t view, mlir::Value sequence, int64_t rows);
  /// Entry of `sequence` in argument `view`, as an index.
  mlir::Value entryOf(int64_t view, mlir::Value sequence);
  /// Value of a scalar argument, as i32.
  mlir::Value scalar(mlir::Value argument);

  /// Creates the kernel and moves the builder into its body.
  kernel::FuncOp createFunc(llvm::ArrayRef<kernel::Size> gridSizes,
                            llvm::ArrayRef<int64_t> gridTiles);
  mlir::Value view(unsigned index) { return func.getView(index); }
  /// Views of rounded rows and of their scales, which follow the other views if the form rounds rows or
  /// its plan is rounded.
  mlir::Value roundedRows() { return func.getView(numViews()); }
  mlir::Value roundedScales() { return func.getView(numViews() + 1); }
  /// Returns a view of the matrix (last two dimensions) or vector at leading points.
  mlir::Value slice(mlir::Value view, mlir::ValueRange points);
  /// Returns an extent as an index value.
  mlir::Value sizeValue(kernel::Size size);

  kernel::FuncOp func;

private:
  void addRounded(llvm::SmallVectorImpl<mlir::Type> &viewTypes);
  mlir::Value wrapped(int64_t ring, mlir::Value row);
};

/// Tiles of a definition's values at one position of a kernel: rows starting at `i` and columns
/// starting at `j` of the matrix at `points`.
class ValueTiles {
public:
  ValueTiles(KernelBuilder &f, int64_t rows, int64_t columns, mlir::ValueRange points,
             mlir::Value i, mlir::Value j)
      : f(f), t(f.t), rows(rows), columns(columns), points(points), i(i), j(j), position(i) {}

  /// Loads the tile of an argument; computes the tile of any other value by its op.
  mlir::FailureOr<mlir::Value> of(mlir::Value value);
  /// Matrix of an argument.
  mlir::Value matrix(mlir::Value argument) { return f.slice(f.view(f.viewOf(argument)), points); }
  mlir::Value load(mlir::Value view, mlir::Value row);

  KernelBuilder &f;
  TileBuilder &t;
  int64_t rows, columns;
  llvm::SmallVector<mlir::Value> points;
  mlir::Value i, j;
  mlir::Value position; ///< position of row i: the row itself, or its position in a document
  mlir::Value document; ///< index of the document that holds the rows; null: they are in none
  mlir::Value group;    ///< number of the matrix that multiplies the rows; null: the only one
  llvm::SmallDenseMap<mlir::Value, mlir::Value> known; ///< tiles of values that are computed
};

/// A document found by the number of a tile, in a grid over the tiles of all documents. The tiles
/// of document d are numbered from starts[d] / tile + d. This numbering has room for each document,
/// and d is found again without a table.
struct DocumentTile {
  mlir::Value document; ///< index of the document
  mlir::Value first;    ///< number of the document's first tile
};
/// Emits a search among `count` documents for the one that contains tile `number` (an index).
DocumentTile findDocument(TileBuilder &t, mlir::Value starts, mlir::Value count, mlir::Value number,
                          int64_t tile);

/// Emits a search among `count` documents for the last one that starts at or before `row`.
mlir::Value documentOf(TileBuilder &t, mlir::Value starts, mlir::Value count, mlir::Value row);
/// The document that contains a row, and the position of the row in it.
struct DocumentRow {
  mlir::Value document, position;
};
/// Emits a search among the documents whose starts are an argument of the definition.
DocumentRow findRow(KernelBuilder &f, mlir::Value documents, mlir::Value row);

/// Returns the starts of the documents that define the positions, or null.
mlir::Value packedDocuments(KernelBuilder &f);
/// Moves tiles, numbered through all documents, to the document of this tile. Returns the row after
/// the document's last. Spare tiles stay at the last row of all and store nothing.
mlir::Value enterDocument(ValueTiles &tiles, mlir::Value starts, mlir::Value total);

/// The number that is added to codes of whole rows, which are stored as bytes.
inline constexpr int64_t codeBase = 128;
/// Returns the first value that a definition yields.
mlir::Value yielded(KernelBuilder &f);
/// Stores a tile as each of the results, rounded if the result is narrower.
void storeResults(KernelBuilder &f, mlir::Value tile, mlir::ValueRange indices, mlir::Value left);
/// Stores a tile of `value` as each result that yields it. Other results are unchanged.
void storeValue(KernelBuilder &f, mlir::Value value, mlir::Value tile, mlir::ValueRange indices,
                mlir::Value left);
/// Creates the kernel. Its grid has one point per leading index of `view`, and `rowExtent` rows in
/// tiles of `rows`. If `columns` is not 0, it has `storedColumns` in tiles of `columns`.
void rowGrid(KernelBuilder &f, kernel::ViewType view, int64_t rows, int64_t columns,
             int64_t storedColumns, kernel::Size rowExtent);

// Functions that write bodies, one per root; errors are reported at the definition.
mlir::LogicalResult tileLinear(KernelBuilder &frame);
mlir::LogicalResult tileAttention(KernelBuilder &frame);
mlir::LogicalResult tileAttentionWeights(KernelBuilder &frame);
mlir::LogicalResult tileQueryGradient(KernelBuilder &frame);
mlir::LogicalResult tileKeyGradient(KernelBuilder &frame);
/// Hoists scalars out of loops.
void hoistScalars(kernel::FuncOp func);
/// Expands the functions of `math` in a score rule's formula.
void expandFunctions(kernel::FuncOp func);
mlir::LogicalResult tileHeadProducts(KernelBuilder &frame);
mlir::LogicalResult tileNorm(KernelBuilder &frame);
mlir::LogicalResult tileNormGradient(KernelBuilder &frame);
mlir::LogicalResult tilePatches(KernelBuilder &frame);
mlir::LogicalResult tileUnfold(KernelBuilder &frame);
mlir::LogicalResult tilePool(KernelBuilder &frame);
mlir::LogicalResult tilePoolGradient(KernelBuilder &frame);
mlir::LogicalResult tileQuantize(KernelBuilder &frame);
/// Rounds the rows of a linear's product.
mlir::LogicalResult tileRounding(KernelBuilder &frame);
mlir::LogicalResult tileCacheQuantize(KernelBuilder &frame);
mlir::LogicalResult tileSoftmax(KernelBuilder &frame);
mlir::LogicalResult tileLoss(KernelBuilder &frame);
mlir::LogicalResult tileLossGradient(KernelBuilder &frame);
mlir::LogicalResult tileLossMean(KernelBuilder &frame);
mlir::LogicalResult tileLossSum(KernelBuilder &frame);
mlir::LogicalResult tileRowNumbers(KernelBuilder &frame);
mlir::LogicalResult tileRoute(KernelBuilder &frame);
mlir::LogicalResult tileExpertCounts(KernelBuilder &frame);
mlir::LogicalResult tileExpertStarts(KernelBuilder &frame);
mlir::LogicalResult tileExpertPlaces(KernelBuilder &frame);
mlir::LogicalResult tileExpertRows(KernelBuilder &frame);
mlir::LogicalResult tileShift(KernelBuilder &frame);
mlir::LogicalResult tileElementwise(KernelBuilder &frame);
mlir::LogicalResult tileRelayout(KernelBuilder &frame);

} // namespace heddle
