//===- lower-convolutions.mlir - Convolutions as matrix products ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions with a weight of the checkpoint become products. Convolutions whose
// weight is an argument do not change.

// RUN: heddle-opt %s --lower-convolutions | FileCheck %s

// A convolution with a kernel of size 1 becomes a product with a matrix, unless its weight is an
// argument.
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

// Patches of an image are multiplied by a matrix.
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
