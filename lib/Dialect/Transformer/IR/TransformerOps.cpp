//===- TransformerOps.cpp - Verifiers and inferred types ------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op's verifier checks the constraints C1, C2, ... of its description in
// order and names the dimension that is wrong. Result types are inferred
// leniently (an op that the verifier will refuse still gets some type), so that
// the message always comes from the verifier.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle::transformer;

/// `custom<SameTypes>`: one type, written once, of two results.
static ParseResult parseSameTypes(OpAsmParser &parser, Type &first, Type &second) {
  ParseResult parsed = parser.parseType(first);
  second = first;
  return parsed;
}

static void printSameTypes(OpAsmPrinter &printer, Operation *, Type first, Type) {
  printer << first;
}

using heddle::transformer::detail::parseDocumentTables;
using heddle::transformer::detail::printDocumentTables;

#define GET_OP_CLASSES
#include "heddle/Dialect/Transformer/IR/TransformerOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static int64_t dim(Value value, int64_t i) { return typeOf(value).getDimSize(i); }
static int64_t features(Value value) { return typeOf(value).getShape().back(); }

Value heddle::transformer::beforeRounding(Value value) {
  auto round = value.getDefiningOp<arith::TruncFOp>();
  return round ? round.getIn() : value;
}

/// Two sizes that cannot be equal at run time.
static bool differ(int64_t a, int64_t b) {
  return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b;
}

/// The type of `value` with other features, in f32: sums are, whatever the operands are.
static RankedTensorType withFeatures(Value value, int64_t count) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape.back() = count;
  return RankedTensorType::get(shape, Float32Type::get(value.getContext()));
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      os << "?";
    else
      os << size;
  });
  return text + "]";
}

/// Checks a result against the shape that follows from the operands; `fixed` dimensions must be
/// written, not `?`.
static LogicalResult verifyShape(Operation *op, StringRef constraint, StringRef what, Value value,
                                 ArrayRef<int64_t> expected, ArrayRef<int64_t> fixed = {}) {
  ArrayRef<int64_t> found = typeOf(value).getShape();
  if (found.size() != expected.size())
    return op->emitOpError(constraint)
           << ": " << what << ": expected rank " << expected.size() << " " << shapeText(expected)
           << ", found rank " << found.size() << " " << shapeText(found);
  for (auto [i, size] : llvm::enumerate(expected)) {
    bool mustBeStatic = llvm::is_contained(fixed, static_cast<int64_t>(i));
    if (differ(found[i], size) || (mustBeStatic && found[i] != size))
      return op->emitOpError(constraint)
             << ": dimension " << i << " of " << what << ": expected " << size << " in "
             << shapeText(expected) << ", found " << shapeText(found);
  }
  return success();
}

/// `left` must equal `right`; both are described.
static LogicalResult verifyEqual(Operation *op, StringRef constraint, const Twine &left, int64_t a,
                                 StringRef right, int64_t b) {
  if (!differ(a, b))
    return success();
  return op->emitOpError(constraint)
         << ": " << left << " " << a << " must equal " << right << " " << b;
}

static LogicalResult verifyColumns(Operation *op, StringRef constraint, StringRef name,
                                   Value matrix, StringRef other, int64_t size) {
  return verifyEqual(op, constraint, "columns of " + name, dim(matrix, 1), other, size);
}

/// A vector, which may be absent.
static LogicalResult verifySize(Operation *op, StringRef constraint, StringRef name, Value vector,
                                StringRef other, int64_t size) {
  return vector ? verifyEqual(op, constraint, "size of " + name, dim(vector, 0), other, size)
                : success();
}

/// Operands of one product.
static LogicalResult verifyElements(Operation *op, StringRef constraint, StringRef name,
                                    Value weight, Value input) {
  Type found = typeOf(weight).getElementType(), expected = typeOf(input).getElementType();
  if (found == expected)
    return success();
  return op->emitOpError(constraint) << ": elements of " << name << " must be those of input, "
                                     << expected << ", found " << found;
}

/// Runs checks until one fails; each has reported its own reason.
template <typename... Checks>
static LogicalResult inOrder(Checks... checks) {
  return success((succeeded(checks()) && ...));
}

//===----------------------------------------------------------------------===//
// Traits of all ops
//===----------------------------------------------------------------------===//

LogicalResult heddle::transformer::detail::verifyKnownAttributes(Operation *op) {
  static constexpr StringLiteral planned[] = {"positions", "gated"};
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name.contains('.'))
      continue;
    if (llvm::is_contained(planned, name))
      return op->emitOpError("attribute '") << name << "' is not built yet";
    return op->emitOpError("unknown attribute '") << name << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// weight
//===----------------------------------------------------------------------===//

