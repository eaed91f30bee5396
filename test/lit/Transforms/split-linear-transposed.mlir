// RUN: heddle-opt %s --split-linear-transposed | FileCheck %s

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product over the rows of a weight reads its transposed copy; other products are unchanged.

// CHECK-LABEL: @do_nothing
func.func @do_nothing(%x: tensor<?x8xf32>, %w: tensor<16x8xf32>) -> tensor<?x16xf32> {
  // CHECK-NEXT: transformer.linear
  // CHECK-NEXT: return
  %y = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// CHECK-LABEL: @backward
// CHECK-SAME: %[[DY:.*]]: tensor<?x?x32xf32>, %[[W:.*]]: tensor<32x8xf32>
func.func @backward(%dy: tensor<?x?x32xf32>, %w: tensor<32x8xf32>) -> tensor<?x?x8xf32> {
  // CHECK-NEXT: %[[T:.*]] = transformer.transpose %[[W]] : tensor<32x8xf32> -> tensor<8x32xf32>
  // CHECK-NEXT: %[[DX:.*]] = transformer.linear %[[DY]], %[[T]] : (tensor<?x?x32xf32>, tensor<8x32xf32>) -> tensor<?x?x8xf32>
  // CHECK-NEXT: return %[[DX]]
  %dx = transformer.linear.transposed %dy, %w : (tensor<?x?x32xf32>, tensor<32x8xf32>) -> tensor<?x?x8xf32>
  return %dx : tensor<?x?x8xf32>
}
