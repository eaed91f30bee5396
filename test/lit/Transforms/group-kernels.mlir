//===- group-kernels.mlir - Products and their epilogues -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that share a kernel with a product, and each reason for a missed fusion.

// RUN: heddle-opt %s --group-kernels --split-input-file | FileCheck %s

// CHECK-LABEL: @do_nothing
// CHECK-NOT: kernel.group
func.func @do_nothing(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  return %x : tensor<?x16xf32>
}

// -----

// An epilogue of bias, activation and residual; the norm after it needs whole rows.
// CHECK-LABEL: @epilogue
// CHECK: kernel.group({{.*}}) "linear_relu_add"
// CHECK-SAME: missed_fusions = [{op = "arith.addf", reason = "row-reduction", with = "transformer.layer_norm"}], root = #kernel.root<linear>
// CHECK: transformer.linear
// CHECK: arith.addf
// CHECK: kernel.group({{.*}}) "norm"
func.func @epilogue(%x: tensor<?x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
  %h = transformer.linear %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %r = arith.addf %h, %x : tensor<?x16xf32>
  %n = transformer.layer_norm %r, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  return %n : tensor<?x16xf32>
}

// -----

// Two consecutive contractions; a value with two readers; a result that is also read.
// CHECK-LABEL: @refused
// CHECK: "linear" {missed_fusions = [{op = "transformer.linear", reason = "several-uses", with = "transformer.linear"}]
// CHECK: "linear_add" {missed_fusions = [{op = "arith.addf", reason = "function-result", with = "transformer.linear"}]
// CHECK: "linear" {missed_fusions = [{op = "transformer.linear", reason = "second-contraction", with = "transformer.linear"}]
// CHECK: "linear" {root
func.func @refused(%x: tensor<?x16xf32>, %w: tensor<16x16xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %a = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %b = transformer.linear %a, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %c = arith.addf %b, %a : tensor<?x16xf32>
  %d = transformer.linear %c, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %e = transformer.linear %d, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  return %c, %e : tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// Projections of one attention are parts of one launch; another linear over the same rows is not.
// CHECK-LABEL: @parts
// CHECK-DAG: "linear_gelu" {root
// CHECK-DAG: "linear3_heads"{{.*}}{op = "transformer.linear", reason = "other-reader", with = "transformer.linear"}
// CHECK: kernel.group({{.*}}) "attention"
// CHECK: transformer.mask.causal
// CHECK: transformer.attention
// CHECK: transformer.merge_heads
func.func @parts(%x: tensor<?x?x32xf32>, %w: tensor<32x32xf32>) -> (tensor<?x?x32xf32>, tensor<?x?x32xf32>) {
  %q = transformer.linear %x, %w : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
  %k = transformer.linear %x, %w : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
  %v = transformer.linear %x, %w : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
  %e = transformer.linear %x, %w {activation = #transformer.activation<gelu>} : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
  %qh = transformer.split_heads %q {heads = 2 : i64} : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %kh = transformer.split_heads %k {heads = 2 : i64} : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %vh = transformer.split_heads %v {heads = 2 : i64} : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %m = transformer.mask.causal
  %o = transformer.attention %qh, %kh, %vh mask(%m) {scale = 0.25 : f32} : (tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32>
  %c = transformer.merge_heads %o : tensor<?x2x?x16xf32> -> tensor<?x?x32xf32>
  return %c, %e : tensor<?x?x32xf32>, tensor<?x?x32xf32>
}

// -----

// A part whose reader precedes the last part stays outside.
// CHECK-LABEL: @between
// CHECK: reason = "consumer-between"
func.func @between(%x: tensor<?x?x16xf32>, %h: tensor<?x1x?x16xf32>, %w: tensor<16x16xf32>) -> tensor<?x1x?x16xf32> {
  %k = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %kh = transformer.split_heads %k {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %vh = transformer.attention %h, %kh, %h {scale = 0.25 : f32} : (tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x?x16xf32>
  %q = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %qh = transformer.split_heads %q {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %o = transformer.attention %qh, %kh, %vh {scale = 0.25 : f32} : (tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x?x16xf32>
  return %o : tensor<?x1x?x16xf32>
}

// -----

// A norm is not a contraction, but a norm cannot compute the sum after it on its tiles.
// CHECK-LABEL: @no_epilogue
// CHECK: "norm" {missed_fusions = [{op = "transformer.layer_norm", reason = "no-epilogue", with = "arith.addf"}]
func.func @no_epilogue(%x: tensor<?x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
  %n = transformer.layer_norm %x, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %y = arith.addf %n, %x : tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// Linears over the same rows whose results are added are products of one kernel.
// CHECK-LABEL: @summed
// CHECK: kernel.group({{.*}}) "linear2_silu_add"
// CHECK: transformer.linear
// CHECK: transformer.linear
// CHECK: arith.addf
// CHECK-NOT: kernel.group
func.func @summed(%x: tensor<?x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<?x16xf32> {
  %a = transformer.linear %x, %v {activation = #transformer.activation<silu>} : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %b = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %y = arith.addf %a, %b : tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// Gate and input of a gated block are products of one kernel, which stores the operand of the
// second product.
// CHECK-LABEL: @gated
// CHECK: kernel.group({{.*}}) "linear2_silu_mul"
// CHECK-SAME: -> tensor<?x16xbf16>
// CHECK: arith.mulf
// CHECK: arith.truncf
// CHECK: kernel.group({{.*}}) "linear"
// CHECK-NOT: kernel.group
func.func @gated(%x: tensor<?x16xbf16>, %v: tensor<16x16xbf16>, %w: tensor<16x16xbf16>) -> tensor<?x16xf32> {
  %a = transformer.linear %x, %v : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  %b = transformer.linear %x, %w {activation = #transformer.activation<silu>} : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  %h = arith.mulf %b, %a : tensor<?x16xf32>
  %r = arith.truncf %h : tensor<?x16xf32> to tensor<?x16xbf16>
  %y = transformer.linear %r, %w : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
