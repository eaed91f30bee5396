//===- GpuProduct.h - Strategies of products on the GPU ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strategies of products. Each contraction has one of Products/, chosen by the
// elements of its sides and by the target (GpuProduct.cpp):
//
//   over features   rows of a view by panels
//   over rows       the staged tile by rows of a view, maybe guarded
//
// Where the kernel's plan has blocks of k, all invocations load a block of both
// sides of a product over features into workgroup memory (GpuStaging.h), and each
// multiplies what it reads there: the same chains, by the same steps.
//
// To add a strategy: a file in Products/, its declaration at the end of this
// header, and its place in the list.
#pragma once

#include "GpuEmitter.h"
#include "GpuStaging.h"

namespace heddle {

/// The mapping of the kernel that an op is in.
kernel::Mapping mappingOf(mlir::Operation *op);
/// Whether each lane is infinite or NaN in some register.
mlir::Value lanesNotFinite(GpuEmitter &e, llvm::ArrayRef<mlir::Value> registers);
/// Whether any is.
mlir::Value isAnyNotFinite(GpuEmitter &e, llvm::ArrayRef<mlir::Value> registers);

/// The product of one contraction in an invocation. This base class multiplies f32 by a fused
/// multiply-add a step; other strategies override how operands are loaded and multiplied.
class GpuProduct {
public:
  GpuProduct(GpuEmitter &emitter, kernel::ContractOp op)
      : e(emitter), builder(emitter.builder), loc(emitter.loc), width(emitter.width), op(op),
        shape(emitter.shapeOf(op.getType())), block(op.getRows() ? 0 : emitter.placement.block) {}
  virtual ~GpuProduct() = default;
  static constexpr int64_t vec4 = 4; ///< k of one load of the left side
  static bool accepts(kernel::ContractOp, const GpuTarget &) { return true; }

  /// Emits the product; returns the op's fragment.
  mlir::FailureOr<kernel::Fragment> run();

  // Sums of a guarded contraction. The products of a main loop are right where all sums are finite; else
  // the loop runs again and leaves out a zero times a value that is not finite.
  using Registers = llvm::SmallVector<mlir::Value>;
  void sumOrRestart(Registers &sums);      ///< the loop of the remaining steps starts at 0 then
  void sumOrRepeat(Registers &sums);       ///< all steps are repeated in a branch
  void sumBeyondOrRepeat(Registers &sums); ///< also, and the main loop runs beyond the last step

protected:
  static constexpr int64_t scalesOfStep = 2;

  /// A loop over k in [from, to).
  struct Loop {
    mlir::Value from, to;
    int64_t steps;        ///< of k in one iteration
    bool guarded = false; ///< leaves out 0 * w where w is not finite
    bool beyond =
        false; ///< ends at a multiple of `steps`: rows behind the last are read as the last
  };

  //===--------------------------------------------------------------------===//
  // Hooks of strategies
  //===--------------------------------------------------------------------===//

