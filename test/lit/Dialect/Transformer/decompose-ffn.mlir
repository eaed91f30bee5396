//===- decompose-ffn.mlir - Feed-forward blocks as matrix products -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decomposition into two products. The first has the activation; each keeps its bias.

// RUN: heddle-opt %s --decompose-ffn | FileCheck %s

// CHECK-LABEL: @do_nothing
func.func @do_nothing(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>) -> tensor<?x6xf32> {
  // CHECK-NEXT: transformer.linear
  // CHECK-NEXT: return
  %y = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// CHECK-LABEL: @with_biases
// CHECK-SAME: %[[X:.*]]: tensor<?x?x8xf32>, %[[W1:.*]]: tensor<6x8xf32>, %[[B1:.*]]: tensor<6xf32>, %[[W2:.*]]: tensor<5x6xf32>, %[[B2:.*]]: tensor<5xf32>
func.func @with_biases(%x: tensor<?x?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<6xf32>, %w2: tensor<5x6xf32>, %b2: tensor<5xf32>) -> tensor<?x?x5xf32> {
  // CHECK: %[[H:.*]] = transformer.linear %[[X]], %[[W1]] bias(%[[B1]]) {activation = #transformer.activation<gelu>} {{.*}} -> tensor<?x?x6xf32>
  // CHECK: %[[Y:.*]] = transformer.linear %[[H]], %[[W2]] bias(%[[B2]]) : {{.*}} -> tensor<?x?x5xf32>
  // CHECK: return %[[Y]]
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) {activation = #transformer.activation<gelu>} : (tensor<?x?x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<5x6xf32>, tensor<5xf32>) -> tensor<?x?x5xf32>
  return %y : tensor<?x?x5xf32>
}

// CHECK-LABEL: @without_biases
func.func @without_biases(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>) -> tensor<?x8xf32> {
  // CHECK-NOT: bias
  // CHECK-NOT: transformer.ffn
  // CHECK-COUNT-2: transformer.linear
  %y = transformer.ffn %x in(%w1) out(%w2) {activation = #transformer.activation<relu>} : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @gated
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[W1:.*]]: tensor<6x8xf32>, %[[W2:.*]]: tensor<8x6xf32>, %[[G:.*]]: tensor<6x8xf32>, %[[B:.*]]: tensor<6xf32>
func.func @gated(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>, %g: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[I:.*]] = transformer.linear %[[X]], %[[W1]] :
  // CHECK: %[[A:.*]] = transformer.linear %[[X]], %[[G]] bias(%[[B]]) {activation = #transformer.activation<silu>}
  // CHECK: %[[H:.*]] = arith.mulf %[[A]], %[[I]]
  // CHECK: transformer.linear %[[H]], %[[W2]] :
  %y = transformer.ffn %x in(%w1) out(%w2) gate(%g, %b) {activation = #transformer.activation<silu>} : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// The value between products with f16 weights stays f32.
// CHECK-LABEL: @kept
func.func @kept(%x: tensor<?x8xf32>, %w1: tensor<6x8xf16>, %w2: tensor<8x6xf16>) -> tensor<?x8xf32> {
  // CHECK-NOT: truncf
  // CHECK: transformer.linear {{.*}} : (tensor<?x6xf32>, tensor<8x6xf16>) -> tensor<?x8xf32>
  %y = transformer.ffn %x in(%w1) out(%w2) : (tensor<?x8xf32>, tensor<6x8xf16>, tensor<8x6xf16>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// The value between products of bf16 is rounded, as their other operands are.
// CHECK-LABEL: @rounded
func.func @rounded(%x: tensor<?x8xbf16>, %w1: tensor<6x8xbf16>, %w2: tensor<8x6xbf16>) -> tensor<?x8xf32> {
  // CHECK: %[[H:.*]] = transformer.linear {{.*}} -> tensor<?x6xf32>
  // CHECK: %[[R:.*]] = arith.truncf %[[H]] : tensor<?x6xf32> to tensor<?x6xbf16>
  // CHECK: transformer.linear %[[R]], {{.*}} -> tensor<?x8xf32>
  %y = transformer.ffn %x in(%w1) out(%w2) : (tensor<?x8xbf16>, tensor<6x8xbf16>, tensor<8x6xbf16>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
