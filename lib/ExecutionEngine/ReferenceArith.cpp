//===- ReferenceArith.cpp - Constants and elementwise ops -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of `arith` and `tensor` that models use: sums of tensors, constants, sizes. Any other op is
// an error; it is never skipped.

#include "ReferenceOps.h"

#include "heddle/Analysis/ScalarProgram.h"
#include "heddle/Dialect/ElementFormats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <optional>

using namespace mlir;

namespace heddle::reference {

std::optional<DType> elementType(Type type) { return findDType(type); }

static Expected<RefTensor> constant(arith::ConstantOp op) {
  std::optional<DType> type = elementType(op.getType());
  if (!type)
    return errorAt(op, "expected f32, i1, i32, i64 or index, found another type");
  RefTensor result{*type, {}, {}};
  if (!isa<ShapedType>(op.getType())) {
    result.values = {scalarNumber(op.getValue())};
    return result;
  }
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense)
    return errorAt(op, "expected a dense constant, found another one");
  result.shape = dense.getType().getShape().vec();
  for (Attribute number : dense.getValues<Attribute>())
    result.values.push_back(scalarNumber(number));
  return result;
}

//===- Elementwise -------------------------------------------------------===//

static Expected<RefTensor> elementwise(Operation *op, const Lookup &lookup) {
  ScalarOp compute = scalarOp(op);
  std::optional<DType> type = compute ? elementType(op->getResult(0).getType()) : std::nullopt;
  if (!type)
    return errorAt(op, "expected an op that the reference supports, found another one");
  std::vector<const RefTensor *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&lookup(operand));
  const RefTensor &last = *operands.back();
  RefTensor result{*type, last.shape, std::vector<double>(last.values.size())};
  for (const RefTensor *operand : operands) // the condition of a select may be a scalar
    if (operand->shape != last.shape && !(operand->shape.empty() && isa<arith::SelectOp>(op)))
      return errorAt(op, "expected operands of one shape, found " + shapeText(operand->shape) +
                             " and " + shapeText(last.shape));
  for (int64_t n = 0; n < last.size(); ++n) {
    double x[3] = {};
    for (size_t k = 0; k < operands.size(); ++k)
      x[k] = operands[k]->values[operands[k]->shape.empty() ? 0 : n];
    result.values[n] = compute(x);
  }
  return result;
}

Expected<RefTensor> arithmetic(Operation *op, const Lookup &lookup) {
  if (auto made = dyn_cast<arith::ConstantOp>(op))
    return constant(made);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return lookup(cast.getSource());
  if (auto size = dyn_cast<tensor::DimOp>(op)) {
    const RefTensor &source = lookup(size.getSource());
    int64_t i = static_cast<int64_t>(lookup(size.getIndex()).values[0]);
    if (i < 0 || i >= static_cast<int64_t>(source.shape.size()))
      return errorAt(op, "expected a dimension of " + shapeText(source.shape) + ", found " +
                             std::to_string(i));
    return RefTensor{DType::I64, {}, {static_cast<double>(source.shape[i])}};
  }
  if (auto round = dyn_cast<arith::TruncFOp>(op))
    if (std::optional<DType> type = elementType(round.getType()))
      return roundedTo(*type, lookup(round.getIn()));
  return elementwise(op, lookup);
}

} // namespace heddle::reference
