//===- QuantizeProducts.cpp - Products of rows with scales ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   ffn(x, w1, w2)      ──▶  linear(linear(x, w1), w2)
//   linear(x, w)        ──▶  q, s = quantize(x)
//                            linear(q, w as codes) scales(s, scales of w)       i8
//                            linear(q, w as f16) scales(s)                      f16
//
// A value is quantised behind the op that makes it, once for all its readers. The
// codes of weights are made when the checkpoint is packed; as f16 they are what
// they are, rounded.

#include "ProductRewrites.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle::transformer {

namespace {

bool isF32(Value value) { return getElementTypeOrSelf(value.getType()).isF32(); }
bool isF32Weight(Value value) { return isF32(value) && value.getDefiningOp<WeightOp>(); }

/// Codes, and what scales them: a matrix of f16 needs nothing.
struct Quantized {
  Value codes, scales;
};

class Quantizer {
public:
  Quantizer(ModuleOp module, Type codes)
      : module(module), builder(module.getContext()), codes(codes) {}

  void run() {
    module.walk([](FfnOp op) {
      if (isF32(op.getInput()) && llvm::all_of(matricesOf(op), [](OpOperand *matrix) {
            return isF32Weight(matrix->get());
          }))
        op.decompose();
    });
    module.walk([&](LinearOp op) {
      if (isF32(op.getInput()) && isF32Weight(op.getWeight()))
        quantize(op);
    });
  }

private:
  void quantize(LinearOp op) {
    Quantized rows = rowsOf(op.getInput()),
              matrix = matrixOf(op.getWeight().getDefiningOp<WeightOp>());
    op.getInputMutable().assign(rows.codes);
    op.getWeightMutable().assign(matrix.codes);
    op.getScalesMutable().assign(rows.scales);
    if (matrix.scales)
      op.getScalesMutable().append(matrix.scales);
  }

  Quantized rowsOf(Value value) {
    Quantized &made = known[value];
    if (made.codes)
      return made;
    builder.setInsertionPointAfterValue(value);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = 1;
    auto op = QuantizeOp::create(builder, value.getLoc(), type.clone(codes),
                                 RankedTensorType::get(shape, builder.getF32Type()), value);
    return made = {op.getCodes(), op.getScales()};
  }

  Quantized matrixOf(WeightOp weight) {
    Quantized &made = known[weight.getResult()];
    if (made.codes)
      return made;
    builder.setInsertionPointAfter(weight);
    auto type = cast<RankedTensorType>(weight.getType());
    made.codes = WeightOp::create(builder, weight.getLoc(), type.clone(codes), weight.getName(),
                                  weight.getStoredAttr());
    if (!codes.isInteger())
      return made;
    auto scalesType = RankedTensorType::get({2, type.getDimSize(0)}, builder.getF32Type());
    auto shape = builder.getDenseI64ArrayAttr(weight.getCheckpointShape());
    made.scales = WeightOp::create(builder, weight.getLoc(), scalesType, weight.getName(), shape,
                                   /*scales=*/true);
    return made;
  }

  ModuleOp module;
  OpBuilder builder;
  Type codes;
  llvm::DenseMap<Value, Quantized> known;
};

} // namespace

void quantizeProducts(ModuleOp module, Type codes) { Quantizer(module, codes).run(); }

} // namespace heddle::transformer
