//===- Tiling.h - Writing tiled bodies -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files that write bodies share: a builder of tile arithmetic, and the
// arguments of a kernel.def as views. One function a root writes the body; Tilers.cpp
// says which.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"
#include "heddle/Target/GpuTarget.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>
#include <numbers>

namespace heddle {

using std::numbers::ln2, std::numbers::log2e;

/// Tile arithmetic with broadcasting spelled out.
class TileBuilder {
public:
  TileBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::RankedTensorType type(int64_t rows, int64_t cols, mlir::Type element = {});
  mlir::Value index(int64_t value);
  mlir::Value i32(mlir::Value index);
  mlir::Value toIndex(mlir::Value i32);
  /// A constant of the type of `like`.
  mlir::Value constant(double value, mlir::Value like);
  mlir::Value constantI(int64_t value, mlir::Value like);
  mlir::Value broadcast(mlir::Value value, mlir::RankedTensorType type);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, double y) { return mul(x, constant(y, x)); }
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value round(mlir::Value x);
  /// Rounded to a narrower type of floats; f32 stays as it is.
  mlir::Value narrow(mlir::Value x, mlir::Type element);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value reduce(kernel::ReduceKind kind, mlir::Value x);
  mlir::Value iota(bool rows, mlir::Value from, mlir::RankedTensorType type);
  /// The sum of next(n) for each `step`th n from `first` to before `end`, in that order, from 0:
  /// tiles of f32.
  mlir::Value sum(mlir::Value first, mlir::Value end, mlir::RankedTensorType type,
                  llvm::function_ref<mlir::Value(mlir::Value)> next, int64_t step = 1);
  /// Such a sum of as many as there are: sixteen a round keep errors small, and loops shorter than
  /// the 65,535 rounds after which Mesa's CPU driver leaves them.
  mlir::Value sumOfMany(mlir::Value first, mlir::Value end, mlir::RankedTensorType type,
                        llvm::function_ref<mlir::Value(mlir::Value)> next);

  /// What a function must be good for: numbers of f32, or such whose neighbours are operands that
  /// are rounded to eight bits.
  enum class Accuracy { F32, EightBits };
  /// What suffices beside operands of products of this type.
  static Accuracy accuracyBeside(DType operands) {
    return formatOf(operands).significant <= 8 ? Accuracy::EightBits : Accuracy::F32;
  }
  /// 2^f for |f| <= 1/2, by a polynomial of degree 5, or 3.
  mlir::Value exp2Fraction(mlir::Value f, Accuracy accuracy = Accuracy::F32);
  /// x * 2^n for integers n <= 127, 0 for those below -125.
  mlir::Value scaleb(mlir::Value x, mlir::Value n);
  /// 2^d for integers d <= 127, 0 below -125 (never a denormal).
  mlir::Value exp2Integer(mlir::Value d);
  /// 2^x for any x; saturates at 2^126, 0 below -125.
  mlir::Value exp2(mlir::Value x);
  mlir::Value activation(transformer::Activation kind, mlir::Value x, Accuracy accuracy);
  /// log2 x of a finite x > 0 that is no denormal, relative error below 3e-7.
  mlir::Value log2(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  /// e^x, and the natural logarithm with its limits: minus infinity at 0, NaN below.
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);

private:
  mlir::Value erf(mlir::Value x);
  mlir::Value coarseGelu(mlir::Value x);
};

/// The arguments and results of a definition as views of a kernel under construction.
struct KernelBuilder {
  KernelBuilder(kernel::DefOp def, const TileSizes &sizes, bool countTiles, mlir::OpBuilder &b);

  kernel::DefOp def;
  const TileSizes &sizes;
  /// A build for tests: attention stores how many column tiles each tile of rows visited, instead
  /// of its output.
  bool countTiles;
  TileBuilder t;

  kernel::ViewType viewType(unsigned index) const { return types[index]; }
  /// Position among the views of an argument of the definition's block; -1 for scalars.
  int64_t viewOf(mlir::Value argument) const;
  unsigned firstResult() const { return resultStart; }
  /// Position of the view of the table, or -1.
  int64_t tableView() const;
  /// Where a result's rows start: the `at` scalar, or null.
  mlir::Value storeBase(unsigned result);
  /// Rows of a grid over the tiles of documents that start where `argument` says.
  kernel::Size slots(mlir::Value argument) const;
  /// Value of a scalar argument, i32.
  mlir::Value scalar(mlir::Value argument);