  /// c + a * b of one step of k; `a` is broadcast to a register.
  virtual mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded);
  /// Features in a step of k.
  virtual int64_t word() const { return 1; }
  /// Steps of the main loop, a multiple of `vec4`.
  virtual int64_t unrolled() const;
  /// Steps that stay together: the remainder behind the main loop runs in groups of so many.
  virtual int64_t grain() const { return 1; }
  /// Order of the steps in an iteration: the k of step number `step`.
  virtual int64_t inOrder(int64_t step, int64_t steps) const { return step; }
  virtual void placeRight();
  /// Quads of a panel in `steps` steps of k, and where a panel of the kernel's tile begins, in quads.
  virtual int64_t panelQuads(int64_t steps);
  virtual mlir::Value panelAt(mlir::Value panel);
  /// Quads of a row in so many steps, which are the last or not; 0: the left side is not staged.
  virtual int64_t rowQuads(int64_t steps, bool areLast = false);
  /// The staging of scales of rows, `scalesOfStep` a step, for strategies that have some.
  virtual std::optional<GpuStaging> stagedScales() { return std::nullopt; }
  /// Steps of the whole product, and whether the last has fewer features than the others.
  virtual int64_t allSteps() { return *e.constantOf(count); }
  virtual bool endsShort() { return false; }
  /// The registers of the right side at k + u. `kept` passes what a load leaves for the next steps
  /// of the iteration.
  virtual Registers loadRight(mlir::Value k, int64_t u, Registers &kept);
  /// Element or word `u` behind `place` on the left; `loaded` caches a load. `whole`: in the main
  /// loop.
  virtual mlir::Value loadLeft(mlir::Value &loaded, kernel::Address place, int64_t u, bool whole);
  /// Emits loops between the main one and the remaining steps; returns where those begin.
  virtual mlir::Value middleLoops(mlir::Value from, Registers &sums) { return from; }
  /// Adds the products of all k.
  virtual void sumProducts(Registers &sums);
  /// Adds those of `steps` steps from `first` on; where sides are staged, k counts inside the block,
  /// which begins at `start`.
  virtual void addSteps(mlir::Value first, int64_t steps, mlir::Value start, Registers &sums);
  /// Registers that are summed beside those of the tile, and what is done with them at the end, which
  /// leaves those of the tile.
  virtual int64_t sumsBeside() const { return 0; }
  virtual void finishSums(Registers &) {}
  /// Whether the next block is loaded behind the products of one, not beside them.
  virtual bool fetchesLate() const { return false; }
  /// Whether words of two bf16 are staged as two of f32 (GpuStaging.h).
  virtual bool widens() const { return false; }
  /// Four words of a row as they are staged.
  virtual mlir::Value asStaged(mlir::Value quad) { return quad; }
  /// The same as `loadLeft` from the staged block.
  virtual mlir::Value loadStagedLeft(mlir::Value &loaded, mlir::Value k, int64_t row, int64_t u);
  /// The left side of all rows at k + u where it is staged crosswise; `kept` as in `loadRight`.
  virtual Registers loadCrosswise(mlir::Value k, int64_t u, Registers &kept);

  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  void emitLoop(const Loop &loop, Registers &sums);
  const kernel::BoundView &right() { return e.view(op.getRhs()); }
  /// Whether blocks of both sides are staged; how many steps they have.
  bool isStaged() const { return block != 0; }
  /// Elements of the right side in a word of a staged block, and its quads of so many in memory.
  int64_t elementsOfStagedWord() { return widens() ? 1 : GpuEmitter::perWord(right()); }
  int64_t stagedQuads(int64_t quads) const { return widens() ? 2 * quads : quads; }
  GpuStaging::Layout rightLayout();
  GpuStaging::Layout leftLayout();
  /// Loads four words of the right side, from memory or from the staged block.
  mlir::Value rightQuad(kernel::Address place);
  /// Whether the left side is staged crosswise: an invocation multiplies rows by fours.
  bool isCrosswise() const { return isStaged() && shape.rows % vec4 == 0; }
  /// Four words of a row of the staged left side, or one of them.
  mlir::Value leftQuad(int64_t row, mlir::Value quad, mlir::Value lane = {});
  /// One word of each row where that side is staged crosswise, by fours of rows.
  Registers leftWords(mlir::Value word) { return wordsOfRows(leftLayout(), word); }
  Registers wordsOfRows(const GpuStaging::Layout &layout, mlir::Value word);
  mlir::Value wordOfRows(const GpuStaging::Layout &layout, mlir::Value word, int64_t four);
  /// Copies quads of the rows of a view, of which those that do not exist are copies of the last.
  GpuStaging stagedRows(const kernel::BoundView &view, GpuStaging::Layout layout, int64_t quads);
  /// Where one word of a run, in a layout of `words` such, of all rows lies crosswise.
  GpuStaging::Layout crosswise(SharedArray array, int64_t words);
  /// The lanes of such quads, row by row.
  Registers rowsOf(llvm::ArrayRef<mlir::Value> quads);
  /// Quads from one of several runs of a staged block to the next.
  static int64_t pitchOfRuns(int64_t runs, int64_t quads) { return runs > 1 ? quads + 1 : quads; }
  /// Column c of the tile in a staged block of the right side: its panel and its place there.
  mlir::Value stagedColumn(mlir::Value column);
  /// Dot products of four signed bytes in each word, or in one, where the target has them.
  mlir::Value packedDots(mlir::Value a, mlir::Value b);
  mlir::Value packedDot(mlir::Value a, mlir::Value b);
  /// The end of a loop over k; 0 if this invocation's rows do not exist.
  mlir::Value end(mlir::Value k) { return e.unlessMissing(k); }
  /// Where this invocation's first row begins in the left view, or in one beside it.
  mlir::Value rowStart(const kernel::BoundView &view);

  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t width;
  kernel::ContractOp op;
  kernel::Fragment shape;
  int64_t block; ///< steps of a staged block; 0: sides are not staged
  llvm::SmallVector<kernel::Address> rightPlaces; ///< at k = 0, one a register of a row
  int64_t rightStep = 0;                          ///< elements from k to k + 1
  mlir::Value count;                              ///< how many k

private:
  mlir::LogicalResult placeLeft();
  mlir::Value firstRow();
  mlir::Value panelStart(mlir::Value column);
  void placeStagedRight();
  GpuStaging stagedRight(int64_t steps);
  /// What an invocation copies of a block of both sides.
  struct Copies {
    GpuStaging right, left;
    std::optional<GpuStaging> scales;
  };
  Copies copiesOf(int64_t steps, bool areLast);
  void fetch(Copies &copies, mlir::Value first, Registers &loaded);
  void store(Copies &copies, llvm::ArrayRef<mlir::Value> loaded);
  void sumStaged(Registers &sums);
  /// Of a single register more steps than two loads of a row would only be loaded ahead. A word of
  /// several elements takes a register for each, so that its steps are fewer.
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
  int64_t leftPitch = 0; ///< of the view, or columns of the staged tile
};

/// The product of an op, by the first strategy that accepts it.
std::unique_ptr<GpuProduct> makeProduct(GpuEmitter &emitter, kernel::ContractOp op);

/// An entry of the list of strategies in GpuProduct.cpp.
struct GpuProductStrategy {
  bool (*accepts)(kernel::ContractOp op, const GpuTarget &target);
  std::unique_ptr<GpuProduct> (*make)(GpuEmitter &emitter, kernel::ContractOp op);
};
template <class Product>
constexpr GpuProductStrategy gpuStrategyOf() {
  return {Product::accepts,
          [](GpuEmitter &emitter, kernel::ContractOp op) -> std::unique_ptr<GpuProduct> {
            return std::make_unique<Product>(emitter, op);
          }};
}

extern const GpuProductStrategy gpuBf16Dot2, gpuBf16Rows, gpuF16Widened, gpuInt4, gpuInt8Dot4,
    gpuInt8Packed, gpuKeptBf16Rows, gpuKeptRows, gpuPairedPanels, gpuWidenedPanels;

} // namespace heddle
