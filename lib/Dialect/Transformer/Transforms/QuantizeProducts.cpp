//===- QuantizeProducts.cpp - Linear layers of a number format ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites linear layers and embeddings to the operands of a number format:
//
//   ffn(x, w1, w2)     ──▶  linear(linear(x, w1), w2)
//   linear(x, w)       ──▶  q, s = quantize(x), if the format scales rows
//                           linear(q, w in the format's type) scales(s, scales of w)
//   embedding(ids, w)  ──▶  embedding(ids, w as codes) scales(scales of w), if the
//                           format scales weights; without `scales` if it keeps codes
//
// A value is quantized directly after the op that computes it, once for all
// readers. Codes of weights are computed when the checkpoint is packed; f16
// weights are only rounded. The scales of a weight are an operand unless the
// format stores them with the codes. Linear layers that score classes may have
// their own format. Embedding tables use that format too, because one matrix
// often serves as both.

#include "ProductRewrites.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/KeptCodes.h"
#include "heddle/Dialect/Transformer/IR/MergedHeads.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle::transformer {

namespace {

/// Whether the matrix that reads `input` stores its columns head by head, with padding after each
/// head. Such padding would split the groups of columns that share a scale.
bool hasPaddedHeads(Value input) {
  auto merge = input.getDefiningOp<MergeHeadsOp>();
  return merge && padsHeads(merge);
}

/// Codes, and their scales unless the codes include them.
struct Quantized {
  Value codes, scales;
};

/// Gives linear layers the operands of a format. `known` shares them between readers.
class Quantizer {
public:
  Quantizer(ModuleOp module, const NumberFormat &format)
      : module(module), builder(module.getContext()), format(format) {}

  /// Rewrites only the linear layers that score classes.
  void runOnClasses() {
    module.walk([&](LinearOp op) {
      if (op.getClasses())
        quantizeIfPlain(op);
    });
  }

  void runOnTables() {
    if (format.scales < 2 && !format.keepsCodes)
      return;
    module.walk([&](EmbeddingOp op) {
      auto weight = op.getTable().getDefiningOp<WeightOp>();
      if (!isF32Weight(op.getTable()) || !formatOf(weight))
        return;
      Quantized table = matrixOf(weight);
      op.getTableMutable().assign(table.codes);
      if (table.scales)
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
  /// Format of the products with a weight; null if the weight has no codes to keep.
  const NumberFormat *formatOf(WeightOp weight) const {
    if (!format.keepsCodes)
      return &format;
    const auto codes = weight->getAttrOfType<TypeAttr>(keptCodes);
    return codes ? findProduct(format.rows, dtypeOf(codes.getValue())) : nullptr;
  }

  void quantizeIfPlain(LinearOp op) {
    if (!isF32(op.getInput()) || !isF32Weight(op.getWeight()) || scoresExperts(op))
      return;
    const NumberFormat *chosen = formatOf(op.getWeight().getDefiningOp<WeightOp>());
    if (chosen &&
        !(heddle::formatOf(chosen->weights).holdsScales() && hasPaddedHeads(op.getInput())))
      quantize(op, *chosen);
  }

  void quantize(LinearOp op, const NumberFormat &chosen) {
    Quantized rows = rowsOf(op.getInput(), chosen),
              matrix = matrixOf(op.getWeight().getDefiningOp<WeightOp>());
    op.getInputMutable().assign(rows.codes);
    op.getWeightMutable().assign(matrix.codes);
    if (rows.scales)
      op.getScalesMutable().assign(rows.scales);
    if (matrix.scales)
      op.getScalesMutable().append(matrix.scales);
  }

  /// Codes and scales of the rows of a product, or the unchanged rows if the format does not scale
  /// them.
  Quantized rowsOf(Value value, const NumberFormat &chosen) {
    if (!chosen.scaleGroup)
      return {value, {}};
    Quantized &made = known[{value, chosen.scaleGroup}];
    if (made.codes)
      return made;
    builder.setInsertionPointAfterValue(value);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = chosen.rowScales(shape.back());
    auto op = QuantizeOp::create(builder, value.getLoc(), typed(type, chosen.rows),
                                 RankedTensorType::get(shape, builder.getF32Type()), value);
    return made = {op.getCodes(), op.getScales()};
  }

  Quantized matrixOf(WeightOp weight) {
    Quantized &made = known[{weight.getResult(), 0}];
    if (made.codes)
      return made;
    builder.setInsertionPointAfter(weight);
    auto type = cast<RankedTensorType>(weight.getType());
    made.codes = WeightOp::create(builder, weight.getLoc(), typed(type, formatOf(weight)->weights),
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
  llvm::DenseMap<std::pair<Value, int64_t>, Quantized> known; ///< key: a value and its scale group
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
