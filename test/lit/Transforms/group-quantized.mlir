//===- group-quantized.mlir - Kernels of narrow operands -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a sum is stored rounded, and where codes are computed.

// RUN: heddle-opt %s --group-kernels --split-input-file | FileCheck %s

// A sum that is read both unrounded and rounded is stored in both forms; a sum that only products
// read is stored rounded.
// CHECK-LABEL: @rounded
// CHECK: %[[N:.*]]:2 = kernel.group({{.*}}) "norm"
// CHECK-SAME: -> (tensor<?x16xf32>, tensor<?x16xbf16>)
// CHECK: kernel.group(%[[N]]#1, {{.*}}) "linear_relu"
// CHECK-SAME: with = "transformer.linear"
// CHECK-SAME: -> tensor<?x16xbf16>
// CHECK: kernel.group({{.*}}, %[[N]]#0) "linear_add"
func.func @rounded(%x: tensor<?x16xf32>, %b: tensor<16xf32>, %w: tensor<16x16xbf16>) -> tensor<?x16xf32> {
  %n = transformer.layer_norm %x, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %r = arith.truncf %n : tensor<?x16xf32> to tensor<?x16xbf16>
  %h = transformer.linear %r, %w {activation = #transformer.activation<relu>} : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  %s = arith.truncf %h : tensor<?x16xf32> to tensor<?x16xbf16>
  %y = transformer.linear %s, %w : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  %z = arith.addf %y, %n : tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// -----

// A separate kernel computes codes, once for all products that read them.
// CHECK-LABEL: @quantized
// CHECK: kernel.group({{.*}}) "norm" {missed_fusions = [{op = "transformer.layer_norm", reason = "row-reduction", with = "transformer.quantize"}]
// CHECK: %[[Q:.*]]:2 = kernel.group({{.*}}) "quantize"
// CHECK-SAME: -> (tensor<?x16xi8>, tensor<?x1xf32>)
// CHECK: kernel.group(%[[Q]]#0, {{.*}}, %[[Q]]#1, {{.*}}) "linear"
func.func @quantized(%x: tensor<?x16xf32>, %b: tensor<16xf32>, %w: tensor<16x16xi8>, %sw: tensor<2x16xf32>) -> tensor<?x16xf32> {
  %n = transformer.layer_norm %x, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %q, %s = transformer.quantize %n : tensor<?x16xf32> -> tensor<?x16xi8>, tensor<?x1xf32>
  %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x16xi8>, tensor<16x16xi8>, tensor<?x1xf32>, tensor<2x16xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
