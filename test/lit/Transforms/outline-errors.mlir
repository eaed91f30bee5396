// RUN: heddle-opt %s --group-kernels --outline-kernels --split-input-file --verify-diagnostics

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments and results that callers cannot pass or receive are errors even without
// check-supported.

// expected-error @+1 {{argument 0: expected elements of f32, i32 or i1, found f64, which is not supported yet}}
func.func @wide(%x: tensor<?x16xf64>) -> tensor<?x16xf64> {
  %y = arith.addf %x, %x : tensor<?x16xf64>
  return %y : tensor<?x16xf64>
}

// -----

// expected-error @+1 {{result 0: expected elements of f32, i32 or i1, found bf16, which is not supported yet}}
func.func @narrow(%x: tensor<?x16xf32>) -> tensor<?x16xbf16> {
  %y = arith.truncf %x : tensor<?x16xf32> to tensor<?x16xbf16>
  return %y : tensor<?x16xbf16>
}
