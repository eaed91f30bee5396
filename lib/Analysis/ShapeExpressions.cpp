//===- ShapeExpressions.cpp - Shapes as expressions of dimensions ---------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One forward walk; each op's rule is a line or two.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/ShapeExpressions.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

Shape heddle::dimsFromAttr(ArrayAttr dims) {
  Shape shape;
  for (Attribute dim : dims) {
    if (auto name = dyn_cast<StringAttr>(dim))
      shape.push_back(SizeExpr::dim(name.getValue().str()));
    else
      shape.push_back(cast<IntegerAttr>(dim).getInt());
  }
  return shape;
}

Shape heddle::sizesFromAttr(ArrayAttr sizes) {
  Shape shape = dimsFromAttr(sizes);
  for (auto [size, attr] : llvm::zip(shape, sizes))
    if (auto text = dyn_cast<StringAttr>(attr))
      if (auto parsed = SizeExpr::parse(text.str()))
        size = *parsed;
  return shape;
}

/// The static sizes of a type; dynamic ones are left to the caller.
static Shape staticShape(Type type) {
  Shape shape;
  for (int64_t size : cast<ShapedType>(type).getShape())
    shape.push_back(size);
  return shape;
}

ShapeExpressions::ShapeExpressions(func::FuncOp func) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (isa<ShapedType>(func.getArgument(i).getType()))
      argument(func, i);
  for (Operation &op : func.getBody().front())
    visit(&op);
}

/// `name`, or what no dimension of an argument is called.
static std::string freeName(func::FuncOp func, std::string name) {
  auto isGiven = [&](unsigned argument) {
    auto dims = func.getArgAttrOfType<ArrayAttr>(argument, "transformer.dims");
    return dims && llvm::is_contained(dims, StringAttr::get(func.getContext(), name));
  };
  while (llvm::any_of(llvm::seq(func.getNumArguments()), isGiven))
    name += "_";
  return name;
}

/// Named dimensions as given, others get a name by the argument's position: its own name may be any
/// text.
void ShapeExpressions::argument(func::FuncOp func, unsigned index) {
  Value value = func.getArgument(index);
  Shape shape = staticShape(value.getType());
  if (auto dims = func.getArgAttrOfType<ArrayAttr>(index, "transformer.dims"))
    shape = dimsFromAttr(dims);
  std::string base = "arg" + std::to_string(index) + ".";
  for (auto [i, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape())) {
    if (ShapedType::isDynamic(size) && shape[i].isConstant() && shape[i].constantValue() < 0)
      shape[i] = SizeExpr::dim(freeName(func, base + std::to_string(i)));
    shape[i].collectDims(names);
  }
  if (auto spread = func.getArgAttrOfType<ArrayAttr>(index, "transformer.spread"))
    for (auto [size, full] : llvm::zip(shape, sizesFromAttr(spread)))
      if (!(size == full) && !size.dimName().empty())
        oneOrFull.insert(size.dimName());
  shapes[value] = std::move(shape);
}

void ShapeExpressions::require(const SizeExpr &left, const SizeExpr &right, std::string what) {
  if (!(left == right))
    required.push_back({left, right, std::move(what), /*atMost=*/false});
}

Shape ShapeExpressions::state(Operation *user, StringRef symbol) const {
  auto op = SymbolTable::lookupNearestSymbolFrom<StateOp>(
      user, StringAttr::get(user->getContext(), symbol));
  return dimsFromAttr(op.getDims());
}

/// Where positions begin, of a group's op as of others: what a session holds already, or 0.
static SizeExpr positionsBefore(Value offset) {
  if (auto argument = dyn_cast_or_null<BlockArgument>(offset))
    if (auto group = dyn_cast<kernel::GroupOp>(argument.getOwner()->getParentOp()))
      offset = group->getOperand(argument.getArgNumber());
  auto length = offset ? offset.getDefiningOp<CacheLengthOp>() : CacheLengthOp();
  return length ? SizeExpr::dim(length.getDim().str()) : SizeExpr(0);
}

