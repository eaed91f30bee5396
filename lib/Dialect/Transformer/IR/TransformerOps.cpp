//===- TransformerOps.cpp - Verifiers and inferred types ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and inferred types. Verifiers check the constraints C1, C2, ... of
// an op's description in order and report the wrong dimension. Matrix products
// are in ProductOps.cpp, ops over whole rows in RowOps.cpp.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "ShapeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

/// `custom<SameTypes>`: the common type of two results, written once.
static ParseResult parseSameTypes(OpAsmParser &parser, Type &first, Type &second) {
  ParseResult parsed = parser.parseType(first);
  second = first;
  return parsed;
}

static void printSameTypes(OpAsmPrinter &printer, Operation *, Type first, Type) {
  printer << first;
}

#define GET_OP_CLASSES
#include "heddle/Dialect/Transformer/IR/TransformerOps.cpp.inc"

bool heddle::transformer::isRounding(Operation *op) { return isa_and_nonnull<arith::TruncFOp>(op); }

Value heddle::transformer::beforeRounding(Value value) {
  Operation *op = value.getDefiningOp();
  return isRounding(op) ? op->getOperand(0) : value;
}

Value heddle::transformer::roundedTo(OpBuilder &builder, Location loc, Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return arith::TruncFOp::create(builder, loc, type.clone(element), value);
}

//===- Traits of all ops -------------------------------------------------===//

LogicalResult heddle::transformer::detail::verifyKnownAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (StringRef name = attribute.getName(); !name.contains('.'))
      return op->emitOpError("unknown attribute '") << name << "'";
  return success();
}

//===- weight ------------------------------------------------------------===//

LogicalResult WeightOp::verify() {
  if (!typeOf(getResult()).hasStaticShape())
    return emitOpError("C1: expected a static type, found ") << getResult().getType();
  if (getName().empty())
    return emitOpError("C2: expected the name of a tensor, found an empty one");
  if (getScales())
    return verifyScales(*this);
  std::optional<ArrayRef<int64_t>> stored = getStored();
  int64_t elements = typeOf(getResult()).getNumElements();
  if (stored && (llvm::any_of(*stored, [](int64_t size) { return size < 0; }) ||
                 ShapedType::getNumElements(*stored) != elements))
    return emitOpError("C3: expected stored with the elements of ")
           << getResult().getType() << ", found " << shapeText(*stored);
  return success();
}

void WeightOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

//===- embedding, positions ----------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  SmallVector<int64_t> shape = embeddedShape(getIds(), getTable());
  int64_t last = shape.size() - 1;
  if (LogicalResult checked = verifyShape(*this, "C1", "the result", getResult(), shape, {last});
      failed(checked))
    return checked;
  if (std::optional<uint64_t> id = getPaddingId();
      id && *id >= static_cast<uint64_t>(dim(getTable(), 0)))
    return emitOpError("C2: expected padding_id below the ")
           << dim(getTable(), 0) << " rows of the table, found " << static_cast<int64_t>(*id);
  const ElementFormat &format = formatOf(getTable().getType());
  const bool needsScales = format.isCode() && !format.holdsScales();
  if (needsScales != static_cast<bool>(getScales()))
    return emitOpError("C3: expected ")
           << (needsScales ? "scales of a table of " : "no scales of a table of ")
           << getTable().getType().getElementType() << ", found "
           << (needsScales ? "none" : "some");
  return needsScales
             ? verifyShape(*this, "C3", "scales", getScales(), {2, dim(getTable(), 0)}, {0, 1})
             : success();
}

void EmbeddingOp::inferShapes(SymbolicShapes &shapes) {
  Shape shape = shapes.of(getIds());
  shape.push_back(features(getResult()));
  shapes.set(getResult(), std::move(shape));
}

OperandStorage EmbeddingOp::storageOf(OpOperand &operand) {
  return &operand == &getTableMutable() ? OperandStorage::Table : storageByRank(operand);
}

void EmbeddingOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (&operand == &getIdsMutable())
    limits.addBelow(dim(getTable(), 0));
}

static LogicalResult verifyRank3(Operation *op, Value input) {
  int64_t rank = typeOf(input).getRank();
  if (rank == 3)
    return success();
  return op->emitOpError("C1: expected input of rank 3 [batch, rows, features], found rank ")
         << rank;
}

