//===- QuantizeProducts.cpp - Linear layers of a number format ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   ffn(x, w1, w2)      ──▶  linear(linear(x, w1), w2)
//   linear(x, w)        ──▶  q, s = quantize(x), where the format's rows have scales
//                            linear(q, w in the format's type) scales(s, scales of w)
//   embedding(ids, w)   ──▶  embedding(ids, w as codes) scales(scales of w), where the
//                            format's weights have scales
//
// A value is quantised right behind the op that computes it, once for all its
// readers. Codes of weights are computed when the checkpoint is packed; f16
// weights are only rounded. Scales of a weight are an operand if the format has
// some and does not store them beside the codes. Linears that score classes may have
// a format of their own, which is that of tables of embeddings too: one matrix often
// is both.

#include "ProductRewrites.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/MergedHeads.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle::transformer {

namespace {

/// Whether the columns of a matrix that reads `input` are stored head by head, each head padded.
/// Columns share scales in groups, which such padding would split.
bool hasPaddedHeads(Value input) {
  auto merge = input.getDefiningOp<MergeHeadsOp>();
  return merge && padsHeads(merge);
}

/// Codes, and their scales unless they are stored beside them.
struct Quantized {
  Value codes, scales;
};

/// Gives linears the operands of a format; `known` shares them among readers.
class Quantizer {
public:
  Quantizer(ModuleOp module, const NumberFormat &format)
      : module(module), builder(module.getContext()), format(format) {}

  /// Linears that score classes alone.
  void runOnClasses() {
    module.walk([&](LinearOp op) {
      if (op.getClasses())
        quantizeIfPlain(op);
    });
  }

  void runOnTables() {
    if (format.scales < 2)
      return;
    module.walk([&](EmbeddingOp op) {
      if (!isF32Weight(op.getTable()))
        return;
      Quantized table = matrixOf(op.getTable().getDefiningOp<WeightOp>());
      op.getTableMutable().assign(table.codes);
      op.getScalesMutable().assign(table.scales);
    });
  }

  void run() {
    module.walk([](FfnOp op) {
      if (isF32(op.getInput()) && llvm::all_of(matricesOf(op), [](OpOperand *matrix) {
            return isF32Weight(matrix->get());
          }))
        op.decompose();
    });
    module.walk([&](LinearOp op) { quantizeIfPlain(op); });
  }

private:
  void quantizeIfPlain(LinearOp op) {
    if (isF32(op.getInput()) && isF32Weight(op.getWeight()) &&
        !(formatOf(format.weights).holdsScales() && hasPaddedHeads(op.getInput())))
      quantize(op);
  }

  void quantize(LinearOp op) {
    Quantized rows = rowsOf(op.getInput()),
              matrix = matrixOf(op.getWeight().getDefiningOp<WeightOp>());
    op.getInputMutable().assign(rows.codes);
    op.getWeightMutable().assign(matrix.codes);
    if (rows.scales)
      op.getScalesMutable().assign(rows.scales);
    if (matrix.scales)
      op.getScalesMutable().append(matrix.scales);
  }

  /// Codes and scales of a product's rows; the rows themselves if the format scales none.
  Quantized rowsOf(Value value) {
    if (!format.scaleGroup)
      return {value, {}};
    Quantized &made = known[value];
    if (made.codes)
      return made;
    builder.setInsertionPointAfterValue(value);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = format.rowScales(shape.back());
    auto op = QuantizeOp::create(builder, value.getLoc(), typed(type, format.rows),
                                 RankedTensorType::get(shape, builder.getF32Type()), value);
    return made = {op.getCodes(), op.getScales()};
  }

  Quantized matrixOf(WeightOp weight) {
    Quantized &made = known[weight.getResult()];
    if (made.codes)
      return made;
    builder.setInsertionPointAfter(weight);
    auto type = cast<RankedTensorType>(weight.getType());
    made.codes = WeightOp::create(builder, weight.getLoc(), typed(type, format.weights),
                                  weight.getName(), weight.getStoredAttr());
    if (format.scales < 2)
      return made;
    auto scalesType = RankedTensorType::get({2, type.getDimSize(0)}, builder.getF32Type());
    auto shape = builder.getDenseI64ArrayAttr(weight.getCheckpointShape());
    made.scales = WeightOp::create(builder, weight.getLoc(), scalesType, weight.getName(), shape,
                                   /*scales=*/true);
    return made;
  }

  static RankedTensorType typed(RankedTensorType type, DType element) {
    return type.clone(mlirTypeOf(element, type.getContext()));
  }

  ModuleOp module;
  OpBuilder builder;
  const NumberFormat &format;
  llvm::DenseMap<Value, Quantized> known;
};

} // namespace

void quantizeProducts(ModuleOp module, const NumberFormat &format) {
  const NumberFormat *named = findFormat(format.classes);
  Quantizer ofClasses(module, named ? *named : format);
  if (named)
    ofClasses.runOnClasses();
  ofClasses.runOnTables();
  Quantizer(module, format).run();
}

} // namespace heddle::transformer