/// Shapes of ops with one result, and what they ask of their operands'.
class ShapeExpressions::Results {
public:
  explicit Results(ShapeExpressions &of) : of(of) {}

  Shape shapeOf(EmbeddingOp op) {
    Shape shape = like(op.getIds());
    shape.push_back(features(op));
    return shape;
  }
  Shape shapeOf(PositionSinusoidalOp op) {
    if (op.getDocuments())
      one(op.getInput());
    return like(op.getInput());
  }
  Shape shapeOf(PositionLearnedOp op) {
    Shape rows = like(op.getInput());
    if (op.getDocuments())
      one(op.getInput());
    else
      of.required.push_back({positionsBefore(op.getOffset()) + rows[1],
                             op.getTable().getType().getDimSize(0), "rows of the position table",
                             /*atMost=*/true});
    return rows;
  }
  Shape shapeOf(PoolOp op) {
    Shape in = like(op.getInput());
    if (op.getLengths())
      of.require(like(op.getLengths())[0], in[0], "the lengths and the batch of a pooling");
    if (op.getDocuments())
      one(op.getInput());
    return {op.getDocuments() ? like(op.getDocuments())[0] - 1 : in[0], in[2]};
  }
  Shape shapeOf(ConcatOp op) {
    Shape rows = like(op.getRows());
    rows[1] = rows[1] + op.getFirst().getType().getDimSize(0);
    return rows;
  }
  Shape shapeOf(CrossEntropyOp op) {
    rowsAndIds(op.getLogits(), op.getIds());
    return {1};
  }
  Shape shapeOf(CrossEntropyRowsOp op) {
    rowsAndIds(op.getLogits(), op.getIds());
    return withFeatures(op, op.getLogits());
  }
  Shape shapeOf(SplitHeadsOp op) {
    Shape in = like(op.getInput());
    return {in[0], static_cast<int64_t>(op.getHeads()), in[1], features(op)};
  }
  Shape shapeOf(MergeHeadsOp op) {
    Shape in = like(op.getInput());
    return {in[0], in[2], features(op)};
  }
  Shape shapeOf(StateGetOp op) { return of.state(op, op.getState()); }
  Shape shapeOf(CacheAppendOp op) {
    Shape content = of.state(op, op.getState()), added = like(op.getRows());
    content[0] = added[0];
    content[2] = content[2] + added[2];
    return content;
  }
  Shape shapeOf(arith::AddFOp op) {
    for (auto [a, b] : llvm::zip(like(op.getLhs()), like(op.getRhs())))
      of.require(a, b, "the terms of an addition");
    return like(op.getLhs());
  }
  /// The shape of `rows` with the features of the result.
  Shape withFeatures(Operation *op, Value rows) {
    Shape shape = like(rows);
    shape.back() = features(op);
    return shape;
  }
  /// The result's, which is static but for the batch of `image`.
  Shape ofImage(Operation *op, Value image) {
    Shape shape = staticShape(op->getResult(0).getType());
    shape.front() = like(image).front();
    return shape;
  }

private:
  const Shape &like(Value value) { return of.of(value); }
  int64_t features(Operation *op) {
    return cast<ShapedType>(op->getResult(0).getType()).getShape().back();
  }
  void one(Value rows) { of.require(like(rows)[0], 1, "the batch of packed documents"); }
  void rowsAndIds(Value logits, Value ids) {
    for (auto [row, id] : llvm::zip(like(logits), like(ids)))
      of.require(row, id, "the rows and the ids of a loss");
  }

  ShapeExpressions &of;
};