LogicalResult transformer::detail::verifyOrigin(Operation *op, StringRef constraint,
                                                Value documents, Value offset) {
  if (!documents)
    return success();
  if (int64_t rank = typeOf(documents).getRank(); rank != 1)
    return op->emitOpError(constraint)
           << ": expected documents as a vector of starts, found rank " << rank;
  if (offset)
    return op->emitOpError(constraint) << ": expected documents or an offset, found both";
  return success();
}

LogicalResult PositionSinusoidalOp::verify() {
  return inOrder([&] { return verifyRank3(*this, getInput()); },
                 [&] { return verifyOrigin(*this, "C2", getDocuments(), getOffset()); });
}

LogicalResult PositionLearnedOp::verify() {
  Operation *op = *this;
  LogicalResult shapes =
      inOrder([&] { return verifyRank3(op, getInput()); },
              [&] {
                return verifyColumns(op, "C2", "table", getTable(), "features of input",
                                     features(getInput()));
              },
              [&] { return verifyOrigin(op, "C3", getDocuments(), getOffset()); });
  if (failed(shapes))
    return shapes;
  int64_t rows = dim(getInput(), 1), known = dim(getTable(), 0);
  if (!getDocuments() && !ShapedType::isDynamic(rows) && rows > known)
    return emitOpError("C4: expected at most ")
           << known << " rows, which the table has, found " << rows;
  return success();
}

void PositionSinusoidalOp::inferShapes(SymbolicShapes &shapes) {
  requireOrigin(*this, shapes);
  shapes.inferRows(*this);
}

void PositionLearnedOp::inferShapes(SymbolicShapes &shapes) {
  requireOrigin(*this, shapes);
  requirePositions(*this, shapes.of(getInput())[1], dim(getTable(), 0),
                   "rows of the position table", shapes);
  shapes.inferRows(*this);
}

void transformer::detail::limitStarts(Value documents, Value input, OpOperand &operand,
                                      ValueLimits &limits, int64_t maxLength) {
  const Shape &shape = limits.shapes.of(input);
  if (documents == operand.get())
    limits.addStarts(shape[shape.size() - 2] + 1, maxLength);
}

void PositionSinusoidalOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  limitStarts(getDocuments(), getInput(), operand, limits);
}

void PositionLearnedOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  limitStarts(getDocuments(), getInput(), operand, limits, dim(getTable(), 0));
}

Value PositionSinusoidalOp::documentStarts() { return getDocuments(); }
Value PositionLearnedOp::documentStarts() { return getDocuments(); }

std::optional<RowTable> PositionSinusoidalOp::rowTable() {
  int64_t columns = features(getInput());
  return RowTable{"sinusoidal(" + std::to_string(columns) + ")", columns, getOffset()};
}

//===- patches, patch_embedding, unfold, concat ---------------------------===//

/// Checks that patches of `side` tile the image.
static LogicalResult verifyPatches(Operation *op, StringRef constraint, Value image, int64_t side) {
  if (patchCount(image, side) > 0)
    return success();
  return op->emitOpError(constraint)
         << ": expected patches whose side divides the height " << dim(image, 2)
         << " and the width " << dim(image, 3) << " of the image, found a side of " << side;
}

/// Patches have static sizes except for the batch.
static void inferPatches(Value result, Value image, SymbolicShapes &shapes) {
  Shape shape = staticShape(result.getType());
  shape.front() = shapes.of(image).front();
  shapes.set(result, std::move(shape));
}

void PatchesOp::inferShapes(SymbolicShapes &shapes) {
  inferPatches(getResult(), getImage(), shapes);
}

void PatchEmbeddingOp::inferShapes(SymbolicShapes &shapes) {
  inferPatches(getResult(), getImage(), shapes);
}

LogicalResult PatchesOp::verify() {
  int64_t side = getSize();
  if (LogicalResult checked = verifyPatches(*this, "C1", getImage(), side); failed(checked))
    return checked;
  return verifyShape(*this, "C2", "the result", getResult(), patchesShape(getImage(), side),
                     {1, 2});
}