LogicalResult WeightOp::verify() {
  if (!typeOf(getResult()).hasStaticShape())
    return emitOpError("C1: the type must be static, found ") << getResult().getType();
  if (getName().empty())
    return emitOpError("C2: expected the name of a tensor, found an empty one");
  return success();
}

void WeightOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

//===----------------------------------------------------------------------===//
// embedding, position.sinusoidal
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> embeddedShape(Value ids, Value table) {
  SmallVector<int64_t> shape(typeOf(ids).getShape());
  shape.push_back(dim(table, 1));
  return shape;
}

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(embeddedShape(adaptor.getIds(), adaptor.getTable()),
                                        typeOf(adaptor.getTable()).getElementType()));
  return success();
}

LogicalResult EmbeddingOp::verify() {
  SmallVector<int64_t> shape = embeddedShape(getIds(), getTable());
  int64_t last = shape.size() - 1;
  if (LogicalResult checked = verifyShape(*this, "C1", "the result", getResult(), shape, {last});
      failed(checked))
    return checked;
  if (std::optional<uint64_t> id = getPaddingId();
      id && *id >= static_cast<uint64_t>(dim(getTable(), 0)))
    return emitOpError("C2: padding_id ")
           << static_cast<int64_t>(*id) << " must be a row of the table of " << dim(getTable(), 0)
           << " rows";
  return success();
}

LogicalResult PositionSinusoidalOp::verify() {
  if (int64_t rank = typeOf(getInput()).getRank(); rank != 3)
    return emitOpError("C1: input must have rank 3 [batch, rows, features], found rank ") << rank;
  if (!getDocuments())
    return success();
  if (int64_t rank = typeOf(getDocuments()).getRank(); rank != 1)
    return emitOpError("C2: documents must be a vector of starts, found rank ") << rank;
  if (getOffset())
    return emitOpError("C2: expected documents or an offset, found both");
  return success();
}

//===----------------------------------------------------------------------===//
// linear, ffn, layer_norm
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(withFeatures(adaptor.getInput(), dim(adaptor.getWeight(), 0)));
  return success();
}

LogicalResult LinearOp::verify() {
  Operation *op = *this;
  int64_t rows = dim(getWeight(), 0);
  RankedTensorType type = withFeatures(getInput(), rows);
  return inOrder(
      [&] {
        return verifyColumns(op, "C1", "weight", getWeight(), "features of input",
                             features(getInput()));
      },
      [&] { return verifySize(op, "C2", "bias", getBias(), "rows of weight", rows); },
      [&] {
        return verifyShape(op, "C3", "the result", getResult(), type.getShape(),
                           {type.getRank() - 1});
      },
      [&] { return verifyElements(op, "C4", "weight", getWeight(), getInput()); });
}

LogicalResult FfnOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  types.push_back(withFeatures(adaptor.getInput(), dim(adaptor.getOutWeight(), 0)));
  return success();
}

