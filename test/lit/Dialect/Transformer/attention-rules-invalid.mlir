//===- attention-rules-invalid.mlir - Rules that do not fit their attention ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraints C12 to C15: score rules, sinks, soft caps and hidden scores.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @attention_c12_dense_rule(%x: tensor<2x8x6x4xf32>, %t: tensor<2x4x6x6xf32>) {
  %s = transformer.bias.dense %t : tensor<2x4x6x6xf32>
  // expected-error @+1 {{'transformer.attention' op C12: expected dimension 1 of the dense rule (heads) to be 1 or 8, found 4}}
  %o = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c12_relative_heads(%x: tensor<2x8x6x4xf32>, %t: tensor<32x4xf32>) {
  %s = transformer.bias.relative %t max_distance = 128 : tensor<32x4xf32>
  // expected-error @+1 {{'transformer.attention' op C12: expected dimension 1 of the relative table (heads) to be 8, found 4}}
  %o = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c12_alibi_sentences(%x: tensor<2x8x6x4xf32>, %n: tensor<3xi32>) {
  %a = transformer.bias.alibi
  %d = transformer.bias.alibi offset(%n : tensor<3xi32>)
  %s = transformer.bias.add %a, %d
  // expected-error @+1 {{'transformer.attention' op C12: expected numbers of the score rule for 2 sequences, found 3}}
  %o = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c13_sinks(%x: tensor<2x8x6x4xf32>, %n: tensor<4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C13: expected 8 sinks, one a head, found 4}}
  %o = transformer.attention %x, %x, %x sinks(%n : tensor<4xf32>) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c14_softcap(%x: tensor<2x8x6x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C14: expected a finite positive softcap, found -1.000000e+00 : f32}}
  %o = transformer.attention %x, %x, %x  {scale = 1.0 : f32, softcap = -1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c15_infinite(%x: tensor<2x8x6x4xf32>) {
  %m = transformer.mask.causal
  // expected-error @+1 {{'transformer.attention' op C15: expected a finite hidden_score, found 0xFF800000 : f32}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32, hidden_score = 0xFF800000 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c15_without_mask(%x: tensor<2x8x6x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C15: expected a mask with hidden_score, found none}}
  %o = transformer.attention %x, %x, %x  {scale = 1.0 : f32, hidden_score = -1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @statistics_c2_sinks(%x: tensor<2x8x6x4xf32>, %n: tensor<4xf32>) {
  // expected-error @+1 {{'transformer.attention.statistics' op C13: expected 8 sinks, one a head, found 4}}
  %m, %s = transformer.attention.statistics %x, %x sinks(%n : tensor<4xf32>) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6xf32>
  return
}
