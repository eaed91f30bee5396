//===- attention-parts-invalid.mlir - Statistics, weights and codes of attention: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraints of attention in two steps, and of keys and values as codes.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @attention_statistics_c1_shape(%q: tensor<?x8x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention.statistics' op C1: dimension 1 of maximum: expected 8 in [?, 8, ?], found [?, 7, ?]}}
  %m, %s = transformer.attention.statistics %q, %q {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>) -> tensor<?x7x?xf32>
  return
}

// -----

func.func @attention_weights_c1_shape(%q: tensor<?x8x?x4xf32>, %m: tensor<?x7x?xf32>) {
  // expected-error @+1 {{'transformer.attention.weights' op C1: dimension 1 of maximum: expected 8 in [?, 8, ?], found [?, 7, ?]}}
  %w = transformer.attention.weights %q, %q, %m, %m {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>, tensor<?x7x?xf32>, tensor<?x7x?xf32>) -> tensor<?x8x?x?xf32>
  return
}

// -----

func.func @attention_weights_c2_average(%q: tensor<?x8x?x4xf32>, %m: tensor<?x8x?xf32>) {
  // expected-error @+1 {{'transformer.attention.weights' op C2: weights: expected rank 3 [?, ?, ?], found rank 4 [?, 8, ?, ?]}}
  %w = transformer.attention.weights %q, %q, %m, %m {average, scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>) -> tensor<?x8x?x?xf32>
  return
}

// -----

func.func @attention_c20_no_scales(%q: tensor<1x2x?x8xbf16>, %k: tensor<1x2x?x8xi8>) {
  // expected-error @+1 {{'transformer.attention' op C20: expected scales with key of i8, and with no others, found none with 'i8'}}
  %o = transformer.attention %q, %k, %k {scale = 1.0 : f32} : (tensor<1x2x?x8xbf16>, tensor<1x2x?x8xi8>, tensor<1x2x?x8xi8>) -> tensor<1x2x?x8xf32>
  return
}

// -----

func.func @attention_c20_numbers(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xi8>, %v: tensor<1x2x?x8xbf16>, %s: tensor<1x2x?xf32>) {
  // expected-error @+1 {{'transformer.attention' op C20: expected scales with value of i8, and with no others, found some with 'bf16'}}
  %o = transformer.attention %q, %k, %v key_scales(%s : tensor<1x2x?xf32>) value_scales(%s : tensor<1x2x?xf32>) {scale = 1.0 : f32} : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xi8>, tensor<1x2x?x8xbf16>) -> tensor<1x2x?x8xf32>
  return
}

// -----

func.func @attention_c20_heads(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xi8>, %s: tensor<1x1x?xf32>) {
  // expected-error @+1 {{'transformer.attention' op C20: dimension 1 of the scales of key: expected 2, found 1}}
  %o = transformer.attention %q, %k, %k key_scales(%s : tensor<1x1x?xf32>) value_scales(%s : tensor<1x1x?xf32>) {scale = 1.0 : f32} : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xi8>, tensor<1x2x?x8xi8>) -> tensor<1x2x?x8xf32>
  return
}

// -----

func.func @attention_c20_documents(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xi8>, %s: tensor<1x2x?xf32>, %n: tensor<?xi32>) {
  %d = transformer.mask.documents starts(%n, %n) : tensor<?xi32>, tensor<?xi32>
  // expected-error @+1 {{'transformer.attention' op C20: expected no packed documents with scales, found them}}
  %o = transformer.attention %q, %k, %k mask(%d) key_scales(%s : tensor<1x2x?xf32>) value_scales(%s : tensor<1x2x?xf32>) {scale = 1.0 : f32} : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xi8>, tensor<1x2x?x8xi8>) -> tensor<1x2x?x8xf32>
  return
}
