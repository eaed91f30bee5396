//===- GpuOperands.h - Operands of a product on the GPU ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An invocation reads the operands of a product from memory or from a block that its
// workgroup staged (GpuStaging.h). Each place has a class; only `makeLeft` and `makeRight`
// choose among them. A view has a class for each side, and so does a staged block. Rows of a
// tile in workgroup memory, crosswise blocks and rows of f16 have classes as well.
#pragma once

#include "GpuEmitter.h"
#include "GpuStaging.h"

namespace heddle {

class GpuProduct;

/// Places of both operands.
enum class GpuSource : unsigned { Memory = 1, Staged = 2, Crosswise = 4 };

/// Steps and operands of a product, as its strategy defines them.
struct GpuProductForm {
  int64_t word = 1;  ///< features in a step of k
  int64_t grain = 1; ///< steps in an iteration of the loop over the remaining steps
  int64_t block = 0; ///< steps of a staged block
  /// Number of steps; empty: the words of a row, or the rows of the right side.
  std::optional<int64_t> steps;
  bool endsShort = false; ///< whether the last step has fewer features than the others
  /// Vec4s that a row lacks in the last block.
  int64_t missingVec4s = 0;
  /// Vec4s of a panel in a step, and elements from a panel to the next in memory. If the latter is
  /// 0, it follows from the pitch of rows.
  int64_t panelVec4s = 0, panelElements = 0;
  bool widens = false;    ///< staging widens words of two bf16 to two of f32
  bool signsRows = false; ///< staging subtracts 128 from the bytes of rows
  /// Whether the next block is loaded after the products of a block rather than before them.
  bool fetchesLate = false;
};

/// A contraction and its form: the common part of a product and of its operands.
class GpuContraction {
public:
  GpuContraction(GpuEmitter &emitter, kernel::ProductOpInterface op, const GpuProductForm &form);

protected:
  using Registers = llvm::SmallVector<mlir::Value>;

  const kernel::BoundView &leftView() { return e.view(op.getLhs()); }
  const kernel::BoundView &rightView() { return e.view(op.getRhs()); }
  int64_t columns() { return GpuEmitter::columnsOf(op.getType()); }
  static int64_t pitchOf(const kernel::BoundView &view);
  /// First row of this invocation in the left view.
  mlir::Value firstRow();
  /// Start of the first row in a view with the rows of the left side.
  mlir::Value rowStart(const kernel::BoundView &view);
  /// Steps in an iteration over a staged block. With a single register, unrolling past two loads of
  /// a row would only lengthen the prefetch. A word of several elements has fewer steps, because
  /// each element needs a register.
  int64_t stepsOfStagedIteration() const;
  /// Elements of the right side in a word of a staged block.
  int64_t elementsOfStagedWord();
  /// Layout of the staged panels.
  GpuStaging::Layout panelLayout();

  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t width;
  kernel::ProductOpInterface op;
  kernel::Fragment shape;
  GpuProductForm form;
};

/// Left side of a product: this invocation's rows.
class GpuLeft : protected GpuContraction {
public:
  explicit GpuLeft(const GpuContraction &product) : GpuContraction(product) {}
  virtual ~GpuLeft() = default;

  /// Finds the rows; returns the number of steps.
  virtual mlir::FailureOr<mlir::Value> place() = 0;
  /// Forgets loaded vec4s. Called before each step whose number is a multiple of four.
  void reset() { loaded.assign(shape.rows, mlir::Value()); }
  /// Element or word of a row, `u` steps after k. `isWhole`: in the main loop.
  virtual mlir::Value load(mlir::Value k, int64_t row, int64_t u, bool isWhole) = 0;
  /// Copies of the rows of a block of `steps` steps to workgroup memory, and of the scales of rows.
  virtual std::optional<GpuStaging> staged(int64_t steps, bool isLast) { return std::nullopt; }
  virtual std::optional<GpuStaging> stagedScales() { return std::nullopt; }

protected:
  Registers loaded; ///< vec4 of each row
};

/// Rows of a view in memory.
class ViewRows : public GpuLeft {
public:
  using GpuLeft::GpuLeft;
  mlir::FailureOr<mlir::Value> place() override;
  mlir::Value load(mlir::Value k, int64_t row, int64_t u, bool isWhole) override;

protected:
  /// Loads an element or a word, `u` steps after `place`.
  virtual mlir::Value loadAt(mlir::Value &vec4, kernel::Address place, int64_t u, bool isWhole);

private:
  mlir::Value start;
};

/// Rows of a staged block.
class StagedRows : public ViewRows {
public:
  using ViewRows::ViewRows;
  mlir::Value load(mlir::Value k, int64_t row, int64_t u, bool isWhole) override;
  std::optional<GpuStaging> staged(int64_t steps, bool isLast) override;

protected:
  int64_t rowVec4s(int64_t steps);
  virtual GpuStaging::Layout layout();
  GpuStaging copyOf(const kernel::BoundView &view, GpuStaging::Layout layout, int64_t vec4s,
                    GpuStaging::Rate rate);
  /// Vec4 of a row, or word `lane` of it.
  mlir::Value read(int64_t row, mlir::Value vec4, mlir::Value lane = {});
};

/// Rows of a crosswise block, for invocations with a multiple of four rows.
class CrosswiseRows : public StagedRows {
public:
  using StagedRows::StagedRows;
  /// Steps of a block with scales at most: their scales are a vec4 of each row.
  static constexpr int64_t scalesOfStep = 2, mostScaledSteps = kVec4 / scalesOfStep;

