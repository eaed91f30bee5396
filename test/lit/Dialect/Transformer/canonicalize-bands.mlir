//===- canonicalize-bands.mlir - Masks that are bands --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merged bands, and constant tables that are bands. Sizes of tables may be known at run time only.

// RUN: heddle-opt %s --canonicalize --verify-diagnostics | FileCheck %s

!x = tensor<?x2x?x4xf32>
!s = tensor<1x2x3x4xf32>

// CHECK-LABEL: @causal_and_window
func.func @causal_and_window(%x: !x, %ns: tensor<?xi32>) -> !x {
  // CHECK-DAG: %[[L:.*]] = transformer.mask.lengths
  // CHECK-DAG: %[[W:.*]] = transformer.mask.window before = 2 after = 0
  // CHECK: %[[M:.*]] = transformer.mask.and %{{.*}}, %{{.*}}
  // CHECK-NOT: transformer.mask.and
  // CHECK: mask(%[[M]])
  %c = transformer.mask.causal
  %l = transformer.mask.lengths %ns : tensor<?xi32>
  %w = transformer.mask.window before = 5 after = 3
  %v = transformer.mask.window before = 2 after = 9
  %cl = transformer.mask.and %c, %l
  %vc = transformer.mask.and %v, %c
  %wv = transformer.mask.and %w, %vc
  %m = transformer.mask.and %cl, %wv
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// The negation of either band is a band.
// CHECK-LABEL: @not_of_bands
func.func @not_of_bands(%x: !x, %ns: tensor<?xi32>) -> !x {
  // CHECK-NOT: transformer.mask.or
  // CHECK: %[[M:.*]] = transformer.mask.and
  // CHECK: mask(%[[M]])
  %c = transformer.mask.causal
  %l = transformer.mask.lengths %ns : tensor<?xi32>
  %a = transformer.mask.or %c, %l
  %m = transformer.mask.not %a
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @causal_table
func.func @causal_table(%x: !s) -> !s {
  // CHECK-DAG: %[[N:.*]] = arith.constant 1 : i32
  // CHECK-DAG: %[[M:.*]] = transformer.mask.causal offset(%[[N]] : i32)
  // CHECK: mask(%[[M]])
  %k = arith.constant dense<0.0> : tensor<1x2x4x4xf32>
  %t = arith.constant dense<[[[[true, true, false, false], [true, true, true, false], [true, true, true, true]]]]> : tensor<1x1x3x4xi1>
  // expected-remark @+1 {{the constant table is a band and becomes transformer.mask.causal}}
  %m = transformer.mask.dense %t : tensor<1x1x3x4xi1>
  %o = transformer.attention %x, %k, %k mask(%m) {scale = 1.0 : f32} : (!s, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> !s
  return %o : !s
}

// CHECK-LABEL: @banded_table
func.func @banded_table(%x: !s) -> !s {
  // CHECK-DAG: %[[M:.*]] = transformer.mask.window before = 1 after = 0 offset(%{{.*}} : i32)
  // CHECK: mask(%[[M]])
  %k = arith.constant dense<0.0> : tensor<1x2x4x4xf32>
  %t = arith.constant dense<[[[[false, true, true, false], [false, false, true, true], [false, false, false, true]]]]> : tensor<1x1x3x4xi1>
  // expected-remark @+1 {{the constant table is a band and becomes transformer.mask.window}}
  %m = transformer.mask.dense %t : tensor<1x1x3x4xi1>
  %o = transformer.attention %x, %k, %k mask(%m) {scale = 1.0 : f32} : (!s, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> !s
  return %o : !s
}

// CHECK-LABEL: @table_of_keys
func.func @table_of_keys(%x: tensor<?x2x?x4xf32>, %k: tensor<?x2x4x4xf32>) -> !x {
  // CHECK: %[[M:.*]] = transformer.mask.where
  // CHECK: mask(%[[M]])
  %t = arith.constant dense<[[[[false, true, true, false]]]]> : tensor<1x1x1x4xi1>
  // expected-remark @+1 {{the constant table is a band and becomes transformer.mask.where}}
  %m = transformer.mask.dense %t : tensor<1x1x1x4xi1>
  %o = transformer.attention %x, %k, %k mask(%m) {scale = 1.0 : f32} : (!x, tensor<?x2x4x4xf32>, tensor<?x2x4x4xf32>) -> !x
  return %o : !x
}

// Attention of other sizes: the table stays, and its sizes are checked when they are known.
// CHECK-LABEL: @table_of_unknown_use
func.func @table_of_unknown_use(%x: !x) -> !x {
  // CHECK: transformer.mask.dense
  %t = arith.constant dense<[[[[true, false], [true, true]]]]> : tensor<1x1x2x2xi1>
  %m = transformer.mask.dense %t : tensor<1x1x2x2xi1>
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @table_that_is_no_band
func.func @table_that_is_no_band(%x: tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32> {
  // CHECK: transformer.mask.dense
  %t = arith.constant dense<[[[[true, true], [true, false]]]]> : tensor<1x1x2x2xi1>
  %m = transformer.mask.dense %t : tensor<1x1x2x2xi1>
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  return %o : tensor<1x2x2x4xf32>
}

// A window without a lower bound becomes a causal mask.
// CHECK-LABEL: @endless_window
func.func @endless_window(%x: !x) -> !x {
  // CHECK: %[[C:.*]] = transformer.mask.causal
  // CHECK-NOT: transformer.mask
  // CHECK: mask(%[[C]])
  %c = transformer.mask.causal
  %w = transformer.mask.window before = 2147483647 after = 7
  %m = transformer.mask.and %c, %w
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// The table is all true, but its sizes can only be compared at run time.
// CHECK-LABEL: @true_table_of_unknown_use
func.func @true_table_of_unknown_use(%x: !x, %y: !s, %z: tensor<1x2x5x4xf32>) -> (!x, !s) {
  // CHECK: %[[D:.*]] = transformer.mask.dense
  // CHECK: mask(%[[D]])
  // CHECK: transformer.attention %{{.*}}, %{{.*}}, %{{.*}} {scale
  %t = arith.constant dense<true> : tensor<1x1x3x5xi1>
  %m = transformer.mask.dense %t : tensor<1x1x3x5xi1>
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  %n = transformer.mask.dense %t : tensor<1x1x3x5xi1>
  %p = transformer.attention %y, %z, %z mask(%n) {scale = 1.0 : f32} : (!s, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> !s
  return %o, %p : !x, !s
}
