//===- norms-invalid.mlir - Norms, softmax and soft caps: invalid ops ----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @layer_norm_c1_gamma(%x: tensor<?x8xf32>, %g: tensor<7xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C1: expected size of gamma equal to features of input 8, found 7}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x8xf32>, tensor<7xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @layer_norm_c2_beta(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<9xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C2: expected size of beta equal to features of input 8, found 9}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x8xf32>, tensor<8xf32>, tensor<9xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @layer_norm_c3_result(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C3: dimension 1 of the result: expected 8 in [?, 8], found [?, 7]}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x7xf32>
  return
}

// -----

func.func @layer_norm_c4_epsilon(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C4: expected a finite epsilon that is not negative}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = -1.0 : f32} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @rms_norm_c1_gamma(%x: tensor<?x8xf32>, %g: tensor<7xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C1: expected size of gamma equal to features of input 8, found 7}}
  %y = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x8xf32>, tensor<7xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @rms_norm_c2_result(%x: tensor<?x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C2: dimension 1 of the result: expected 8 in [?, 8], found [?, 7]}}
  %y = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x7xf32>
  return
}

// -----

func.func @rms_norm_c3_epsilon(%x: tensor<?x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C3: expected a finite epsilon that is not negative, found -1.000000e+00 : f32}}
  %y = transformer.rms_norm %x, %g {epsilon = -1.0 : f32} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @softmax_type(%x: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.softmax' op operand #0 must be tensor of f32, rank 2 or more}}
  %y = transformer.softmax %x : tensor<8xf32>
  return
}

// -----

func.func @normalize_c1_zero(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.normalize' op C1: expected a finite epsilon above 0, found 0.000000e+00 : f32}}
  %y = transformer.normalize %x {epsilon = 0.0 : f32} : tensor<?x8xf32>
  return
}

// -----

func.func @rms_norm_c1_heads(%x: tensor<?x2x?x8xf32>, %g: tensor<3x8xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C1: dimension 0 of gamma: expected 2 in [2, 8], found [3, 8]}}
  %y = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x2x?x8xf32>, tensor<3x8xf32>) -> tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rms_norm_c1_no_heads(%x: tensor<?x?x8xf32>, %g: tensor<2x8xf32>) {
  // expected-error @+1 {{'transformer.rms_norm' op C1: expected gamma as a vector where input has no heads [batch, heads, rows, features], found rank 2}}
  %y = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x?x8xf32>, tensor<2x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

func.func @layer_norm_c2_heads(%x: tensor<?x2x?x8xf32>, %g: tensor<2x8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.layer_norm' op C2: beta: expected rank 2 [2, 8], found rank 1 [8]}}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-6 : f32} : (tensor<?x2x?x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> tensor<?x2x?x8xf32>
  return
}

// -----

func.func @softcap_c1_zero(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.softcap' op C1: expected a finite cap above 0, found 0.000000e+00 : f32}}
  %y = transformer.softcap %x {cap = 0.0 : f32} : tensor<?x8xf32>
  return
}

// -----

func.func @xielu_c1(%x: tensor<?x8xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{'transformer.xielu' op C1: expected size of slopes equal to sides of 0 2, found 3}}
  %y = transformer.xielu %x, %s : tensor<?x8xf32>, tensor<3xf32>
  return
}
