//===- canonicalize-masks.mlir - Simpler masks ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks that allow all pairs or none, formulas and moved negations.

// RUN: heddle-opt %s --canonicalize --verify-diagnostics | FileCheck %s

!x = tensor<?x2x?x4xf32>
!s = tensor<1x2x3x4xf32>

// CHECK-LABEL: @do_nothing
func.func @do_nothing(%x: !x, %n: i32, %t: tensor<1x1x?x?xi1>) -> !x {
  // CHECK-DAG: transformer.mask.causal
  // CHECK-DAG: transformer.mask.window before = 3 after = 1 offset
  // CHECK-DAG: transformer.mask.dense
  // CHECK: transformer.mask.and
  // CHECK: transformer.mask.or
  // CHECK: transformer.mask.not
  %c = transformer.mask.causal
  %w = transformer.mask.window before = 3 after = 1 offset(%n : i32)
  %t0 = transformer.mask.dense %t : tensor<1x1x?x?xi1>
  %a = transformer.mask.and %c, %w
  %b = transformer.mask.or %a, %t0
  %m = transformer.mask.not %b
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @and_true
func.func @and_true(%x: !x) -> !x {
  // CHECK: %[[C:.*]] = transformer.mask.causal
  // CHECK-NOT: transformer.mask.and
  // CHECK: mask(%[[C]])
  %c = transformer.mask.causal
  %true = arith.constant dense<true> : tensor<1x1x1x1xi1>
  %t = transformer.mask.dense %true : tensor<1x1x1x1xi1>
  %m = transformer.mask.and %t, %c
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @or_true
func.func @or_true(%x: !x) -> !x {
  // CHECK-NOT: transformer.mask
  // CHECK: transformer.attention %arg0, %arg0, %arg0 {scale = 1.000000e+00 : f32}
  %c = transformer.mask.causal
  %t = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %true = arith.cmpi eq, %i, %i : i32
    transformer.yield %true : i1
  }
  %m = transformer.mask.or %t, %c
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32, hidden_score = -1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// Constants of a formula stay inside it.
// CHECK-LABEL: @formula
func.func @formula(%x: !x) -> !x {
  // CHECK-NEXT: transformer.mask.where {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.constant 7 : i32
  %t = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %three = arith.constant 3 : i32
    %four = arith.constant 4 : i32
    %seven = arith.addi %three, %four : i32
    %c = arith.cmpi slt, %j, %seven : i32
    transformer.yield %c : i1
  }
  %o = transformer.attention %x, %x, %x mask(%t) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @not_of_nots
func.func @not_of_nots(%x: !x, %ids: tensor<?x?xi32>) -> !x {
  // CHECK-NOT: transformer.mask.not
  // CHECK: %[[M:.*]] = transformer.mask.or
  // CHECK: mask(%[[M]])
  %c = transformer.mask.causal
  %d = transformer.mask.documents %ids, %ids : tensor<?x?xi32>, tensor<?x?xi32>
  %nc = transformer.mask.not %c
  %nd = transformer.mask.not %d
  %a = transformer.mask.and %nc, %nd
  %m = transformer.mask.not %a
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// Packed documents define what b, i and j count, so they stay even if no pair is allowed.
// CHECK-LABEL: @documents_and_nothing
func.func @documents_and_nothing(%x: !x, %s: tensor<?xi32>) -> !x {
  // CHECK: transformer.mask.documents
  // CHECK: transformer.mask.and
  %d = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  %w = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %false = arith.constant false
    transformer.yield %false : i1
  }
  %m = transformer.mask.and %d, %w
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}
