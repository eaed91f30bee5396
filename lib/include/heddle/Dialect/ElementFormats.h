//===- ElementFormats.h - Formats of MLIR's types --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps element types of tensors, views and registers to the formats of
// Support/Formats.h.
#pragma once

#include "heddle/Support/Formats.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <optional>

namespace heddle {

inline mlir::Type mlirTypeOf(DType type, mlir::MLIRContext *context) {
  if (type == DType::F32)
    return mlir::Float32Type::get(context);
  if (type == DType::F16)
    return mlir::Float16Type::get(context);
  if (type == DType::BF16)
    return mlir::BFloat16Type::get(context);
  if (type == DType::SI8 || type == DType::SI6)
    return mlir::IntegerType::get(context, type == DType::SI8 ? 8 : 6, mlir::IntegerType::Signed);
  int64_t bits = type == DType::Bool ? 1 : formatOf(type).bits;
  return mlir::IntegerType::get(context, static_cast<unsigned>(bits));
}

/// The element type of a tensor or number as a DType; none if programs have no such elements.
inline std::optional<DType> findDType(mlir::Type type) {
  type = mlir::getElementTypeOrSelf(type);
  if (type.isIndex())
    return DType::I64;
  for (const ElementFormat &row : format_rows::elements)
    if (mlirTypeOf(row.type, type.getContext()) == type)
      return row.type;
  return std::nullopt;
}
/// Like findDType, for a type that was verified.
inline DType dtypeOf(mlir::Type type) { return findDType(type).value(); }
inline const ElementFormat &formatOf(mlir::Type type) { return formatOf(dtypeOf(type)); }

/// The first format whose products take these operand types; null if there is none.
inline const NumberFormat *findProduct(mlir::Type rows, mlir::Type weights) {
  std::optional<DType> left = findDType(rows), right = findDType(weights);
  return left && right ? findProduct(*left, *right) : nullptr;
}

} // namespace heddle
