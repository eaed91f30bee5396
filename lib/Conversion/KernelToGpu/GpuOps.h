//===- GpuOps.h - Common ops of a body --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "GpuLoops.h"

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace heddle {

/// Creates ops at the insertion point.
class GpuOps : public kernel::BodyEmitter {
public:
  using BodyEmitter::BodyEmitter;
  using Value = mlir::Value;

  mlir::VectorType vec4Type() { return mlir::VectorType::get({4}, builder.getF32Type()); }
  Value load(Value pointer) { return mlir::spirv::LoadOp::create(builder, loc, pointer); }
  void store(Value pointer, Value value) {
    mlir::spirv::StoreOp::create(builder, loc, pointer, value);
  }
  /// Sets an attribute of GpuLoops.h on the loop whose body is being emitted.
  void markLoop(llvm::StringRef attribute) {
    builder.getInsertionBlock()->getParentOp()->setAttr(attribute, builder.getUnitAttr());
  }
  /// Emits a loop without carried values that drivers must not unroll.
  void rolledLoop(int64_t count, int64_t step, llvm::function_ref<void(Value index)> body) {
    llvm::SmallVector<Value> none;
    loopOver(constant(0), constant(count), step, none, [&](Value index) {
      markLoop(kRolled);
      body(index);
    });
  }
  Value extract(Value vector, int64_t lane) {
    return mlir::vector::ExtractOp::create(builder, loc, vector, lane);
  }
  Value vectorOf(llvm::ArrayRef<Value> lanes) {
    const auto count = static_cast<int64_t>(lanes.size());
    auto type = mlir::VectorType::get({count}, lanes.front().getType());
    return mlir::vector::FromElementsOp::create(builder, loc, type, lanes);
  }
  Value fma(Value a, Value b, Value c) { return mlir::math::FmaOp::create(builder, loc, a, b, c); }
  Value mulf(Value a, Value b) { return mlir::arith::MulFOp::create(builder, loc, a, b); }
  Value addf(Value a, Value b) { return mlir::arith::AddFOp::create(builder, loc, a, b); }
  Value bitAnd(Value a, Value b) { return mlir::arith::AndIOp::create(builder, loc, a, b); }
  Value bitOr(Value a, Value b) { return mlir::arith::OrIOp::create(builder, loc, a, b); }
  /// Whether both conditions hold; a null `a` is true.
  Value allOf(Value a, Value b) { return a ? bitAnd(a, b) : b; }
  Value less(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::slt, a, b); }
  // Unsigned integers.
  Value quotient(Value x, int64_t divisor) {
    return mlir::arith::DivUIOp::create(builder, loc, x, constant(divisor));
  }
  Value remainder(Value x, int64_t divisor) {
    return mlir::arith::RemUIOp::create(builder, loc, x, constant(divisor));
  }
  Value masked(Value x, int64_t bits) { return bitAnd(x, constant(bits)); }
  Value shiftedRight(Value x, int64_t bits) {
    return mlir::arith::ShRUIOp::create(builder, loc, x, constant(bits));
  }
  Value shiftedLeft(Value x, int64_t bits) {
    return mlir::arith::ShLIOp::create(builder, loc, x, constant(bits));
  }
};

} // namespace heddle