LogicalResult FfnOp::verify() {
  Operation *op = *this;
  int64_t hidden = dim(getInWeight(), 0), rows = dim(getOutWeight(), 0);
  RankedTensorType type = withFeatures(getInput(), rows);
  return inOrder(
      [&] {
        return verifyColumns(op, "C1", "in_weight", getInWeight(), "features of input",
                             features(getInput()));
      },
      [&] { return verifySize(op, "C2", "in_bias", getInBias(), "rows of in_weight", hidden); },
      [&] {
        return verifyColumns(op, "C3", "out_weight", getOutWeight(), "rows of in_weight", hidden);
      },
      [&] { return verifySize(op, "C4", "out_bias", getOutBias(), "rows of out_weight", rows); },
      [&] {
        return verifyShape(op, "C5", "the result", getResult(), type.getShape(),
                           {type.getRank() - 1});
      },
      [&] { return verifyElements(op, "C6", "in_weight", getInWeight(), getInput()); },
      [&] { return verifyElements(op, "C6", "out_weight", getOutWeight(), getInput()); });
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult LayerNormOp::verify() {
  Operation *op = *this;
  RankedTensorType type = typeOf(getInput());
  int64_t size = features(getInput());
  LogicalResult shapes =
      inOrder([&] { return verifySize(op, "C1", "gamma", getGamma(), "features of input", size); },
              [&] { return verifySize(op, "C2", "beta", getBeta(), "features of input", size); },
              [&] {
                return verifyShape(op, "C3", "the result", getResult(), type.getShape(),
                                   {type.getRank() - 1});
              });
  if (failed(shapes))
    return shapes;
  if (!getEpsilon().isFinite() || getEpsilon().isNegative())
    return emitOpError("C4: epsilon must be finite and not negative, found ") << getEpsilonAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// pool
//===----------------------------------------------------------------------===//

/// One row for each sentence, or for each document: one less than the starts.
static SmallVector<int64_t> pooledShape(Value input, Value documents) {
  int64_t rows = dim(input, 0);
  if (documents)
    rows = typeOf(documents).isDynamicDim(0) ? ShapedType::kDynamic : dim(documents, 0) - 1;
  return {rows, features(input)};
}

LogicalResult PoolOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  Value documents = adaptor.getDocuments();
  if (documents && typeOf(documents).getRank() != 1) // the verifier has more to say
    documents = Value();
  types.push_back(RankedTensorType::get(pooledShape(adaptor.getInput(), documents),
                                        typeOf(adaptor.getInput()).getElementType()));
  return success();
}

LogicalResult PoolOp::verify() {
  if (int64_t rank = typeOf(getInput()).getRank(); rank != 3)
    return emitOpError("C1: input must have rank 3 [batch, rows, features], found rank ") << rank;
  if (getLengths()) {
    if (int64_t rank = typeOf(getLengths()).getRank(); rank != 1)
      return emitOpError("C2: lengths must be a vector, found rank ") << rank;
    if (failed(verifySize(*this, "C2", "lengths", getLengths(), "the batch of input",
                          dim(getInput(), 0))))
      return failure();
  }
  if (getDocuments()) {
    if (int64_t rank = typeOf(getDocuments()).getRank(); rank != 1)
      return emitOpError("C3: documents must be a vector of starts, found rank ") << rank;
    if (getLengths())
      return emitOpError("C3: expected documents or lengths, found both");
    if (dim(getDocuments(), 0) == 0)
      return emitOpError("C3: documents must hold at least the end, found no element");
    if (differ(dim(getInput(), 0), 1))
      return emitOpError("C3: packed documents need a batch of 1, found ") << dim(getInput(), 0);
  }
  return verifyShape(*this, "C4", "the result", getResult(),
                     pooledShape(getInput(), getDocuments()), {1});
}

//===----------------------------------------------------------------------===//
// split_heads, merge_heads
//===----------------------------------------------------------------------===//

LogicalResult SplitHeadsOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  int64_t heads = adaptor.getHeads();
  if (input.getRank() == 3 && heads > 0)
    input = RankedTensorType::get(
        {input.getDimSize(0), heads, input.getDimSize(1), input.getDimSize(2) / heads},
        input.getElementType());
  types.push_back(input);
  return success();
}

LogicalResult SplitHeadsOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (input.getRank() != 3)
    return emitOpError("C1: input must have rank 3 [batch, rows, features], found rank ")
           << input.getRank();
  int64_t heads = getHeads(), size = input.getDimSize(2);
  if (heads <= 0 || size % heads != 0)
    return emitOpError("C2: heads ")
           << heads << " must be positive and divide the features of input " << size;
  return verifyShape(*this, "C3", "the result", getResult(),
                     {input.getDimSize(0), heads, input.getDimSize(1), size / heads}, {1, 3});
}

LogicalResult MergeHeadsOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(adaptor.getInput());
  types.push_back(RankedTensorType::get(
      {input.getDimSize(0), input.getDimSize(2), input.getDimSize(1) * input.getDimSize(3)},
      input.getElementType()));
  return success();
}

LogicalResult MergeHeadsOp::verify() {
  RankedTensorType input = typeOf(getInput());
  return verifyShape(
      *this, "C1", "the result", getResult(),
      {input.getDimSize(0), input.getDimSize(2), input.getDimSize(1) * input.getDimSize(3)}, {2});
}

// Splitting what was just merged, or merging what was just split, gives the tensor back.
OpFoldResult SplitHeadsOp::fold(FoldAdaptor) {
  auto merge = getInput().getDefiningOp<MergeHeadsOp>();
  return merge && merge.getInput().getType() == getType() ? merge.getInput() : Value();
}

OpFoldResult MergeHeadsOp::fold(FoldAdaptor) {
  auto split = getInput().getDefiningOp<SplitHeadsOp>();
  return split && split.getInput().getType() == getType() ? split.getInput() : Value();
}

// The verifier compares written types with inferred ones and says which dimension is wrong.
#define HEDDLE_VERIFIER_COMPARES(OP)                                                               \
  bool OP::isCompatibleReturnTypes(TypeRange, TypeRange) { return true; }
HEDDLE_VERIFIER_COMPARES(EmbeddingOp)
HEDDLE_VERIFIER_COMPARES(LinearOp)
HEDDLE_VERIFIER_COMPARES(FfnOp)
HEDDLE_VERIFIER_COMPARES(LayerNormOp)
HEDDLE_VERIFIER_COMPARES(PoolOp)
HEDDLE_VERIFIER_COMPARES(SplitHeadsOp)
HEDDLE_VERIFIER_COMPARES(MergeHeadsOp)
#undef HEDDLE_VERIFIER_COMPARES
