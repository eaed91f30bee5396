//===- gradients-invalid.mlir - Gradients of rows: invalid ops -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case for each constraint of the gradients of activations, norms, pooling and losses.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @activation_c1(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected none, relu, relu6, tanh or sigmoid with of_result, found gelu}}
  %y = transformer.activation.gradient %a, %a {activation = #transformer.activation<gelu>, of_result} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @softcap_c1(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected a finite cap above 0, found 0.000000e+00 : f32}}
  %y = transformer.softcap.gradient %a, %a {cap = 0.0 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @gate_c1(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected a finite limit above 0, found -1.000000e+00 : f32}}
  %y = transformer.gate.gradient %a, %a, %a {limit = -1.0 : f32, of_gate} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @norm_c1(%a: tensor<?x4xf32>, %g: tensor<5xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected size of gamma equal to features of input 4, found 5}}
  %y, %s = transformer.norm.gradient %a, %a gamma(%g : tensor<5xf32>) {epsilon = 0.1 : f32, kind = #transformer.normalization<layer>} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @norm_c1_length(%a: tensor<?x4xf32>, %g: tensor<4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected no gamma with length, found one}}
  %y, %s = transformer.norm.gradient %a, %a gamma(%g : tensor<4xf32>) {epsilon = 0.1 : f32, kind = #transformer.normalization<length>} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @norm_c2(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C2: expected a finite epsilon that is not negative, found -1.000000e+00 : f32}}
  %y, %s = transformer.norm.gradient %a, %a {epsilon = -1.0 : f32, kind = #transformer.normalization<layer>} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @pool_c1(%a: tensor<?x5xf32>, %x: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  // expected-error@+1 {{C1: dimension 1 of gradient: expected 4 in [?, 4], found [?, 5]}}
  %y = transformer.pool.gradient %a, %x {kinds = [#transformer.pooling<mean>]} : tensor<?x5xf32>, tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}

// -----

func.func @loss_c1(%x: tensor<3x4xf32>, %ids: tensor<2xi32>) {
  // expected-error@+1 {{C1: dimension 0 of ids: expected 3 in [3], found [2]}}
  %g, %r = transformer.cross_entropy.gradient %x, %ids : tensor<3x4xf32>, tensor<2xi32> -> tensor<3x2xf32>
  return
}

// -----

func.func @loss_c2(%x: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C2: expected padding_id below the 4 columns, found 4}}
  %g, %r = transformer.cross_entropy.gradient %x, %ids {padding_id = 4 : i64} : tensor<3x4xf32>, tensor<3xi32> -> tensor<3x2xf32>
  return
}

// -----

func.func @loss_c3(%x: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C3: dimension 1 of rows: expected 2 in [3, 2], found [3, 1]}}
  %g, %r = transformer.cross_entropy.gradient %x, %ids : tensor<3x4xf32>, tensor<3xi32> -> tensor<3x1xf32>
  return
}

// -----

func.func @loss_c4(%x: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C4: expected a smoothing of at least 0 and below 1, found 1.000000e+00 : f32}}
  %g, %r = transformer.cross_entropy.gradient %x, %ids {smoothing = 1.0 : f32} : tensor<3x4xf32>, tensor<3xi32> -> tensor<3x2xf32>
  return
}

// -----

func.func @loss_c4_padding(%x: tensor<3x4xf32>, %ids: tensor<3xi32>) -> tensor<1xf32> {
  // expected-error@+1 {{C4: expected padding_id with others_but_padding, found none}}
  %l = transformer.cross_entropy %x, %ids {over = #transformer.smoothing_over<others_but_padding>, smoothing = 0.1 : f32} : (tensor<3x4xf32>, tensor<3xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}

// -----

func.func @sum_c1(%r: tensor<?x3xf32>) {
  // expected-error@+1 {{C1: expected rows of 2 features, found 3}}
  %l, %n = transformer.cross_entropy.sum %r : tensor<?x3xf32> -> tensor<1xf32>
  return
}

// -----

func.func @sum_c2(%r: tensor<?x2xf32>) {
  // expected-error@+1 {{C2: dimension 0 of sum: expected 1 in [1], found [2]}}
  %l, %n = transformer.cross_entropy.sum %r : tensor<?x2xf32> -> tensor<2xf32>
  return
}
