//===- ShapeTrace.cpp - Shapes along the data flow ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces of shapes. A line covers a sublayer: projections, heads and output of an attention, the
// two linear layers of a feed-forward block, or an image's patches and rows.

#include "ShapeTrace.h"

#include "Layers.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

namespace {

/// Whether an op adds a shape to a line.
bool isTraced(Operation *op) {
  return isa<EmbeddingOp, PatchesOp, UnfoldOp, WindowsOp, MaxPoolOp, MapRowsOp, ConcatOp, PoolOp,
             LinearOp, SplitHeadsOp, AttentionOp, MergeHeadsOp, CacheAppendOp>(op);
}

/// Follows values from op to op, in program order. A line is a part of the model as named by
/// import, starting at the input of the part. Ops of the part that read a value of the line add
/// their shapes. Without names, a line is an attention between its projections, or one op.
class Tracer {
public:
  explicit Tracer(func::FuncOp function) : shapes(function) {
    function.walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
  }
  std::vector<TraceLine> take();

private:
  struct Line {
    TraceLine text;
    StringRef part;
    std::optional<Shape> merged; ///< merged heads, until a projection follows
  };
  /// A value that belongs to a line. `beside`: it is the value of an equal projection, which adds
  /// no shapes.
  struct Reached {
    size_t line;
    bool beside;
  };

  void visit(Operation *op);
  std::optional<Reached> reachedBy(Operation *op) const;
  std::optional<Reached> trace(Operation *op, std::optional<Reached> from);
  Reached extend(Operation *op, Reached from);
  Reached begin(Operation *op);
  /// Maps a group's arguments and results to the values that they represent.
  void handOn(ValueRange from, ValueRange to);
  Value given(Value value) const { return sources.contains(value) ? sources.at(value) : value; }

  ShapeExpressions shapes;
  std::vector<Line> lines;
  /// Lines by their part; lines without a part by the value from which they start.
  llvm::DenseMap<std::pair<StringRef, Value>, SmallVector<size_t, 1>> begun;
  llvm::DenseMap<Value, Reached> reached;
  llvm::DenseMap<Value, Value> sources; ///< sources of the arguments of groups
};

void Tracer::handOn(ValueRange from, ValueRange to) {
  for (auto [source, target] : llvm::zip(from, to)) {
    sources[target] = given(source);
    if (auto it = reached.find(source); it != reached.end()) {
      Reached same = it->second;
      reached[target] = same;
    }
  }
}

void Tracer::visit(Operation *op) {
  if (auto group = dyn_cast<kernel::GroupOp>(op))
    return handOn(group->getOperands(), group.getBody().getArguments());
  if (isa<kernel::YieldOp>(op))
    return handOn(op->getOperands(), op->getParentOp()->getResults());
  std::optional<Reached> line = reachedBy(op);
  if (isTraced(op))
    line = trace(op, line);
  if (line && op->getNumResults() > 0)
    reached[op->getResult(0)] = *line;
}

/// The line of the first operand that belongs to one. Values with `beside` count only if there are
/// no others.
std::optional<Tracer::Reached> Tracer::reachedBy(Operation *op) const {
  std::optional<Reached> found;
  for (Value operand : op->getOperands())
    if (auto it = reached.find(operand); it != reached.end())
      if (!found || (found->beside && !it->second.beside))
        found = it->second;
  return found;
}

std::optional<Tracer::Reached> Tracer::trace(Operation *op, std::optional<Reached> from) {
  bool worksOnHeads = isa<SplitHeadsOp, CacheAppendOp, AttentionOp, MergeHeadsOp>(op);
  StringRef part = partOf(op);
  if (from && lines[from->line].part == part &&
      (!part.empty() || worksOnHeads || lines[from->line].merged))
    return extend(op, *from);
  if (worksOnHeads && !isa<AttentionOp>(op))
    return std::nullopt; // heads that no projection produced
  return begin(op);
}

Tracer::Reached Tracer::extend(Operation *op, Reached from) {
  Line &line = lines[from.line];
  if (isa<AttentionOp>(op)) {
    line.text.name =
        line.part.empty() ? "attention" : line.part.str(); // the keys may have begun the line
    return {from.line, false};
  }
  if (from.beside)
    return from;
  line.merged.reset();
  if (isa<MergeHeadsOp>(op))
    line.merged = shapes.of(op->getResult(0));
  else
    line.text.shapes.push_back(shapes.of(op->getResult(0)));
  return from;
}

/// Begins a line, unless a line of the same part begins with equal shapes.
Tracer::Reached Tracer::begin(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  Value input = concat ? concat.getRows() : op->getOperand(0), start = given(input);
  StringRef part = partOf(op);
  std::vector<Shape> first{shapes.of(input), shapes.of(op->getResult(0))};
  auto &alike = begun[{part, part.empty() ? start : Value()}];
  for (size_t line : alike)
    if (std::equal(first.begin(), first.end(), lines[line].text.shapes.begin()))
      return {line, true};
  std::string name = (part.empty() ? op->getName().getStringRef().rsplit('.').second : part).str();
  if (StringAttr role = roleOf(op->getLoc()))
    name += ", " + role.str();
  alike.push_back(lines.size());
  lines.push_back({{name, std::move(first)}, part, std::nullopt});
  return {lines.size() - 1, false};
}

std::vector<TraceLine> Tracer::take() {
  std::vector<TraceLine> all;
  for (Line &line : lines) {
    if (line.merged) // no projection follows
      line.text.shapes.push_back(*line.merged);
    all.push_back(std::move(line.text));
  }
  return all;
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

std::vector<TraceLine> shapeTrace(func::FuncOp function) { return Tracer(function).take(); }

} // namespace heddle
