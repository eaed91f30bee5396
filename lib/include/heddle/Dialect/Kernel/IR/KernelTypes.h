//===- KernelTypes.h - Types of the kernel dialect --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes and dimensions of views, and the generated types and attributes of the
// kernel dialect. Attributes that hold program values are complete only if
// Support/Program.h is included.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "heddle/Dialect/Kernel/IR/KernelDialect.h.inc"

namespace heddle {
class SizeExpr;
struct Buffer;
struct Check;
struct Function;
struct PackEntry;
struct Port;
} // namespace heddle

namespace heddle::kernel {

/// A constant (`value`), or the name of one of the kernel's scalars.
struct Size {
  mlir::StringAttr name;
  int64_t value = 0;

  Size() = default;
  Size(int64_t value) : value(value) {}
  Size(mlir::StringAttr name) : name(name) {}
  Size(mlir::MLIRContext *context, llvm::StringRef name)
      : name(mlir::StringAttr::get(context, name)) {}

  bool isStatic() const { return !name; }
  bool operator==(const Size &other) const { return name == other.name && value == other.value; }
  bool operator!=(const Size &other) const { return !(*this == other); }
  friend llvm::hash_code hash_value(const Size &size) {
    return llvm::hash_combine(size.name.getAsOpaquePointer(), size.value);
  }

  /// Converts to and from an attribute of an op, which is a string or an i64.
  mlir::Attribute toAttribute(mlir::MLIRContext *context) const;
  static Size fromAttribute(mlir::Attribute attribute);
};
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Size &size);

/// A dimension of a view: the number of valid elements (extent) and of stored elements (pitch).
struct ViewDim {
  Size extent, pitch;

  ViewDim() = default;
  ViewDim(Size extent) : extent(extent), pitch(extent) {}
  ViewDim(int64_t extent) : ViewDim(Size(extent)) {}
  ViewDim(Size extent, Size pitch) : extent(extent), pitch(pitch) {}

  bool isStatic() const { return extent.isStatic() && pitch.isStatic(); }
  bool operator==(const ViewDim &other) const {
    return extent == other.extent && pitch == other.pitch;
  }
  friend llvm::hash_code hash_value(const ViewDim &dim) {
    return llvm::hash_combine(dim.extent, dim.pitch);
  }
};

} // namespace heddle::kernel

#include "heddle/Dialect/Kernel/IR/KernelEnums.h.inc"

namespace heddle::kernel {

/// Whether a mapping is for CPUs.
bool isOfCpu(Mapping mapping);
/// Whether a mapping loads blocks of both operands of products over features into workgroup memory.
bool stages(Mapping mapping);
/// Whether a mapping multiplies with a matrix unit.
bool usesMatrixUnit(Mapping mapping);
/// Whether the chunks of a row's keys are computed at once by groups of invocations, which meet at
/// barriers.
bool splitsKeys(Mapping mapping);
/// Whether a mapping requires a product over rows in addition to a product over features.
bool isOfAttention(Mapping mapping);

} // namespace heddle::kernel

#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/Kernel/IR/KernelTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Kernel/IR/KernelAttrs.h.inc"
