//===- GpuProduct.h - What multiplies on a GPU -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction multiplies by one of the strategies in Products/, which the elements of
// its sides and the target choose (GpuProduct.cpp):
//
//   over features   rows of a view by panels
//   over rows       the staged tile by rows of a view, maybe guarded
//
// A further strategy is a file in Products/, its declaration at the end of this one, and
// its place in the list.
#pragma once

#include "GpuEmitter.h"

namespace heddle {

/// One contraction of an invocation: of f32, by a fused multiply-add a step. Other strategies derive
/// from it and say how they load and multiply.
class GpuProduct {
public:
  GpuProduct(GpuEmitter &emitter, kernel::ContractOp op)
      : e(emitter), builder(emitter.builder), loc(emitter.loc), width(emitter.width), op(op),
        shape(emitter.shapeOf(op.getType())) {}
  virtual ~GpuProduct() = default;
  static bool accepts(kernel::ContractOp, const GpuTarget &) { return true; }

  /// The op's fragment.
  mlir::FailureOr<kernel::Fragment> run();

protected:
  using Registers = llvm::SmallVector<mlir::Value>;
  static constexpr int64_t vec4 = 4; ///< k of one load of the left side

  /// A loop over k in [from, to).
  struct Loop {
    mlir::Value from, to;
    int64_t steps;        ///< of k, in one turn
    bool guarded = false; ///< leaves out 0 * w where w is not finite
  };

  //===--------------------------------------------------------------------===//
  // What a strategy supplies
  //===--------------------------------------------------------------------===//

  /// c + a * b of one step of k; `a` is broadcast to a register.
  virtual mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded);
  /// Features of a step of k.
  virtual int64_t word() const { return 1; }
  /// Steps of the main loop, a multiple of `vec4`.
  virtual int64_t unrolled() const { return vec4; }
  /// Steps that are never parted: what is left behind the main loop goes by so many.
  virtual int64_t grain() const { return 1; }
  /// The k of step number `step` of a turn.
  virtual int64_t inOrder(int64_t step, int64_t steps) const { return step; }
  virtual void placeRight();
  /// The registers of the right side at k + u. `kept` is what the loads of the steps before it left
  /// in this turn.
  virtual Registers loadRight(mlir::Value k, int64_t u, Registers &kept);
  /// Element or word `u` behind `place` on the left; `loaded` keeps what one load gave. A turn of
  /// the main loop is `whole`.
  virtual mlir::Value loadLeft(mlir::Value &loaded, kernel::Address place, int64_t u, bool whole);
  /// The loops between the main one and the last steps; returns where those begin.
  virtual mlir::Value middleLoops(mlir::Value from, Registers &sums) { return from; }

  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  void emitLoop(const Loop &loop, Registers &sums);
  const kernel::BoundView &right() { return e.view(op.getRhs()); }
  /// The end of a loop over k, 0 where this invocation's rows do not exist.
  mlir::Value end(mlir::Value k) { return e.unlessMissing(k); }

  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t width;
  kernel::ContractOp op;
  kernel::Fragment shape;
  llvm::SmallVector<kernel::Address> rightPlaces; ///< at k = 0, one a register of a row
  int64_t rightStep = 0;                          ///< elements from k to k + 1
  mlir::Value count;                              ///< how many k

private:
  mlir::LogicalResult placeLeft();
  mlir::Value panelStart(mlir::Value column);
  mlir::Value leftScalar(mlir::Value &loaded, mlir::Value k, int64_t row, int64_t u, bool whole);
  void emitSteps(const Loop &loop, mlir::Value k, Registers &sums);
  mlir::Value restartIfNotFinite(mlir::Value whole, Registers &sums);
  mlir::Value anyNotFinite(llvm::ArrayRef<mlir::Value> values);

  mlir::Value leftStart; ///< null: the left side is the staged tile
  int64_t leftPitch = 0; ///< of the view, or columns of the staged tile
};

/// One way to multiply, as the list in GpuProduct.cpp names it.
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

extern const GpuProductStrategy gpuBf16Dot2, gpuBf16Rows, gpuF16Widened, gpuInt4, gpuInt8Dot4;

} // namespace heddle
