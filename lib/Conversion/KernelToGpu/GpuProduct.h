//===- GpuProduct.h - Strategies of products on the GPU ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strategies of products. Each contraction has one of Products/, chosen by the
// element types of its sides and by the target (GpuProduct.cpp):
//
//   over features   rows of a view times panels
//   over rows       the staged tile times rows of a view; may be guarded
//
// If the kernel's plan has blocks of k, the workgroup stages a block of both sides of
// a product over features in its memory (GpuStaging.h), from where each invocation
// reads its operands. The chains of additions are the same as without staging.
//
// To add a strategy: a file in Products/, its declaration at the end of this
// header, and its place in the list.
#pragma once

#include "GpuEmitter.h"
#include "GpuStaging.h"

namespace heddle {

/// Mapping of the kernel that contains an op.
kernel::Mapping mappingOf(mlir::Operation *op);
/// For each lane, whether it is infinite or NaN in some register.
mlir::Value lanesNotFinite(GpuEmitter &e, llvm::ArrayRef<mlir::Value> registers);
/// Whether any lane of a register is infinite or NaN.
mlir::Value isAnyNotFinite(GpuEmitter &e, llvm::ArrayRef<mlir::Value> registers);

/// The product of one contraction in an invocation. This base class multiplies f32 with one fused
/// multiply-add for each step; other strategies override how operands are loaded and multiplied.
class GpuProduct {
public:
  GpuProduct(GpuEmitter &emitter, kernel::ProductOpInterface op)
      : e(emitter), builder(emitter.builder), loc(emitter.loc), width(emitter.width), op(op),
        shape(emitter.shapeOf(op.getType())), block(op.isOverRows() ? 0 : emitter.placement.block) {
  }
  virtual ~GpuProduct() = default;
  static constexpr int64_t vec4 = 4; ///< steps of k in one load of the left side
  static bool accepts(kernel::ProductOpInterface, const GpuTarget &) { return true; }

  /// Emits the product; returns the op's fragment.
  mlir::FailureOr<kernel::Fragment> run();

  // Sums of a guarded contraction. The main loop is correct if all sums are finite. Otherwise all
  // steps are repeated without products of zero and a non-finite value.
  using Registers = llvm::SmallVector<mlir::Value>;
  void sumOrRestart(Registers &sums);      ///< repeats by the loop over the remaining steps
  void sumOrRepeat(Registers &sums);       ///< repeats in a branch
  void sumBeyondOrRepeat(Registers &sums); ///< likewise; the main loop runs past the last step

protected:
  static constexpr int64_t scalesOfStep = 2;

  /// A loop over k in [from, to).
  struct Loop {
    mlir::Value from, to;
    int64_t steps;        ///< steps of k in one iteration
    bool guarded = false; ///< skips 0 * w if w is not finite
    /// Ends at a multiple of `steps`; rows after the last are read as the last.
    bool beyond = false;
  };

  //===--------------------------------------------------------------------===//
  // Hooks of strategies
  //===--------------------------------------------------------------------===//