  mlir::Value load(mlir::Value k, int64_t row, int64_t u, bool isWhole) override;
  std::optional<GpuStaging> stagedScales() override;
  /// One word of each row.
  Registers words(mlir::Value word) { return lanesOf(vec4sOf(word)); }
  /// Scale `number` of rows `first` to `first` + 3.
  mlir::Value scales(mlir::Value number, int64_t first) {
    return readFour(scalesLayout(), number, first / kVec4);
  }

protected:
  /// Rows at k + u. Called for steps in order.
  virtual Registers loadAll(mlir::Value k, int64_t u);
  GpuStaging::Layout layout() override;
  Registers vec4sOf(mlir::Value word);
  Registers lanesOf(llvm::ArrayRef<mlir::Value> vec4s);

private:
  GpuStaging::Layout scalesLayout() { return crosswise(SharedArray::Scales, kVec4); }
  GpuStaging::Layout crosswise(SharedArray array, int64_t words);
  mlir::Value readFour(const GpuStaging::Layout &layout, mlir::Value word, int64_t four);

  Registers rows; ///< elements or words of the current step
};

/// Right side of a product: this invocation's columns.
class GpuRight : protected GpuContraction {
public:
  explicit GpuRight(const GpuContraction &product) : GpuContraction(product) {}
  virtual ~GpuRight() = default;

  /// Finds the addresses of columns.
  virtual void place() = 0;
  /// Registers at k + u.
  virtual Registers load(mlir::Value k, int64_t u);
  /// Four words, in memory or in the block.
  virtual mlir::Value vec4(kernel::Address place) = 0;
  /// Words 0 and 1 of a vec4, or words 2 and 3 if `isSecond`. `place` is the first of them in
  /// memory, and the vec4 in a block.
  virtual std::pair<mlir::Value, mlir::Value> halfVec4(kernel::Address place,
                                                       mlir::Value isSecond) = 0;
  /// Column of the view, or of the block, with the given column of the tile.
  virtual mlir::Value columnOf(mlir::Value column) = 0;
  /// Start of a panel; `number` counts panels of the view or of the block.
  virtual mlir::Value panelAt(mlir::Value number) = 0;

  /// Steps in an iteration of the main loop; `unrolled` is the number that the mapping chooses.
  virtual int64_t stepsOfIteration(int64_t unrolled) const = 0;
  /// Steps in an iteration of the loop over `rest` remaining steps.
  virtual int64_t stepsOfRest(int64_t rest) const = 0;
  /// Adds the products of all steps.
  virtual void sum(GpuProduct &product, Registers &sums) = 0;

  llvm::SmallVector<kernel::Address> places; ///< at k = 0, one for each register of a row
  int64_t step = 0;                          ///< elements from k to k + 1

protected:
  /// Four elements as f32.
  virtual mlir::Value floats(kernel::Address place) = 0;
};

std::unique_ptr<GpuLeft> makeLeft(GpuSource source, const GpuContraction &product,
                                  kernel::ProductOpInterface op);
std::unique_ptr<GpuRight> makeRight(GpuSource source, const GpuContraction &product,
                                    GpuEmitter &emitter, kernel::ProductOpInterface op);

} // namespace heddle
