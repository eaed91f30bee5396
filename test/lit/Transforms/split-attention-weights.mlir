// RUN: heddle-opt %s --split-attention-weights --split-input-file --verify-diagnostics | FileCheck %s

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Returned weights become statistics and weights; attention without them is unchanged.

// CHECK-LABEL: @do_nothing
func.func @do_nothing(%q: tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32> {
  // CHECK: transformer.attention
  // CHECK-NOT: transformer.attention.weights
  %o = transformer.attention %q, %q, %q {scale = 0.25 : f32} : (tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32>
  return %o : tensor<?x2x?x16xf32>
}

// -----

// CHECK-LABEL: @averaged
func.func @averaged(%q: tensor<?x2x?x16xf32>, %k: tensor<?x2x?x16xf32>) -> (tensor<?x2x?x16xf32>, tensor<?x?x?xf32>) {
  // CHECK: %[[MASK:.*]] = transformer.mask.causal
  // CHECK: %[[O:.*]] = transformer.attention %[[Q:.*]], %[[K:.*]], %[[K]] mask(%[[MASK]])
  // CHECK: %[[M:.*]], %[[S:.*]] = transformer.attention.statistics %[[Q]], %[[K]] mask(%[[MASK]])
  // CHECK: %[[W:.*]] = transformer.attention.weights %[[Q]], %[[K]], %[[M]], %[[S]] mask(%[[MASK]]) {average
  // CHECK: return %[[O]], %[[W]]
  %m = transformer.mask.causal
  %o, %w = transformer.attention %q, %k, %k mask(%m) {scale = 0.25 : f32, average_weights}
    : (tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32> weights tensor<?x?x?xf32>
  return %o, %w : tensor<?x2x?x16xf32>, tensor<?x?x?xf32>
}

// -----

// Log-sum-exp remains a result of the attention.
// CHECK-LABEL: @log_sum_exp
// CHECK: transformer.attention {{.*}} lse tensor<?x2x?xf32>{{$}}
// CHECK: transformer.attention.weights
func.func @log_sum_exp(%q: tensor<?x2x?x16xf32>) -> (tensor<?x2x?xf32>, tensor<?x2x?x?xf32>) {
  %o, %l, %w = transformer.attention %q, %q, %q {scale = 0.25 : f32}
    : (tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32> lse tensor<?x2x?xf32> weights tensor<?x2x?x?xf32>
  return %l, %w : tensor<?x2x?xf32>, tensor<?x2x?x?xf32>
}
