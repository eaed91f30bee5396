// RUN: heddle-opt %s --split-cross-entropy | FileCheck %s

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loss is split into its rows and their mean; a function without a loss is unchanged.

// CHECK-LABEL: @do_nothing
func.func @do_nothing(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  // CHECK: transformer.softmax
  // CHECK-NEXT: return
  %y = transformer.softmax %x : tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// CHECK-LABEL: @loss
// CHECK-SAME: %[[X:.*]]: tensor<?x?x8xf32>, %[[R:.*]]: tensor<?x?xi32>
func.func @loss(%x: tensor<?x?x8xf32>, %r: tensor<?x?xi32>) -> tensor<1xf32> {
  // CHECK-NEXT: %[[ROWS:.*]] = transformer.cross_entropy.rows %[[X]], %[[R]] {padding_id = 3 : i64}
  // CHECK-NEXT: %[[MEAN:.*]] = transformer.cross_entropy.mean %[[ROWS]]
  // CHECK-NEXT: return %[[MEAN]]
  %l = transformer.cross_entropy %x, %r {padding_id = 3 : i64} : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}
