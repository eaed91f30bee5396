// RUN: heddle-opt %s --simplify-dropout | FileCheck %s

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dropout without a key is removed, and rows of one shape are numbered once.

// CHECK-LABEL: @without_key
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @without_key(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %d = transformer.dropout %x {probability = 0.1 : f32} : tensor<?x8xf32>
  %y = arith.addf %d, %d : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Rows of an encoder and of a decoder have other numbers.
// CHECK-LABEL: @with_key
// CHECK-SAME: %[[X:arg[0-9]]]: tensor<?x?x8xf32>
// CHECK-SAME: %[[Z:arg[0-9]]]: tensor<?x?x8xf32>
// CHECK: %[[R:.*]] = transformer.row_numbers %{{.*}}, %[[X]]
// CHECK: transformer.dropout %[[X]] {{.*}} rows(%[[R]]
// CHECK-NOT: row_numbers
// CHECK: transformer.dropout %{{.*}} rows(%[[R]]
// CHECK: %[[S:.*]] = transformer.row_numbers %{{.*}}, %[[Z]]
// CHECK: transformer.dropout %[[Z]] {{.*}} rows(%[[S]]
func.func @with_key(%x: tensor<?x?x8xf32> {transformer.dims = ["B", "S", 8]}, %z: tensor<?x?x8xf32> {transformer.dims = ["B", "T", 8]},
                    %key: tensor<3xi32>, %examples: tensor<?xi32> {transformer.dims = ["B"]}) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>) {
  %a = arith.constant 0 : i32
  %b = arith.constant 1 : i32
  %c = arith.constant 2 : i32
  %r = transformer.row_numbers %examples, %x : tensor<?xi32>, tensor<?x?x8xf32> -> tensor<?x?x2xi32>
  %d = transformer.dropout %x key(%key : tensor<3xi32>) rows(%r : tensor<?x?x2xi32>) site(%a) {probability = 0.1 : f32} : tensor<?x?x8xf32>
  %y = arith.addf %d, %x : tensor<?x?x8xf32>
  %s = transformer.row_numbers %examples, %y : tensor<?xi32>, tensor<?x?x8xf32> -> tensor<?x?x2xi32>
  %e = transformer.dropout %y key(%key : tensor<3xi32>) rows(%s : tensor<?x?x2xi32>) site(%b) {probability = 0.1 : f32} : tensor<?x?x8xf32>
  %t = transformer.row_numbers %examples, %z : tensor<?xi32>, tensor<?x?x8xf32> -> tensor<?x?x2xi32>
  %f = transformer.dropout %z key(%key : tensor<3xi32>) rows(%t : tensor<?x?x2xi32>) site(%c) {probability = 0.1 : f32} : tensor<?x?x8xf32>
  return %e, %f : tensor<?x?x8xf32>, tensor<?x?x8xf32>
}
