//===- ShapeTrace.cpp - Shapes along the data flow ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line covers a sublayer: projections, heads and output of an attention, the two
// linear layers of a feed-forward block, or an image's patches and rows.

#include "ShapeTrace.h"

#include "Layers.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

namespace {

/// Whether an op gives a line its next shape.
bool isTraced(Operation *op) {
  return isa<EmbeddingOp, PatchesOp, ConcatOp, PoolOp, LinearOp, SplitHeadsOp, AttentionOp,
             MergeHeadsOp, CacheAppendOp>(op);
}

/// Whether an op changes heads and keeps their shape.
bool keepsHeads(Operation *op) {
  auto heads = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 4;
  };
  return !isTraced(op) && op->getNumResults() == 1 && op->getNumOperands() > 0 &&
         heads(op->getResult(0).getType()) &&
         op->getResult(0).getType() == op->getOperand(0).getType();
}

/// Source of a value behind groups, roundings, quantisations and changes of heads.
Value origin(Value value) {
  return behindGroups(
      value, [](Operation *op) { return isa<arith::TruncFOp, QuantizeOp>(op) || keepsHeads(op); });
}

/// Operand whose shape an op changes.
Value mainOperand(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  return origin(concat ? concat.getRows() : op->getOperand(0));
}

/// Follows values from op to op. A line begins with the input of a part of the model and continues
/// with each op of the part that reads its last value.
class Tracer {
public:
  explicit Tracer(func::FuncOp function) : shapes(function) {
    function.walk([&](Operation *op) {
      if (isTraced(op))
        visit(op);
    });
    for (auto [line, merged] : llvm::zip_equal(lines, ends)) // merged heads without a projection
      if (merged.getDefiningOp<MergeHeadsOp>())
        line.shapes.push_back(shapes.of(merged));
  }
  std::vector<TraceLine> lines;

private:
  void visit(Operation *op);
  size_t lineOf(Value end) const { return llvm::find(ends, end) - ends.begin(); }
  /// Line of an equal projection (same part, input and shape), which stands for this one too.
  size_t lineBeside(const std::string &name, Value input, const Shape &result) const {
    if (auto known = beside.find(input); known != beside.end())
      return known->second;
    size_t line = 0;
    while (line < lines.size() &&
           (lines[line].name != name || starts[line] != input || lines[line].shapes[1] != result))
      ++line;
    return line;
  }

  ShapeExpressions shapes;
  std::vector<Value> starts, ends;      ///< first input and last value of each line
  llvm::DenseMap<Value, size_t> beside; ///< results of equal projections, and their line
};

void Tracer::visit(Operation *op) {
  StringRef part = partOf(op);
  const std::string name =
      (part.empty() ? op->getName().getStringRef().rsplit('.').second : part).str();
  Value input = mainOperand(op), result = op->getResult(0);
  bool keepsRows = isa<AttentionOp, MergeHeadsOp>(op);
  bool goesOn = keepsRows || isa<SplitHeadsOp, CacheAppendOp>(op); // never begins a line
  size_t line = lineOf(input);
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    if (line == lines.size() && beside.contains(input)) // its keys began the line
      line = beside.lookup(input);
    for (auto [heads, role] :
         {std::pair(attention.getKey(), ", keys"), std::pair(attention.getValue(), ", values")})
      if (size_t other = lineOf(origin(heads)); other < lines.size() && other != line)
        lines[other].name = name + role;
    if (line < lines.size())
      lines[line].name = name;
  }
  if (line < lines.size() &&
      (lines[line].name == name ||
       (part.empty() && (goesOn || isa_and_nonnull<MergeHeadsOp>(input.getDefiningOp()))))) {
    ends[line] = result;
    if (!keepsRows)
      lines[line].shapes.push_back(shapes.of(result));
  } else if (size_t like = lineBeside(name, input, shapes.of(result)); like < lines.size()) {
    beside[result] = like;
  } else if (isa<AttentionOp>(op) || !goesOn) {
    lines.push_back({name, {shapes.of(input), shapes.of(result)}});
    starts.push_back(input);
    ends.push_back(result);
  }
}

} // namespace

std::string traceText(const Shape &shape, const Dimensions &dims) {
  std::string text = "[";
  for (const SizeExpr &size : shape) {
    Expected<int64_t> value = size.evaluate(dims);
    text += (text.size() > 1 ? "," : "") + (value ? std::to_string(*value) : size.str());
  }
  return text + "]";
}

std::vector<TraceLine> shapeTrace(func::FuncOp function) {
  return std::move(Tracer(function).lines);
}

} // namespace heddle
