//===- quantize.mlir - Products of rows with scales ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output of set-precision for int8 and f16-sum. For int8, rows and weights become codes
// with scales, once for all readers; attention and products without a weight are as with
// bf16. For f16-sum, rows are f16 and weights have no scales; the rest is as with f16.

// RUN: heddle-opt %s --set-precision=dtype=int8 | FileCheck %s
// RUN: heddle-opt %s --set-precision=dtype=int8 | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --set-precision=dtype=f16-sum | FileCheck %s --check-prefix=SUM
// RUN: heddle-opt %s --set-precision=dtype=f16-sum | heddle-opt | FileCheck %s --check-prefix=SUM

// CHECK-LABEL: @do_nothing
func.func @do_nothing(%q: tensor<?x4xi8>, %s: tensor<?x1xf32>, %w: tensor<8x4xi8>, %sw: tensor<2x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: transformer.linear %{{.*}}, %{{.*}} scales(%{{.*}}, %{{.*}}) : (tensor<?x4xi8>, tensor<8x4xi8>, tensor<?x1xf32>, tensor<2x8xf32>) -> tensor<?x8xf32>
  // CHECK-NEXT: return
  %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x4xi8>, tensor<8x4xi8>, tensor<?x1xf32>, tensor<2x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @shared
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// SUM-LABEL: @shared
// SUM-SAME: %[[X:.*]]: tensor<?x8xf32>
// SUM-NEXT: %[[Q:.*]], %[[S:.*]] = transformer.quantize %[[X]] : tensor<?x8xf32> -> tensor<?x8xf16>, tensor<?x1xf32>
// SUM-NOT: transformer.quantize
// SUM: %[[W:.*]] = transformer.weight "w" : tensor<8x8xf16>
// SUM-NOT: scales,
// SUM: transformer.linear %[[Q]], %[[W]] bias(%{{.*}}) scales(%[[S]]) : (tensor<?x8xf16>, tensor<8x8xf16>, tensor<8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
// SUM: transformer.linear %[[Q]], %[[W]] scales(%[[S]])
// SUM: arith.addf %{{.*}}, %[[X]] : tensor<?x8xf32>
func.func @shared(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[Q:.*]], %[[S:.*]] = transformer.quantize %[[X]] : tensor<?x8xf32> -> tensor<?x8xi8>, tensor<?x1xf32>
  // CHECK-NOT: transformer.quantize
  // CHECK-DAG: %[[W:.*]] = transformer.weight "w" : tensor<8x8xi8>
  // CHECK-DAG: %[[SW:.*]] = transformer.weight "w" {scales, stored = array<i64: 8, 8>} : tensor<2x8xf32>
  // CHECK: %[[Y:.*]] = transformer.linear %[[Q]], %[[W]] bias(%{{.*}}) scales(%[[S]], %[[SW]])
  // CHECK: %[[Z:.*]] = transformer.linear %[[Q]], %[[W]] scales(%[[S]], %[[SW]])
  // CHECK: arith.addf %[[Y]], %[[X]] : tensor<?x8xf32>
  %w = transformer.weight "w" : tensor<8x8xf32>
  %b = transformer.weight "b" : tensor<8xf32>
  %0 = transformer.linear %x, %w bias(%b) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %2 = arith.addf %0, %x : tensor<?x8xf32>
  %3 = arith.addf %1, %2 : tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// The value between the two products of a block is quantised too. The matrix of a convolution keeps
// its shape in the checkpoint.
// CHECK-LABEL: @ffn
// SUM-LABEL: @ffn
// SUM: %[[H:.*]] = transformer.linear {{.*}} {activation = #transformer.activation<relu>}
// SUM: transformer.quantize %[[H]] : tensor<?x?x6xf32> -> tensor<?x?x6xf16>, tensor<?x?x1xf32>
// SUM: transformer.linear
func.func @ffn(%x: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  // CHECK: transformer.quantize %{{.*}} : tensor<?x?x4xf32> -> tensor<?x?x4xi8>, tensor<?x?x1xf32>
  // CHECK-DAG: transformer.weight "in" {stored = array<i64: 6, 4, 1>} : tensor<6x4xi8>
  // CHECK-DAG: transformer.weight "in" {scales, stored = array<i64: 6, 4, 1>} : tensor<2x6xf32>
  // CHECK: %[[H:.*]] = transformer.linear {{.*}} {activation = #transformer.activation<relu>}
  // CHECK: transformer.quantize %[[H]] : tensor<?x?x6xf32> -> tensor<?x?x6xi8>, tensor<?x?x1xf32>
  // CHECK: transformer.linear
  // CHECK-NOT: transformer.ffn
  %in = transformer.weight "in" {stored = array<i64: 6, 4, 1>} : tensor<6x4xf32>
  %out = transformer.weight "out" : tensor<4x6xf32>
  %y = transformer.ffn %x in(%in) out(%out) {activation = #transformer.activation<relu>} : (tensor<?x?x4xf32>, tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}

// CHECK-LABEL: @as_bf16
// SUM-LABEL: @as_bf16
// SUM: transformer.linear {{.*}} : (tensor<?x4xf32>, tensor<8x4xf16>) -> tensor<?x8xf32>
// SUM: transformer.attention {{.*}} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf16>, tensor<?x2x?x8xf16>) -> tensor<?x2x?x8xf32>
func.func @as_bf16(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>, %h: tensor<?x2x?x8xf32>) -> (tensor<?x8xf32>, tensor<?x2x?x8xf32>) {
  // CHECK: transformer.linear {{.*}} : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xf32>
  // CHECK: transformer.attention {{.*}} : (tensor<?x2x?x8xbf16>, tensor<?x2x?x8xbf16>, tensor<?x2x?x8xbf16>) -> tensor<?x2x?x8xf32>
  %y = transformer.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %o = transformer.attention %h, %h, %h {scale = 1.0 : f32} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  return %y, %o : tensor<?x8xf32>, tensor<?x2x?x8xf32>
}