void ShapeExpressions::visit(Operation *op) {
  Results results(*this);
  auto set = [&](Shape shape) { shapes[op->getResult(0)] = std::move(shape); };
  llvm::TypeSwitch<Operation *>(op)
      .Case<EmbeddingOp, PositionSinusoidalOp, PositionLearnedOp, PoolOp, ConcatOp, CrossEntropyOp,
            CrossEntropyRowsOp, SplitHeadsOp, MergeHeadsOp, StateGetOp, CacheAppendOp,
            arith::AddFOp>([&](auto o) { set(results.shapeOf(o)); })
      .Case<LinearOp, FfnOp>([&](auto) { set(results.withFeatures(op, op->getOperand(0))); })
      .Case<LayerNormOp, RmsNormOp, SoftmaxOp, ShiftRightOp, arith::TruncFOp>(
          [&](auto) { set(shapes.lookup(op->getOperand(0))); })
      .Case<QuantizeOp>([&](QuantizeOp o) {
        shapes[o.getCodes()] = shapes.lookup(o.getInput());
        shapes[o.getScales()] = shapes.lookup(o.getInput());
        shapes[o.getScales()].back() = 1;
      })
      .Case<PatchesOp, PatchEmbeddingOp>([&](auto o) { set(results.ofImage(op, o.getImage())); })
      .Case<AttentionOp, AttentionStatisticsOp, AttentionWeightsOp>(
          [&](auto) { visitAttention(op); })
      .Case<StateSetOp>([&](StateSetOp o) {
        for (auto [a, b] : llvm::zip(state(op, o.getState()), shapes.lookup(o.getValue())))
          require(a, b, "state " + o.getState().str());
      })
      .Case<kernel::GroupOp>([&](auto) { visitGroup(op); })
      .Default([&](Operation *) {
        for (Value result : op->getResults())
          if (isa<ShapedType>(result.getType()))
            shapes[result] = staticShape(result.getType());
      });
}

/// Attention and its statistics and weights: batch and key counts of the operands have to agree,
/// and so do the tables of masks and rules.
void ShapeExpressions::visitAttention(Operation *op) {
  Shape q = shapes.lookup(op->getOperand(0)), k = shapes.lookup(op->getOperand(1));
  require(q[0], k[0], "the batch of queries and keys");
  llvm::TypeSwitch<Operation *>(op)
      .Case<AttentionOp>([&](AttentionOp o) {
        Shape v = shapes.lookup(o.getValue());
        require(k[0], v[0], "the batch of keys and values");
        require(k[2], v[2], "the number of keys and values");
        shapes[op->getResult(0)] = {q[0], q[1], q[2], v[3]};
        if (o.getLse())
          shapes[o.getLse()] = {q[0], q[1], q[2]};
        if (o.getWeights())
          shapes[o.getWeights()] =
              o.getAverageWeights() ? Shape{q[0], q[2], k[2]} : Shape{q[0], q[1], q[2], k[2]};
        visitRules(o, {q[0], q[1], q[2], k[2]});
      })
      .Case<AttentionStatisticsOp>([&](AttentionStatisticsOp o) {
        for (Value result : op->getResults())
          shapes[result] = {q[0], q[1], q[2]};
      })
      .Case<AttentionWeightsOp>([&](AttentionWeightsOp o) {
        shapes[op->getResult(0)] =
            o.getAverage() ? Shape{q[0], q[2], k[2]} : Shape{q[0], q[1], q[2], k[2]};
      });
}

void ShapeExpressions::visitGroup(Operation *op) {
  auto group = cast<kernel::GroupOp>(op);
  Block &body = group.getBody().front();
  for (auto [argument, operand] : llvm::zip(body.getArguments(), op->getOperands()))
    if (auto it = shapes.find(operand); it != shapes.end()) {
      Shape shape = it->second;
      shapes[argument] = std::move(shape);
    }
  for (Operation &inner : body)
    visit(&inner);
  for (auto [result, value] : llvm::zip(op->getResults(), body.getTerminator()->getOperands())) {
    Shape shape = shapes.lookup(value);
    shapes[result] = std::move(shape);
  }
}

int64_t heddle::paddedHeadSize(kernel::GroupOp group, Value yielded) {
  auto merge = beforeRounding(yielded).getDefiningOp<MergeHeadsOp>();
  if (!merge || group.getRoot() != "attention")
    return 0;
  auto heads = cast<ShapedType>(merge.getInput().getType());
  int64_t size = heads.getDimSize(3);
  return size % 16 && heads.getDimSize(1) > 1 ? size : 0;
}
