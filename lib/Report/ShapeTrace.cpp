//===- ShapeTrace.cpp - Shapes as data passes a model ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Projections, heads and output of an attention are one line, the two linears of a
// feed-forward block, an image's patches and rows.

#include "ShapeTrace.h"

#include "Layers.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

namespace {

/// What makes a value, borders of groups and roundings aside.
Value origin(Value value) {
  return behindGroups(value, [](Operation *op) { return isa<arith::TruncFOp, QuantizeOp>(op); });
}

/// The tensor that an op changes the shape of.
Value mainOperand(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  return origin(concat ? concat.getRows() : op->getOperand(0));
}

/// Follows values from op to op. A line begins with what a part of the model reads, and goes on with
/// each op of the part that reads its end.
class Tracer {
public:
  explicit Tracer(func::FuncOp function) : shapes(function) {
    function.walk([&](Operation *op) {
      if (isa<EmbeddingOp, PatchesOp, ConcatOp, PoolOp, LinearOp, SplitHeadsOp, AttentionOp,
              MergeHeadsOp, CacheAppendOp>(op))
        visit(op);
    });
    for (auto [line, merged] : llvm::zip_equal(lines, ends)) // heads that nothing projects
      if (merged.getDefiningOp<MergeHeadsOp>())
        line.shapes.push_back(shapes.of(merged));
  }
  std::vector<TraceLine> lines;

private:
  void visit(Operation *op);
  size_t lineOf(Value end) const { return llvm::find(ends, end) - ends.begin(); }
  /// The line that has this step already: projections of one input to one shape.
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
  std::vector<Value> starts, ends;      ///< of lines
  llvm::DenseMap<Value, size_t> beside; ///< values like those of a line, which stand for them
};

void Tracer::visit(Operation *op) {
  StringRef part = partOf(op);
  const std::string name =
      (part.empty() ? op->getName().getStringRef().rsplit('.').second : part).str();
  Value input = mainOperand(op), result = op->getResult(0);
  bool keepsRows = isa<AttentionOp, MergeHeadsOp>(op);
  bool goesOn = keepsRows || isa<SplitHeadsOp, CacheAppendOp>(op); // begins no line of its own
  size_t line = lineOf(input);
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    if (line == lines.size() && beside.contains(input)) // keys came first
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
