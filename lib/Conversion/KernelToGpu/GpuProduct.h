//===- GpuProduct.h - Strategies of products on the GPU ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strategy multiplies the formats of one kind of contraction:
//
//   over features   rows of a view times panels
//   over rows       the staged tile times rows of a view; may be guarded
//
// It decodes operands, multiplies a step and finishes the sums. Its operands know where
// their elements are (GpuOperands.h). If the kernel's plan has blocks of k, the workgroup
// stages a block of both sides of a product over features, with the same chains of additions
// as without staging.
//
// To add a strategy: a file in Products/, its declaration at the end of this header, and its
// row in the table of GpuProduct.cpp.
#pragma once

#include "GpuOperands.h"

namespace heddle {

/// For each lane, whether it is infinite or NaN in some register.
mlir::Value lanesNotFinite(GpuEmitter &e, llvm::ArrayRef<mlir::Value> registers);
/// Whether any lane of a register is infinite or NaN.
mlir::Value isAnyNotFinite(GpuEmitter &e, llvm::ArrayRef<mlir::Value> registers);

/// The product of one contraction in an invocation. This base class multiplies f32 with one fused
/// multiply-add for each step; other strategies override how operands are decoded and multiplied.
class GpuProduct : public GpuContraction {
public:
  GpuProduct(GpuEmitter &emitter, kernel::ProductOpInterface op, GpuProductForm form = {});
  virtual ~GpuProduct() = default;
  static bool accepts(kernel::ProductOpInterface, const GpuTarget &) { return true; }

  using Registers = llvm::SmallVector<mlir::Value>;

  /// Makes the operands that the strategy has not made itself.
  void makeOperands(GpuSource source);
  /// Emits the product; returns the op's fragment.
  mlir::FailureOr<kernel::Fragment> run();

  //===--------------------------------------------------------------------===//
  // Sums, called by operands
  //===--------------------------------------------------------------------===//

  /// Adds the products of all steps.
  virtual void sumProducts(Registers &sums);
  /// Adds the products of `steps` steps from `first` on. If sides are staged, k counts from the
  /// start of the block, which is step `start`.
  virtual void addSteps(mlir::Value first, int64_t steps, mlir::Value start, Registers &sums);
  /// Number of steps of the product.
  int64_t allSteps() { return form.steps ? *form.steps : *e.constantOf(count); }

  // Sums of a guarded contraction. The main loop is correct if all sums are finite. Otherwise all
  // steps are repeated without products of zero and a non-finite value.
  void sumOrRestart(Registers &sums);      ///< repeats by the loop over the remaining steps
  void sumOrRepeat(Registers &sums);       ///< repeats in a branch
  void sumBeyondOrRepeat(Registers &sums); ///< likewise; the main loop runs past the last step

  std::unique_ptr<GpuLeft> left;
  std::unique_ptr<GpuRight> right;

protected:
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
  /// Order of the steps in an iteration: returns the k of step `step`.
  virtual int64_t inOrder(int64_t step, int64_t steps) const { return step; }
  /// Finds the addresses of columns.
  virtual void placeRight() { right->place(); }
  /// Registers of the right side at k + u. `cache` passes registers to the next steps of the
  /// iteration.
  virtual Registers loadRight(mlir::Value k, int64_t u, Registers &cache);
  /// Emits loops between the main loop and the remaining steps; returns the first of the latter.
  virtual mlir::Value middleLoops(mlir::Value from, Registers &sums) { return from; }

  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  void emitLoop(const Loop &loop, Registers &sums);
  /// The end of a loop over k; 0 if this invocation's rows do not exist.
  mlir::Value end(mlir::Value k) { return e.mapping->unlessMissing(k); }

  mlir::Value count; ///< number of steps

private:
  /// Steps in an iteration of the main loop over memory, a multiple of four.
  int64_t unrolled();
  int64_t stepsOfIteration() { return right->stepsOfIteration(unrolled()); }
  void emitSteps(const Loop &loop, mlir::Value k, Registers &sums);
  mlir::Value sumWhole(Registers &sums);
  void sumGuardedFrom(mlir::Value from, Registers &sums);
  void repeatIfNotFinite(Registers &sums);
  mlir::Value restartIfNotFinite(mlir::Value whole, Registers &sums);
};

/// The product of an op, by the first strategy that accepts it.
std::unique_ptr<GpuProduct> makeProduct(GpuEmitter &emitter, kernel::ProductOpInterface op);

/// A strategy, for the table in GpuProduct.cpp.
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

extern const GpuProductStrategy gpuBf16Dot2, gpuBf16Rows, gpuBf16Widened, gpuF16Widened, gpuGroups,
    gpuInt4Packed, gpuInt8Dot4, gpuInt8Packed, gpuCachedBf16Rows, gpuCachedRows,
    gpuCachedBf16Panels, gpuCachedPanels;

} // namespace heddle
