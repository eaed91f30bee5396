//===- Int8Dot4.h - Products of bytes in groups of four ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes by dot products of four.
#pragma once

#include "../CpuProduct.h"

#include "heddle/Support/Formats.h"

namespace heddle::kernel {

/// A word holds four features, and a step multiplies all of them.
struct Int8Dot4 : CpuProduct {
  using CpuProduct::CpuProduct;
  static bool accepts(ProductOpInterface op, const CpuTarget &) {
    return op.getFormat().weights == DType::I8;
  }
  static Keeps keeps(const CpuTarget &target) {
    return target.int8Dot4 ? Keeps::Sums : Keeps::Parts;
  }

  mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool) override {
    return e.dot4(a, b, c);
  }
  Registers sumFeatures(Chain chain, Registers sums, mlir::Value from, mlir::Value to) override;
};

} // namespace heddle::kernel
