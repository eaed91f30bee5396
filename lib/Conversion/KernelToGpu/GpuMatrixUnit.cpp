//===- GpuMatrixUnit.cpp - Matrices of a subgroup -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuMatrixUnit: the types of matrices and their SPIR-V ops.
#include "GpuMatrixUnit.h"

#include "GpuEmitter.h"

#include "heddle/Dialect/ElementFormats.h"

using namespace mlir;

namespace heddle {

DType elementOf(Value view) {
  return dtypeOf(cast<kernel::ViewType>(view.getType()).getElementType());
}

GpuMatrixUnit::Type GpuMatrixUnit::type(Use use) const {
  OpBuilder &b = e.builder;
  mlir::Type element = b.getF16Type();
  if (shape.operands == DType::BF16)
    element = b.getBF16Type();
  if (multipliesBytes())
    element = b.getIntegerType(8);
  if (use == Use::MatrixAcc)
    element =
        multipliesBytes() ? mlir::Type(b.getIntegerType(32, /*isSigned=*/true)) : b.getF32Type();
  const int64_t rows = use == Use::MatrixB ? shape.k : shape.m,
                columns = use == Use::MatrixA ? shape.k : shape.n;
  return Type::get(element, rows, columns, spirv::Scope::Subgroup, use);
}

GpuMatrixUnit::Type GpuMatrixUnit::floats() const {
  return Type::get(e.builder.getF32Type(), shape.m, shape.n, spirv::Scope::Subgroup,
                   Use::MatrixAcc);
}

Value GpuMatrixUnit::constant(int64_t number) {
  return spirv::ConstantOp::create(e.builder, e.loc, e.builder.getI32Type(),
                                   e.builder.getI32IntegerAttr(static_cast<int32_t>(number)));
}

Value GpuMatrixUnit::zero(Type type) {
  Value zero = spirv::ConstantOp::getZero(type.getElementType(), e.loc, e.builder);
  return spirv::CompositeConstructOp::create(e.builder, e.loc, type, zero);
}

Value GpuMatrixUnit::variable(Type type) {
  auto pointer = spirv::PointerType::get(type, spirv::StorageClass::Function);
  return spirv::VariableOp::create(e.builder, e.loc, pointer, spirv::StorageClass::Function,
                                   /*initializer=*/Value());
}

Value GpuMatrixUnit::load(Type type, Value pointer, int64_t stride, Layout layout) {
  return spirv::KHRCooperativeMatrixLoadOp::create(e.builder, e.loc, type, pointer, layout,
                                                   constant(stride), spirv::MemoryAccessAttr(),
                                                   IntegerAttr());
}

Value GpuMatrixUnit::multiplyAdd(Value a, Value b, Value c) {
  using Sign = spirv::CooperativeMatrixOperandsKHR;
  spirv::CooperativeMatrixOperandsKHRAttr signs;
  if (multipliesBytes())
    signs = spirv::CooperativeMatrixOperandsKHRAttr::get(
        e.builder.getContext(), Sign::ASigned | Sign::BSigned | Sign::CSigned | Sign::ResultSigned);
  return spirv::KHRCooperativeMatrixMulAddOp::create(e.builder, e.loc, c.getType(), a, b, c, signs);
}

//===- The interface ------------------------------------------------------===//

/// Returns the type of the matrix in a variable.
static GpuMatrixUnit::Type typeIn(Value variable) {
  return cast<GpuMatrixUnit::Type>(cast<spirv::PointerType>(variable.getType()).getPointeeType());
}

void GpuMatrixUnit::clear(Value sums) {
  spirv::StoreOp::create(e.builder, e.loc, sums, zero(typeIn(sums)));
}

void GpuMatrixUnit::loadSums(Value sums, Value start, int64_t pitch) {
  spirv::StoreOp::create(e.builder, e.loc, sums,
                         load(typeIn(sums), start, pitch, Layout::RowMajor));
}

void GpuMatrixUnit::store(Value sums, Value start, int64_t pitch) {
  if (isa<spirv::PointerType>(sums.getType()))
    sums = spirv::LoadOp::create(e.builder, e.loc, sums);
  spirv::KHRCooperativeMatrixStoreOp::create(e.builder, e.loc, start, sums, Layout::RowMajor,
                                             constant(pitch), spirv::MemoryAccessAttr(),
                                             IntegerAttr());
}

Value GpuMatrixUnit::load(Side side, int64_t, Value start, int64_t pitch) {
  return side == Side::Left ? load(type(Use::MatrixA), start, pitch, Layout::RowMajor)
                            : load(type(Use::MatrixB), start, pitch, Layout::ColumnMajor);
}

void GpuMatrixUnit::accumulate(Value sums, Value left, Value right) {
  Value before = spirv::LoadOp::create(e.builder, e.loc, sums);
  spirv::StoreOp::create(e.builder, e.loc, sums, multiplyAdd(left, right, before));
}

} // namespace heddle
