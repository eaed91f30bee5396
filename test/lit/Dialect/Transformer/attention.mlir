//===- attention.mlir - Attention and masks: valid ops -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with every combination of results, and every mask, through text and
// bytecode.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

!q = tensor<?x8x?x4xf32>
!k = tensor<?x2x?x4xf32>

// CHECK-LABEL: @attention
func.func @attention(%q: !q, %k: !k, %v: tensor<?x2x?x5xf32>) -> tensor<?x8x?x5xf32> {
  // CHECK: transformer.attention %{{.*}}, %{{.*}}, %{{.*}} {scale = 1.250000e-01 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x5xf32>) -> tensor<?x8x?x5xf32>
  %o = transformer.attention %q, %k, %v {scale = 0.125 : f32} : (!q, !k, tensor<?x2x?x5xf32>) -> tensor<?x8x?x5xf32>
  return %o : tensor<?x8x?x5xf32>
}

// CHECK-LABEL: @attention_results
func.func @attention_results(%q: !q, %k: !k) -> (tensor<?x8x?xf32>, tensor<?x8x?x?xf32>, tensor<?x?x?xf32>) {
  // CHECK: transformer.attention {{.*}} -> tensor<?x8x?x4xf32> lse tensor<?x8x?xf32>{{$}}
  %o0, %l = transformer.attention %q, %k, %k {scale = 0.5 : f32} : (!q, !k, !k) -> !q lse tensor<?x8x?xf32>
  // CHECK: transformer.attention {{.*}} -> tensor<?x8x?x4xf32> lse tensor<?x8x?xf32> weights tensor<?x8x?x?xf32>
  %o1, %l1, %w = transformer.attention %q, %k, %k {scale = 0.5 : f32} : (!q, !k, !k) -> !q lse tensor<?x8x?xf32> weights tensor<?x8x?x?xf32>
  // CHECK: transformer.attention {{.*}} {average_weights, scale = {{.*}}} {{.*}} -> tensor<?x8x?x4xf32> weights tensor<?x?x?xf32>
  %o2, %a = transformer.attention %q, %k, %k {scale = 0.5 : f32, average_weights} : (!q, !k, !k) -> !q weights tensor<?x?x?xf32>
  return %l, %w, %a : tensor<?x8x?xf32>, tensor<?x8x?x?xf32>, tensor<?x?x?xf32>
}

// CHECK-LABEL: @masks
func.func @masks(%q: !q, %k: !k, %n: i32, %ns: tensor<?xi32>, %t: tensor<1x8x?x?xi1>) -> !q {
  // CHECK: %[[A:.*]] = transformer.mask.causal{{$}}
  %a = transformer.mask.causal
  // CHECK: %[[B:.*]] = transformer.mask.causal offset(%{{.*}} : i32)
  %b = transformer.mask.causal offset(%n : i32)
  // CHECK: %[[C:.*]] = transformer.mask.causal offset(%{{.*}} : tensor<?xi32>)
  %c = transformer.mask.causal offset(%ns : tensor<?xi32>)
  // CHECK: %[[D:.*]] = transformer.mask.lengths %{{.*}} : tensor<?xi32>
  %d = transformer.mask.lengths %ns : tensor<?xi32>
  // CHECK: %[[E:.*]] = transformer.mask.dense %{{.*}} {transformer.name = "keep"} : tensor<1x8x?x?xi1>
  %e = transformer.mask.dense %t {transformer.name = "keep"} : tensor<1x8x?x?xi1>
  // CHECK: %[[F:.*]] = transformer.mask.not %[[E]]
  %f = transformer.mask.not %e
  // CHECK: %[[AB:.*]] = transformer.mask.and %[[A]], %[[B]]
  %ab = transformer.mask.and %a, %b
  %cd = transformer.mask.and %c, %d
  %abcd = transformer.mask.and %ab, %cd
  // CHECK: %[[M:.*]] = transformer.mask.and %{{.*}}, %[[F]]
  %m = transformer.mask.and %abcd, %f
  // CHECK: transformer.attention %{{.*}}, %{{.*}}, %{{.*}} mask(%[[M]])
  %o = transformer.attention %q, %k, %k mask(%m) {scale = 0.5 : f32} : (!q, !k, !k) -> !q
  return %o : !q
}

// CHECK-LABEL: @attention_weights
func.func @attention_weights(%q: !q, %k: !k) -> tensor<?x?x?xf32> {
  // CHECK: transformer.attention.statistics %{{.*}}, %{{.*}} {scale = 5.000000e-01 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?xf32>
  %m, %s = transformer.attention.statistics %q, %k {scale = 0.5 : f32} : (!q, !k) -> tensor<?x8x?xf32>
  // CHECK: transformer.attention.weights %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {average, scale = 5.000000e-01 : f32}
  %w = transformer.attention.weights %q, %k, %m, %s {average, scale = 0.5 : f32} : (!q, !k, tensor<?x8x?xf32>, tensor<?x8x?xf32>) -> tensor<?x?x?xf32>
  return %w : tensor<?x?x?xf32>
}
