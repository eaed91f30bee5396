//===- MatrixAttention.cpp - Attention by matrix units --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mapping `matrix_attention`: subgroups compute both products of an attention
// (GpuAttention.h). Two invocations share a row and alternate every eight columns.

#include "GpuMapping.h"

#include "../GpuAttention.h"

using namespace mlir;

namespace heddle {

namespace {
class MatrixAttention : public SubgroupMapping {
public:
  using SubgroupMapping::SubgroupMapping;

  void begin(kernel::FuncOp func) override { attention = std::make_unique<GpuAttention>(e, func); }
  int64_t vectorsOf(int64_t tileColumns) const override {
    return tileColumns / (e.width * e.placement.tx);
  }
  int64_t columnOf(int64_t number) const override {
    return number / 2 * 2 * e.width * e.placement.tx + number % 2 * e.width;
  }
  Value firstColumn(int64_t) override { return e.mul(e.tx, 2 * e.width); }

  LogicalResult emitProduct(kernel::ProductOpInterface op) override {
    return keep(op->getResult(0), attention->emitProduct(op));
  }
  LogicalResult emitReduce(kernel::ReduceOp op) override {
    if (GpuEmitter::columnsOf(op.getOperand().getType()) == 1)
      return e.reduceFragment(op);
    return keep(op.getResult(), attention->emitReduce(op));
  }
  LogicalResult emitLoop(scf::ForOp op) override {
    return attention->isLoop(op) ? attention->emitLoop() : e.emitLoop(op);
  }
  bool takes(Operation &op) const override { return attention->takes(op); }
  LogicalResult emitElementwise(Operation &op) override { return attention->emitElementwise(op); }
  Value scaleWeight(Value x, Value n) override;
  bool carriesItself(Value value) const override { return attention->holds(value); }
  LogicalResult carry(Value value) override { return attention->carry(value); }
  void carried(Value value) override { attention->carried(value); }

  bool loopsOverElements() const override { return false; }
  bool branchesOnRareValues() const override { return true; }
  bool fusesExactProducts() const override { return false; }

protected:
  int64_t activeColumns(int64_t) const override { return e.placement.tx; }

private:
  LogicalResult keep(Value result, FailureOr<kernel::Fragment> fragment) {
    if (failed(fragment))
      return failure();
    e.fragments[result] = std::move(*fragment);
    return success();
  }

  std::unique_ptr<GpuAttention> attention;
};
} // namespace

/// Requires n <= 0. The general form returns 0 for n = -126. With f16 operands, this form may
/// return a denormal instead, which a device may read as 0. Results do not differ: products round
/// it to f16, and a nonzero sum of weights contains a weight of at least 0.7. With bf16, which has
/// the exponents of f32, 2 * x is multiplied by 2^(n - 1), which is 0 for n = -126. Adding
/// 1.5 * 2^23 leaves n in the lowest bits.
Value MatrixAttention::scaleWeight(Value x, Value n) {
  auto floats = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, e.loc,
                                     DenseElementsAttr::get(cast<VectorType>(n.getType()), value));
  };
  const bool holdsAll = e.placement.matrix->operands == DType::BF16;
  const int32_t bias = holdsAll ? 126 : 127;
  if (holdsAll)
    x = e.addf(x, x);
  Value bits =
      e.asWords(e.addf(e.larger(n, floats(static_cast<float>(-bias))), floats(0x1.8p+23f)));
  bits = arith::ShLIOp::create(builder, e.loc, bits, e.wordConstant(23, bits.getType()));
  bits = arith::AddIOp::create(builder, e.loc, bits, e.wordConstant(bias << 23, bits.getType()));
  return e.mulf(x, e.asFloats(bits));
}

std::unique_ptr<GpuMapping> makeMatrixAttention(GpuEmitter &emitter) {
  return std::make_unique<MatrixAttention>(emitter);
}

} // namespace heddle
