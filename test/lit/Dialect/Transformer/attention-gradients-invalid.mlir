//===- attention-gradients-invalid.mlir - Gradients of attention: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case for each constraint of the gradient of attention, and of attention with dropout.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @attention_c1(%q: tensor<?x2x?x4xf32>, %g: tensor<?x2x?x5xf32>, %s: tensor<?x2x?xf32>) {
  // expected-error@+1 {{C1: dimension 3 of gradient and output: expected 4 in [?, 2, ?, 4], found [?, 2, ?, 5]}}
  %dq, %d = transformer.attention.query_gradient %q, %q, %q, %g, %q, %s, %s {scale = 1.0 : f32}
    : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x5xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?xf32>)
  return
}

// -----

func.func @attention_c2(%q: tensor<?x2x?x4xf32>, %s: tensor<?x3x?xf32>) {
  // expected-error@+1 {{C2: dimension 1 of maximum, sum and delta: expected 2 in [?, 2, ?], found [?, 3, ?]}}
  %dk, %dv = transformer.attention.key_gradient %q, %q, %q, %q, %s, %s, %s {scale = 1.0 : f32}
    : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x3x?xf32>, tensor<?x3x?xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>)
  return
}

// -----

func.func @attention_c3(%q: tensor<?x3x?x4xf32>, %k: tensor<?x2x?x4xf32>, %s: tensor<?x3x?xf32>) {
  // expected-error@+1 {{C3: expected key heads that divide query heads 3, found 2}}
  %dk, %dv = transformer.attention.key_gradient %q, %k, %k, %q, %s, %s, %s {scale = 1.0 : f32}
    : (tensor<?x3x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x3x?x4xf32>, tensor<?x3x?xf32>, tensor<?x3x?xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>)
  return
}

// -----

func.func @attention_c4(%q: tensor<?x2x?x4xf32>, %s: tensor<?x2x?xf32>) {
  // expected-error@+1 {{C4: expected rows of}}
  %dk, %dv = transformer.attention.key_gradient %q, %q, %q, %q, %s, %s, %s rows(%q : tensor<?x2x?x4xf32>) {scale = 1.0 : f32}
    : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>)
  return
}

// -----

func.func @attention_c21(%q: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  // expected-error@+1 {{C21: expected a dropout of at least 0 and below 1, found 1.000000e+00 : f32}}
  %o = transformer.attention %q, %q, %q {dropout = 1.0 : f32, scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}

// -----

func.func @attention_c21_key(%q: tensor<?x2x?x4xf32>, %key: tensor<3xi32>) -> tensor<?x2x?x4xf32> {
  // expected-error@+1 {{C21: expected key, examples and site together, found some of them}}
  %o = transformer.attention %q, %q, %q key(%key : tensor<3xi32>) {dropout = 0.5 : f32, scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}

// -----

func.func @attention_c21_without(%q: tensor<?x2x?x4xf32>, %key: tensor<3xi32>, %e: tensor<?xi32>, %s: i32) -> tensor<?x2x?x4xf32> {
  // expected-error@+1 {{C21: expected dropout with key, found none}}
  %o = transformer.attention %q, %q, %q key(%key : tensor<3xi32>) examples(%e : tensor<?xi32>) site(%s) {scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}

// -----

func.func @attention_c21_weights(%q: tensor<?x2x?x4xf32>, %key: tensor<3xi32>, %e: tensor<?xi32>, %s: i32) -> tensor<?x2x?x4xf32> {
  // expected-error@+1 {{C21: expected no result weights with key, found one}}
  %o, %w = transformer.attention %q, %q, %q key(%key : tensor<3xi32>) examples(%e : tensor<?xi32>) site(%s) {dropout = 0.5 : f32, scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> weights tensor<?x2x?x?xf32>
  return %o : tensor<?x2x?x4xf32>
}
