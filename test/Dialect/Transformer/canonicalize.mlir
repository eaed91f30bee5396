//===- canonicalize.mlir - Folds of the language -------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What canonicalisation simplifies, and what it must leave alone.
//
//===----------------------------------------------------------------------===//

// RUN: heddle-opt %s --canonicalize | FileCheck %s

!x = tensor<?x2x?x4xf32>

// CHECK-LABEL: @do_nothing
func.func @do_nothing(%x: !x, %n: tensor<?xi32>) -> !x {
  // CHECK-DAG: %[[C:.*]] = transformer.mask.causal
  // CHECK-DAG: %[[L:.*]] = transformer.mask.lengths
  // CHECK: %[[N:.*]] = transformer.mask.not %[[L]]
  // CHECK: %[[M:.*]] = transformer.mask.and %[[C]], %[[N]]
  // CHECK: mask(%[[M]])
  %c = transformer.mask.causal
  %l = transformer.mask.lengths %n : tensor<?xi32>
  %k = transformer.mask.not %l
  %m = transformer.mask.and %c, %k
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @not_not
func.func @not_not(%x: !x) -> !x {
  // CHECK: %[[C:.*]] = transformer.mask.causal
  // CHECK-NOT: transformer.mask.not
  // CHECK: mask(%[[C]])
  %c = transformer.mask.causal
  %a = transformer.mask.not %c
  %b = transformer.mask.not %a
  %o = transformer.attention %x, %x, %x mask(%b) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @and_itself
func.func @and_itself(%x: !x) -> !x {
  // CHECK: %[[C:.*]] = transformer.mask.causal
  // CHECK-NOT: transformer.mask.and
  // CHECK: mask(%[[C]])
  %c = transformer.mask.causal
  %b = transformer.mask.and %c, %c
  %o = transformer.attention %x, %x, %x mask(%b) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @split_of_merge
func.func @split_of_merge(%x: !x) -> !x {
  // CHECK-NEXT: return %arg0
  %m = transformer.merge_heads %x : !x -> tensor<?x?x8xf32>
  %s = transformer.split_heads %m {heads = 2 : i64} : tensor<?x?x8xf32> -> !x
  return %s : !x
}

// CHECK-LABEL: @split_into_others
func.func @split_into_others(%x: !x) -> tensor<?x4x?x2xf32> {
  // CHECK: transformer.merge_heads
  // CHECK: transformer.split_heads
  %m = transformer.merge_heads %x : !x -> tensor<?x?x8xf32>
  %s = transformer.split_heads %m {heads = 4 : i64} : tensor<?x?x8xf32> -> tensor<?x4x?x2xf32>
  return %s : tensor<?x4x?x2xf32>
}

// CHECK-LABEL: @merge_of_split
func.func @merge_of_split(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  // CHECK-NEXT: return %arg0
  %s = transformer.split_heads %x {heads = 2 : i64} : tensor<?x?x8xf32> -> !x
  %m = transformer.merge_heads %s : !x -> tensor<?x?x8xf32>
  return %m : tensor<?x?x8xf32>
}

// A convolution of kernel size 1 is a product, its tensor a matrix; an argument stays what it is.
// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<?x8xf32>, %b: tensor<6xf32>, %a: tensor<6x6x1xf32>) -> tensor<?x6xf32> {
  // CHECK: %[[W:.*]] = transformer.weight "w" {stored = array<i64: 6, 8, 1>} : tensor<6x8xf32>
  // CHECK: %[[H:.*]] = transformer.linear %{{.*}}, %[[W]] bias(%{{.*}}) {activation = #transformer.activation<relu>}
  // CHECK: transformer.conv1x1 %[[H]], %{{.*}} :
  %w = transformer.weight "w" : tensor<6x8x1xf32>
  %h = transformer.conv1x1 %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x8xf32>, tensor<6x8x1xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  %y = transformer.conv1x1 %h, %a : (tensor<?x6xf32>, tensor<6x6x1xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// Patches of an image through a matrix.
// CHECK-LABEL: @patch_embedding
func.func @patch_embedding(%x: tensor<?x3x8x12xf32>, %b: tensor<6xf32>, %a: tensor<6x3x4x4xf32>) -> (tensor<?x6x6xf32>, tensor<?x6x6xf32>) {
  // CHECK: %[[P:.*]] = transformer.patches %{{.*}} {size = 4 : i64} : tensor<?x3x8x12xf32> -> tensor<?x6x48xf32>
  // CHECK: %[[W:.*]] = transformer.weight "w" {stored = array<i64: 6, 3, 4, 4>} : tensor<6x48xf32>
  // CHECK: transformer.linear %[[P]], %[[W]] bias(%{{.*}})
  // CHECK: transformer.patch_embedding
  %w = transformer.weight "w" : tensor<6x3x4x4xf32>
  %y = transformer.patch_embedding %x, %w bias(%b) : (tensor<?x3x8x12xf32>, tensor<6x3x4x4xf32>, tensor<6xf32>) -> tensor<?x6x6xf32>
  %z = transformer.patch_embedding %x, %a : (tensor<?x3x8x12xf32>, tensor<6x3x4x4xf32>) -> tensor<?x6x6xf32>
  return %y, %z : tensor<?x6x6xf32>, tensor<?x6x6xf32>
}