LogicalResult PatchEmbeddingOp::verify() {
  Operation *op = *this;
  Value image = getImage(), weight = getWeight();
  int64_t side = dim(weight, 2), outputs = dim(weight, 0);
  return inOrder(
      [&] {
        return verifyEqual(op, "C1", "input channels of weight", dim(weight, 1),
                           "channels of image", dim(image, 1));
      },
      [&] {
        return verifyEqual(op, "C2", "width of the kernels of weight", dim(weight, 3),
                           "their height", side);
      },
      [&] { return verifyPatches(op, "C2", image, side); },
      [&] { return verifySize(op, "C3", "bias", getBias(), "output channels of weight", outputs); },
      [&] {
        return verifyShape(op, "C4", "the result", getResult(), patchesShape(image, weight),
                           {1, 2});
      });
}

void UnfoldOp::inferShapes(SymbolicShapes &shapes) {
  inferPatches(getResult(), getInput(), shapes);
}

LogicalResult UnfoldOp::verify() {
  auto size = static_cast<int64_t>(getSize()), stride = static_cast<int64_t>(getStride());
  RankedTensorType input = typeOf(getInput());
  if (input.getRank() != 3 || input.isDynamicDim(1) || input.isDynamicDim(2) ||
      input.getDimSize(1) == 0 || input.getDimSize(2) == 0)
    return emitOpError("C1: expected input of rank 3, static but for the batch, found ") << input;
  if (size <= 0 || size % 2 == 0 || stride <= 0)
    return emitOpError("C2: expected an odd positive size and a positive stride, found ")
           << size << " and " << stride;
  return verifyShape(*this, "C3", "the result", getResult(),
                     unfoldedShape(getInput(), getSize(), getStride(), getChannelsFirst()), {1, 2});
}

LogicalResult ConcatOp::verify() {
  Operation *op = *this;
  if (int64_t rank = typeOf(getRows()).getRank(); rank != 3)
    return op->emitOpError("C1: expected rows of rank 3 [batch, rows, features], found rank ")
           << rank;
  return inOrder(
      [&] {
        return verifyColumns(op, "C2", "first", getFirst(), "features of rows",
                             features(getRows()));
      },
      [&] {
        return verifyShape(op, "C3", "the result", getResult(), concatShape(getFirst(), getRows()),
                           {1, 2});
      });
}

void ConcatOp::inferShapes(SymbolicShapes &shapes) {
  Shape shape = shapes.of(getRows());
  shape[1] = shape[1] + dim(getFirst(), 0);
  shapes.set(getResult(), std::move(shape));
}

bool ConcatOp::takesWeight(OpOperand &operand) { return &operand == &getFirstMutable(); }

//===- split_heads, merge_heads ------------------------------------------===//

LogicalResult SplitHeadsOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (input.getRank() != 3)
    return emitOpError("C1: expected input of rank 3 [batch, rows, features], found rank ")
           << input.getRank();
  int64_t heads = getHeads(), size = input.getDimSize(2);
  if (heads <= 0 || size % heads != 0)
    return emitOpError(
               "C2: expected a positive number of heads that divides the features of input ")
           << size << ", found " << heads;
  return verifyShape(*this, "C3", "the result", getResult(), splitShape(getInput(), heads), {1, 3});
}

LogicalResult MergeHeadsOp::verify() {
  return verifyShape(*this, "C1", "the result", getResult(), mergedShape(getInput()), {2});
}

void SplitHeadsOp::inferShapes(SymbolicShapes &shapes) {
  const Shape &in = shapes.of(getInput());
  shapes.set(getResult(),
             Shape{in[0], static_cast<int64_t>(getHeads()), in[1], features(getResult())});
}

void MergeHeadsOp::inferShapes(SymbolicShapes &shapes) {
  const Shape &in = shapes.of(getInput());
  shapes.set(getResult(), Shape{in[0], in[2], features(getResult())});
}

// Splitting merged heads, or merging split heads, gives the original tensor.
OpFoldResult SplitHeadsOp::fold(FoldAdaptor) {
  auto merge = getInput().getDefiningOp<MergeHeadsOp>();
  return merge && merge.getInput().getType() == getType() ? merge.getInput() : Value();
}

OpFoldResult MergeHeadsOp::fold(FoldAdaptor) {
  auto split = getInput().getDefiningOp<SplitHeadsOp>();
  return split && split.getInput().getType() == getType() ? split.getInput() : Value();
}
