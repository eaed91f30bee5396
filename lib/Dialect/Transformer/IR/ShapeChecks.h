//===- ShapeChecks.h - Shape checks of verifiers ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape functions and checks that verifiers share. Each check reports its
// constraint and the wrong dimension.
#pragma once

#include "heddle/Dialect/ElementFormats.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"

#include <string>

namespace heddle::transformer {
enum class SmoothingOver : uint32_t;
class LinearOp;
class ValueLimits;
class WeightOp;
} // namespace heddle::transformer

namespace heddle::transformer::detail {

using namespace mlir;

/// Requires that the origin of positions fits the rows: documents need a batch of one, offsets need
/// one entry for each sequence.
template <typename Op>
void requireOrigin(Op op, SymbolicShapes &shapes) {
  if (op.getDocuments())
    shapes.requireBatchOfOne(op.getInput());
  if (Value offset = op.getOffset(); offset && isa<ShapedType>(offset.getType()))
    shapes.require(shapes.of(offset)[0], shapes.of(op.getInput())[0], "the offsets and the batch");
}
/// Requires that the rows of a sequence and the rows before them number at most `known`, which
/// `what` describes. Limits of documents are in limitStarts, limits of per-sequence offsets in the
/// planner's caches.
template <typename Op>
void requirePositions(Op op, const SizeExpr &rows, int64_t known, std::string what,
                      SymbolicShapes &shapes) {
  // An offset with a known shape is a length that a session counts. Other numbers are unknown here.
  Value offset = op.getOffset();
  if (op.getDocuments() || (offset && isa<ShapedType>(offset.getType())))
    return;
  SizeExpr before = offset && shapes.knows(offset) ? shapes.of(offset)[0] : SizeExpr(0);
  shapes.requireAtMost(before + rows, known, std::move(what));
}
// TransformerOps.cpp: verifyOrigin checks the origin of positions (starts of documents, or an
// offset). limitStarts limits starts of documents by the rows of `input`, and a document by
// `maxLength`.
LogicalResult verifyOrigin(Operation *op, StringRef constraint, Value documents, Value offset);
void limitStarts(Value documents, Value input, OpOperand &operand, ValueLimits &limits,
                 int64_t maxLength = 0);

// RowOps.cpp: epsilon and weights of norms, ids and smoothing of losses.
LogicalResult verifyEpsilon(Operation *op, StringRef constraint, FloatAttr epsilon);
/// Checks for one weight for each feature, or for each feature of each head.
LogicalResult verifyNormWeight(Operation *op, StringRef constraint, StringRef name, Value weight,
                               Value input);
/// Checks the ids and the padding id of a loss (C1 and C2).
LogicalResult verifyReference(Operation *op, Value logits, Value ids,
                              std::optional<uint64_t> padding);
/// Checks the smoothing of a loss (C4).
LogicalResult verifySmoothing(Operation *op, FloatAttr smoothing, SmoothingOver over,
                              std::optional<uint64_t> padding);

// QuantizeOps.cpp: constraints of codes and their scales.
LogicalResult verifyScales(WeightOp op);
LogicalResult verifyCodes(LinearOp op);

inline RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
inline int64_t dim(Value value, int64_t i) { return typeOf(value).getDimSize(i); }
inline int64_t features(Value value) { return typeOf(value).getShape().back(); }

/// Whether two sizes cannot be equal at run time.
inline bool differ(int64_t a, int64_t b) {
  return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b;
}

/// The f32 type of `value` with `count` features. Sums are f32, whatever the operands.
inline RankedTensorType withFeatures(Value value, int64_t count) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape.back() = count;
  return RankedTensorType::get(shape, Float32Type::get(value.getContext()));
}

/// Rows of the matrix of each of `groups` groups that a weight stacks.
inline int64_t rowsOfGroup(Value weight, std::optional<uint64_t> groups) {
  const auto count = static_cast<int64_t>(groups.value_or(1));
  return count > 0 ? dim(weight, 0) / count : 0;
}

//===- Shapes of results -------------------------------------------------===//

inline SmallVector<int64_t> embeddedShape(Value ids, Value table) {
  SmallVector<int64_t> shape(typeOf(ids).getShape());
  shape.push_back(dim(table, 1));
  return shape;
}

/// Type of embedded rows: f32, whatever the element type of the table.
inline RankedTensorType embeddedType(Value ids, Value table) {
  return RankedTensorType::get(embeddedShape(ids, table), Float32Type::get(table.getContext()));
}

/// Number of patches of an image; 0 if `side` does not divide its height and width.
inline int64_t patchCount(Value image, int64_t side) {
  int64_t height = dim(image, 2), width = dim(image, 3);
  bool divides = side > 0 && height % side == 0 && width % side == 0;
  return divides ? (height / side) * (width / side) : 0;
}
inline SmallVector<int64_t> patchesShape(Value image, uint64_t size) {
  auto side = static_cast<int64_t>(size);
  return {dim(image, 0), patchCount(image, side), dim(image, 1) * side * side};
}
inline SmallVector<int64_t> patchesShape(Value image, Value weight) {
  return {dim(image, 0), patchCount(image, dim(weight, 2)), dim(weight, 0)};
}

/// Shape of unfolded rows: one row for every `stride` rows of `input`, with the channels of `size`
/// rows. Meaningless if C1 or C2 of unfold does not hold.
inline SmallVector<int64_t> unfoldedShape(Value input, uint64_t size, uint64_t stride,
                                          bool channelsFirst) {
  if (typeOf(input).getRank() != 3 || stride == 0)
    return SmallVector<int64_t>(typeOf(input).getShape());
  int64_t rows = dim(input, channelsFirst ? 2 : 1), channels = dim(input, channelsFirst ? 1 : 2);
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(channels))
    return SmallVector<int64_t>(typeOf(input).getShape());
  return {dim(input, 0), (rows - 1) / static_cast<int64_t>(stride) + 1,
          channels * static_cast<int64_t>(size)};
}