  /// Creates the kernel and moves the builder into its body.
  kernel::FuncOp createFunc(llvm::ArrayRef<kernel::Size> gridSizes,
                            llvm::ArrayRef<int64_t> gridTiles);
  mlir::Value view(unsigned index) { return func.getView(index); }
  /// A view of the matrix (last two dimensions) or vector at leading points.
  mlir::Value slice(mlir::Value view, mlir::ValueRange points);
  /// An extent as an index value.
  mlir::Value sizeValue(kernel::Size size);

  kernel::FuncOp func;

private:
  struct Argument {
    kernel::LayoutAttr layout;
    int64_t view;
  };
  Argument describe(kernel::LayoutAttr layout);

  llvm::SmallVector<Argument> arguments, results;
  llvm::SmallVector<kernel::ViewType> types;
  llvm::SmallVector<llvm::StringRef> storage;
  unsigned resultStart = 0;
};

/// Tiles of the values of a definition at one place of a kernel: rows from `i`, columns from `j` on,
/// of the matrix at `points`.
class ValueTiles {
public:
  ValueTiles(KernelBuilder &f, int64_t rows, int64_t columns, mlir::ValueRange points,
             mlir::Value i, mlir::Value j)
      : f(f), t(f.t), rows(rows), columns(columns), points(points), i(i), j(j), position(i) {}

  /// An argument's tile is loaded, any other value's computed by its op.
  mlir::FailureOr<mlir::Value> of(mlir::Value value);
  /// The matrix of an argument.
  mlir::Value matrix(mlir::Value argument) { return f.slice(f.view(f.viewOf(argument)), points); }
  mlir::Value load(mlir::Value view, mlir::Value row);

  KernelBuilder &f;
  TileBuilder &t;
  int64_t rows, columns;
  llvm::SmallVector<mlir::Value> points;
  mlir::Value i, j;
  mlir::Value position; ///< of row i: the row itself, or its place in a document
};

/// A document among those that lie one after another, found by a place in a grid over their tiles.
/// The tiles of document d are numbered from starts[d] / tile + d: always enough of them, and no
/// table is needed to find d again.
struct DocumentTile {
  mlir::Value document; ///< index
  mlir::Value first;    ///< number of the document's first tile
};
/// Emits a search among `count` documents for the one that tile number `number` (an index) belongs
/// to.
DocumentTile findDocument(TileBuilder &t, mlir::Value starts, mlir::Value count, mlir::Value number,
                          int64_t tile);

/// How the target runs a body: a level of Vulkan devices, or, null, CPUs.
kernel::ScheduleAttr chooseSchedule(kernel::FuncOp body, const GpuTarget *gpu);
/// A linear's product as its format multiplies and scales it.
mlir::Value tileProduct(ValueTiles &tiles, transformer::LinearOp linear);
/// The only value that a definition yields, before it is rounded: it may yield both forms.
mlir::Value yielded(KernelBuilder &f);
/// Stores a tile as each of the results, rounded where they are narrower.
void storeResults(KernelBuilder &f, mlir::Value tile, mlir::ValueRange indices, mlir::Value left);

// One writer a root; each fails with an error at the definition.
mlir::LogicalResult tileLinear(KernelBuilder &frame);
mlir::LogicalResult tileAttention(KernelBuilder &frame);
mlir::LogicalResult tileAttentionWeights(KernelBuilder &frame);
/// Moves scalars that a loop computes again and again in front of it.
void hoistScalars(kernel::FuncOp func);
/// Writes out the functions of `math` that a score rule's formula calls.
void expandFunctions(kernel::FuncOp func);
mlir::LogicalResult tileNorm(KernelBuilder &frame);
mlir::LogicalResult tilePatches(KernelBuilder &frame);
mlir::LogicalResult tilePool(KernelBuilder &frame);
mlir::LogicalResult tileQuantize(KernelBuilder &frame);
mlir::LogicalResult tileSoftmax(KernelBuilder &frame);
mlir::LogicalResult tileLoss(KernelBuilder &frame);
mlir::LogicalResult tileLossMean(KernelBuilder &frame);
mlir::LogicalResult tileShift(KernelBuilder &frame);
mlir::LogicalResult tileElementwise(KernelBuilder &frame);
mlir::LogicalResult tileRelayout(KernelBuilder &frame);

} // namespace heddle
