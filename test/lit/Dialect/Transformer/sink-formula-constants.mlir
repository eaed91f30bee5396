//===- sink-formula-constants.mlir - Formulas with their constants -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants outside a formula, for example after CSE, are copied into it. Tables and scalars are
// not.

// RUN: heddle-opt %s --sink-formula-constants | FileCheck %s
// RUN: heddle-opt %s --cse --sink-formula-constants | FileCheck %s

!x = tensor<?x2x?x4xf32>

// CHECK-LABEL: @do_nothing
// CHECK-SAME: %[[T:[a-z0-9]*]]: tensor<?xi32>, %[[N:[a-z0-9]*]]: i32
func.func @do_nothing(%x: !x, %t: tensor<?xi32>, %n: i32) -> !x {
  // CHECK-NEXT: transformer.mask.where
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: transformer.mask.load %[[T]]
  // CHECK-NEXT: arith.cmpi slt, %{{.*}}, %[[N]]
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %y = transformer.mask.load %t[%j] : tensor<?xi32>
    %c = arith.cmpi slt, %y, %n : i32
    transformer.yield %c : i1
  }
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @shared
func.func @shared(%x: !x) -> !x {
  // CHECK: %[[OUTER:.*]] = arith.constant 5 : i32
  %five = arith.constant 5 : i32
  %half = arith.constant 0.5 : f32
  %c = transformer.mask.causal offset(%five : i32)
  // CHECK: transformer.mask.where
  %w = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    // CHECK: %[[INNER:.*]] = arith.constant 5 : i32
    // CHECK: arith.floordivsi %{{.*}}, %[[INNER]]
    // CHECK: arith.cmpi eq, %{{.*}}, %[[INNER]]
    %u = arith.floordivsi %j, %five : i32
    %e = arith.cmpi eq, %u, %five : i32
    transformer.yield %e : i1
  }
  %m = transformer.mask.and %c, %w
  // CHECK: transformer.bias.where
  // CHECK: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
  // CHECK-NEXT: transformer.yield %[[HALF]]
  %s = transformer.bias.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    transformer.yield %half : f32
  }
  %o = transformer.attention %x, %x, %x mask(%m) bias(%s) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}