/// Windows of a map: `size` by `size` places, at every `stride`th place of a map with `padding`
/// places around it.
struct WindowGrid {
  WindowGrid(uint64_t size, uint64_t stride, uint64_t padding)
      : size(static_cast<int64_t>(size)), stride(static_cast<int64_t>(stride)),
        padding(static_cast<int64_t>(padding)) {}
  int64_t size, stride, padding;
  /// Number of windows along an extent.
  int64_t count(int64_t extent) const {
    const int64_t room = extent + 2 * padding - size;
    return ShapedType::isDynamic(extent) || stride <= 0 ? ShapedType::kDynamic
           : room < 0                                   ? 0
                                                        : room / stride + 1;
  }
};

/// Shape of the windows of a map, or with `folds` of one number for each window and feature.
/// Meaningless if C1 or C2 of windows does not hold.
inline SmallVector<int64_t> windowsShape(Value map, WindowGrid grid, bool channelsFirst,
                                         bool folds) {
  ArrayRef<int64_t> shape = typeOf(map).getShape();
  if (shape.size() != 4)
    return SmallVector<int64_t>(shape);
  int64_t first = channelsFirst ? 2 : 1, channels = shape[channelsFirst ? 1 : 3];
  return {shape[0], grid.count(shape[first]), grid.count(shape[first + 1]),
          folds || ShapedType::isDynamic(channels) ? channels : grid.size * grid.size * channels};
}

/// Shape of one row of `features` for each place of a map.
inline SmallVector<int64_t> placesShape(Value map, int64_t features) {
  ArrayRef<int64_t> shape = typeOf(map).getShape();
  if (shape.size() != 4)
    return SmallVector<int64_t>(shape);
  bool isDynamic = ShapedType::isDynamic(shape[1]) || ShapedType::isDynamic(shape[2]);
  return {shape[0], isDynamic ? ShapedType::kDynamic : shape[1] * shape[2], features};
}

inline SmallVector<int64_t> concatShape(Value first, Value rows) {
  int64_t behind = typeOf(rows).getRank() == 3 ? dim(rows, 1) : 0;
  return {dim(rows, 0),
          ShapedType::isDynamic(behind) ? ShapedType::kDynamic : dim(first, 0) + behind,
          features(rows)};
}

/// Shape of pooled rows: one row for each sequence or document (one less than the starts), with
/// `kinds` poolings concatenated.
inline SmallVector<int64_t> pooledShape(Value input, Value documents, size_t kinds) {
  int64_t rows = dim(input, 0);
  if (documents && typeOf(documents).getRank() == 1)
    rows = typeOf(documents).isDynamicDim(0) ? ShapedType::kDynamic : dim(documents, 0) - 1;
  return {rows, features(input) * static_cast<int64_t>(kinds)};
}

inline SmallVector<int64_t> splitShape(Value input, int64_t heads) {
  ArrayRef<int64_t> shape = typeOf(input).getShape();
  if (shape.size() != 3 || heads <= 0)
    return SmallVector<int64_t>(shape);
  return {shape[0], heads, shape[1], shape[2] / heads};
}
inline SmallVector<int64_t> mergedShape(Value input) {
  return {dim(input, 0), dim(input, 2), dim(input, 1) * dim(input, 3)};
}

//===- Checks ------------------------------------------------------------===//

inline std::string shapeText(ArrayRef<int64_t> shape) {
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

/// Checks a shape against the shape that follows from the operands. The `fixed` dimensions must be
/// static.
inline LogicalResult verifyShape(Operation *op, StringRef constraint, StringRef what, Value value,
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

/// Checks that two sizes are equal; the error describes both.
inline LogicalResult verifyEqual(Operation *op, StringRef constraint, const Twine &left, int64_t a,
                                 StringRef right, int64_t b) {
  if (!differ(a, b))
    return success();
  return op->emitOpError(constraint)
         << ": expected " << left << " equal to " << right << " " << b << ", found " << a;
}

inline LogicalResult verifyColumns(Operation *op, StringRef constraint, StringRef name,
                                   Value matrix, StringRef other, int64_t size) {
  return verifyEqual(op, constraint, "columns of " + name, dim(matrix, 1), other, size);
}

/// Checks the size of a vector, which may be absent.
inline LogicalResult verifySize(Operation *op, StringRef constraint, StringRef name, Value vector,
                                StringRef other, int64_t size) {
  return vector ? verifyEqual(op, constraint, "size of " + name, dim(vector, 0), other, size)
                : success();
}

/// Whether a product accepts operands of these types. `kept` is a weight, or keys or values.
inline bool multiplies(Type operand, Type kept) { return findProduct(operand, kept) != nullptr; }

/// Checks the element types of a product's operands.
inline LogicalResult verifyElements(Operation *op, StringRef constraint, StringRef name,
                                    Value weight, Value input) {
  Type found = typeOf(weight).getElementType(), expected = typeOf(input).getElementType();
  if (multiplies(expected, found))
    return success();
  return op->emitOpError(constraint) << ": expected elements of " << name << " that multiply with "
                                     << expected << " of input, found " << found;
}

/// Runs checks until one fails. Each check reports its own error.
template <typename... Checks>
LogicalResult inOrder(Checks... checks) {
  return success((succeeded(checks()) && ...));
}

} // namespace heddle::transformer::detail
