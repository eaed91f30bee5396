//===- canonicalize.mlir - Folds of the language -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that canonicalisation simplifies, and ops that it must not change.

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