  /// c + a * b of one step of k; `a` is broadcast to a register.
  virtual mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded);
  /// Features in a step of k.
  virtual int64_t word() const { return 1; }
  /// Steps in an iteration of the main loop, a multiple of `vec4`.
  virtual int64_t unrolled() const;
  /// Steps in an iteration of the loop over the remaining steps.
  virtual int64_t grain() const { return 1; }
  /// Order of the steps in an iteration: returns the k of step `step`.
  virtual int64_t inOrder(int64_t step, int64_t steps) const { return step; }
  virtual void placeRight();
  /// Vec4s of a panel in `steps` steps of k.
  virtual int64_t panelQuads(int64_t steps);
  /// Start of a panel of the kernel's tile, in vec4s.
  virtual mlir::Value panelAt(mlir::Value panel);
  /// Vec4s of a row in `steps` steps; 0: the left side is not staged.
  virtual int64_t rowQuads(int64_t steps, bool areLast = false);
  /// Staging of the scales of rows, `scalesOfStep` for each step, if the format has scales.
  virtual std::optional<GpuStaging> stagedScales() { return std::nullopt; }
  /// Steps of the whole product.
  virtual int64_t allSteps() { return *e.constantOf(count); }
  /// Whether the last step has fewer features than the others.
  virtual bool endsShort() { return false; }
  /// Registers of the right side at k + u. `kept` passes registers to the next steps of the
  /// iteration.
  virtual Registers loadRight(mlir::Value k, int64_t u, Registers &kept);
  /// Element or word of the left side, `u` steps after `place`. `loaded` caches a load; `whole`: in
  /// the main loop.
  virtual mlir::Value loadLeft(mlir::Value &loaded, kernel::Address place, int64_t u, bool whole);
  /// Emits loops between the main loop and the remaining steps; returns the first of the latter.
  virtual mlir::Value middleLoops(mlir::Value from, Registers &sums) { return from; }
  /// Adds the products of all k.
  virtual void sumProducts(Registers &sums);
  /// Adds the products of `steps` steps from `first` on. If sides are staged, k counts from the
  /// start of the block, which is step `start`.
  virtual void addSteps(mlir::Value first, int64_t steps, mlir::Value start, Registers &sums);
  /// Number of sums in addition to the sums of the tile.
  virtual int64_t sumsBeside() const { return 0; }
  /// Merges the additional sums into the sums of the tile and removes them.
  virtual void finishSums(Registers &) {}
  /// Whether the next block is loaded after the products of a block rather than before them.
  virtual bool fetchesLate() const { return false; }
  /// Whether staging widens words of two bf16 to two of f32 (GpuStaging.h).
  virtual bool widens() const { return false; }
  /// Converts four words of a row to their staged form.
  virtual mlir::Value asStaged(mlir::Value quad) { return quad; }
  /// As `loadLeft`, from the staged block.
  virtual mlir::Value loadStagedLeft(mlir::Value &loaded, mlir::Value k, int64_t row, int64_t u);
  /// Left side of all rows at k + u, if it is staged crosswise; `kept` as in `loadRight`.
  virtual Registers loadCrosswise(mlir::Value k, int64_t u, Registers &kept);

  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  void emitLoop(const Loop &loop, Registers &sums);
  const kernel::BoundView &right() { return e.view(op.getRhs()); }
  bool isStaged() const { return block != 0; }
  /// Elements of the right side in a word of a staged block.
  int64_t elementsOfStagedWord() { return widens() ? 1 : GpuEmitter::perWord(right()); }
  /// Staged vec4s of a number of vec4s in memory.
  int64_t stagedQuads(int64_t quads) const { return widens() ? 2 * quads : quads; }
  GpuStaging::Layout rightLayout();
  GpuStaging::Layout leftLayout();
  /// Loads four words of the right side, from memory or from the staged block.
  mlir::Value rightQuad(kernel::Address place);
  /// Whether the left side is staged crosswise, for invocations with a multiple of four rows.
  bool isCrosswise() const { return isStaged() && shape.rows % vec4 == 0; }
  /// Four words of a row of the staged left side, or word `lane` of them.
  mlir::Value leftQuad(int64_t row, mlir::Value quad, mlir::Value lane = {});
  /// One word of each row of a crosswise left side, as vec4s of four rows.
  Registers leftWords(mlir::Value word) { return wordsOfRows(leftLayout(), word); }
  Registers wordsOfRows(const GpuStaging::Layout &layout, mlir::Value word);
  mlir::Value wordOfRows(const GpuStaging::Layout &layout, mlir::Value word, int64_t four);
  /// Stages `quads` vec4s of each row of a view. Rows after the last are copies of it.
  GpuStaging stagedRows(const kernel::BoundView &view, GpuStaging::Layout layout, int64_t quads);
  /// Crosswise layout of `words` words of each row.
  GpuStaging::Layout crosswise(SharedArray array, int64_t words);
  /// Lanes of crosswise vec4s, row by row.
  Registers rowsOf(llvm::ArrayRef<mlir::Value> quads);
  /// Pitch of runs of `quads` vec4s in a staged block.
  static int64_t pitchOfRuns(int64_t runs, int64_t quads) { return runs > 1 ? quads + 1 : quads; }
  /// Place of a column of the tile in a staged block of the right side.
  mlir::Value stagedColumn(mlir::Value column);
  /// Dot products of four signed bytes in each word, or in one word, if the target has them.
  mlir::Value packedDots(mlir::Value a, mlir::Value b);
  mlir::Value packedDot(mlir::Value a, mlir::Value b);
  /// The end of a loop over k; 0 if this invocation's rows do not exist.
  mlir::Value end(mlir::Value k) { return e.mapping->unlessMissing(k); }
  /// Start of this invocation's first row in a view with the rows of the left side.
  mlir::Value rowStart(const kernel::BoundView &view);

  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t width;
  kernel::ProductOpInterface op;
  kernel::Fragment shape;
  int64_t block; ///< steps of a staged block; 0: sides are not staged
  llvm::SmallVector<kernel::Address> rightPlaces; ///< at k = 0, one for each register of a row
  int64_t rightStep = 0;                          ///< elements from k to k + 1
  mlir::Value count;                              ///< number of steps

private:
  mlir::LogicalResult placeLeft();
  mlir::Value firstRow();
  mlir::Value panelStart(mlir::Value column);
  void placeStagedRight();
  GpuStaging stagedRight(int64_t steps);
  /// Copies of an invocation's parts of a block of both sides.
  struct Copies {
    GpuStaging right, left;
    std::optional<GpuStaging> scales;
  };
  Copies copiesOf(int64_t steps, bool areLast);
  void fetch(Copies &copies, mlir::Value first, Registers &loaded);
  void store(Copies &copies, llvm::ArrayRef<mlir::Value> loaded);
  void sumStaged(Registers &sums);
  /// With a single register, unrolling past two loads of a row would only lengthen the prefetch. A
  /// word of several elements has fewer steps, because each element needs a register.
  int64_t stepsOfIteration() {
    if (!isStaged())
      return unrolled();
    return shape.size() == 1 ? std::max<int64_t>(2 * vec4 / word(), 2) : 4 * vec4;
  }
  mlir::Value leftScalar(mlir::Value &loaded, mlir::Value k, int64_t row, int64_t u, bool whole);
  void emitSteps(const Loop &loop, mlir::Value k, Registers &sums);
  Registers loadHalves(mlir::Value far, int64_t step);
  mlir::Value sumWhole(Registers &sums);
  mlir::Value restartIfNotFinite(mlir::Value whole, Registers &sums);

  mlir::Value leftStart; ///< null: the left side is the staged tile
  int64_t leftPitch = 0; ///< pitch of the view, or columns of the staged tile
};

/// The product of an op, by the first strategy that accepts it.
std::unique_ptr<GpuProduct> makeProduct(GpuEmitter &emitter, kernel::ProductOpInterface op);

/// An entry of the list of strategies in GpuProduct.cpp.
struct GpuProductStrategy {
  bool (*accepts)(kernel::ProductOpInterface op, const GpuTarget &target);
  std::unique_ptr<GpuProduct> (*make)(GpuEmitter &emitter, kernel::ProductOpInterface op);
};
template <class Product>
constexpr GpuProductStrategy gpuStrategyOf() {
  return {Product::accepts,
          [](GpuEmitter &emitter, kernel::ProductOpInterface op) -> std::unique_ptr<GpuProduct> {
            return std::make_unique<Product>(emitter, op);
          }};
}

extern const GpuProductStrategy gpuBf16Dot2, gpuBf16Rows, gpuF16Widened, gpuInt4, gpuInt8Dot4,
    gpuInt8Packed, gpuKeptBf16Rows, gpuKeptRows, gpuPairedPanels, gpuWidenedPanels;

} // namespace heddle
