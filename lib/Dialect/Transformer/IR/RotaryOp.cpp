//===- RotaryOp.cpp - Rotary positions ------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifier of rotary, and its table of cosines and sines.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "ShapeChecks.h"

#include <charconv>
#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

int64_t RotaryOp::getRotatedSize() {
  return static_cast<int64_t>(getFraction().convertToDouble() *
                              static_cast<double>(features(getInput())));
}

/// The shortest text that parses to the same number.
static std::string numberText(double number) {
  char text[32];
  return {text, std::to_chars(std::begin(text), std::end(text), number).ptr};
}

LogicalResult RotaryOp::verify() {
  double base = getBase().convertToDouble(), fraction = getFraction().convertToDouble();
  if (!std::isfinite(base) || base < 1)
    return emitOpError("C1: expected a finite base of at least 1, found ") << numberText(base);
  if (!(fraction > 0 && fraction <= 1))
    return emitOpError("C2: expected a fraction above 0 and at most 1, found ")
           << numberText(fraction);
  int64_t rotated = getRotatedSize();
  if (rotated == 0 || rotated % 2 != 0)
    return emitOpError("C3: expected an even number of rotated features, found ")
           << rotated << ", the fraction " << numberText(fraction) << " of "
           << features(getInput());
  double factor = getFactor().convertToDouble();
  if (!std::isfinite(factor) || !(factor > 0))
    return emitOpError("C4: expected a finite factor above 0, found ") << numberText(factor);
  if (failed(verifyOrigin(*this, "C5", getDocuments(), getOffset())))
    return failure();
  std::optional<ArrayRef<double>> frequencies = getFrequencies();
  if (frequencies && static_cast<int64_t>(frequencies->size()) != rotated / 2)
    return emitOpError("C6: expected a frequency for each of ")
           << rotated / 2 << " pairs, found " << frequencies->size();
  for (double frequency : frequencies.value_or(ArrayRef<double>()))
    if (!std::isfinite(frequency) || frequency < 0)
      return emitOpError("C6: expected finite frequencies of at least 0, found ")
             << numberText(frequency);
  double magnitude = getMagnitude().convertToDouble();
  if (!std::isfinite(magnitude) || !(magnitude > 0) || (!frequencies && magnitude != 1))
    return emitOpError("C7: expected ")
           << (frequencies ? "a finite magnitude above 0" : "no magnitude without frequencies")
           << ", found " << numberText(magnitude);
  if (std::optional<int64_t> length = getLength()) {
    int64_t rows = dim(getInput(), 2);
    if (*length < 1)
      return emitOpError("C8: expected a length of at least 1, found ") << *length;
    if (!getDocuments() && !ShapedType::isDynamic(rows) && rows > *length)
      return emitOpError("C8: expected at most ")
             << *length << " rows, which have positions, found " << rows;
  }
  return success();
}

void RotaryOp::inferShapes(SymbolicShapes &shapes) {
  requireOrigin(*this, shapes);
  if (std::optional<int64_t> length = getLength())
    requirePositions(*this, shapes.of(getInput())[2], *length, "rows that have rotary positions",
                     shapes);
  shapes.inferRows(*this);
}

void RotaryOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  limitStarts(getDocuments(), getInput(), operand, limits, getLength().value_or(0));
}

Value RotaryOp::documentStarts() { return getDocuments(); }

std::optional<RowTable> RotaryOp::rowTable() {
  int64_t rotated = getRotatedSize();
  if (std::optional<ArrayRef<double>> frequencies = getFrequencies()) {
    std::string numbers = numberText(getMagnitude().convertToDouble());
    for (double frequency : *frequencies)
      numbers += ", " + numberText(frequency);
    return RowTable{"rotation(" + numbers + ")", rotated, getOffset()};
  }
  double factor = getFactor().convertToDouble();
  return RowTable{"rotary(" + std::to_string(rotated) + ", " +
                      numberText(getBase().convertToDouble()) +
                      (factor == 1 ? "" : ", " + numberText(factor)) + ")",
                  rotated, getOffset()};
}
