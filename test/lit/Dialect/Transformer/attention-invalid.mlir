//===- attention-invalid.mlir - Attention: invalid ops -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraints of the operands, results and numbers of attention.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @attention_c1_batch(%q: tensor<2x8x?x4xf32>, %k: tensor<3x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C1: expected batch of key equal to batch of query 2, found 3}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x8x?x4xf32>, tensor<3x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c1_value_batch(%q: tensor<?x8x?x4xf32>, %k: tensor<3x2x?x4xf32>, %v: tensor<2x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C1: expected batch of value equal to batch of key 3, found 2}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<3x2x?x4xf32>, tensor<2x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c2_features(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x5xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C2: expected features of key equal to features of query 4, found 5}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x5xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c3_heads(%q: tensor<?x8x?x4xf32>, %k: tensor<?x3x?x4xf32>, %v: tensor<?x3x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C3: expected key heads that divide query heads 8, found 3}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x3x?x4xf32>, tensor<?x3x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c4_value_heads(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x4x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C4: expected value heads equal to key heads 2, found 4}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x4x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c5_rows(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x7x4xf32>, %v: tensor<?x2x6x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C5: expected rows of value equal to rows of key 7, found 6}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x7x4xf32>, tensor<?x2x6x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c6_features(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x5xf32>) {
  // expected-error @+1 {{'transformer.attention' op C6: expected output with 5 features in dimension 3}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x5xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c6_heads(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C6: expected output with 8 heads in dimension 1}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  return
}

// -----

func.func @attention_c7_lse(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C7: expected lse of rank 3}}
  %o, %r0 = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32> lse tensor<?x8xf32>
  return
}

// -----

func.func @attention_c8_weights(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x7x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C8: expected weights with 7 keys in dimension 3}}
  %o, %r0 = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x7x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32> weights tensor<?x8x?x6xf32>
  return
}

// -----

func.func @attention_c8_averaged(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C8: expected averaged weights of rank 3}}
  %o, %r0 = transformer.attention %q, %k, %v {average_weights, scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32> weights tensor<?x8x?x?xf32>
  return
}

// -----

func.func @attention_c9_no_weights(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C9: expected the result weights with average_weights, found none}}
  %o = transformer.attention %q, %k, %v {average_weights, scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c11_scale(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C11: expected a finite scale}}
  %o = transformer.attention %q, %k, %v {scale = 0x7F800000 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_no_scale(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op requires attribute 'scale'}}
  %o = transformer.attention %q, %k, %v  : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_softcap(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C14: expected a finite positive softcap, found 0.000000e+00 : f32}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32, softcap = 0.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c18_elements(%q: tensor<1x2x?x8xf16>, %k: tensor<1x2x?x8xf16>) {
  // expected-error @+1 {{'transformer.attention' op operand #0 must be tensor of f32 or bf16, rank 4 [batch, heads, rows, features], heads and features static and positive, but got 'tensor<1x2x?x8xf16>'}}
  %o = transformer.attention %q, %k, %k {scale = 1.0 : f32} : (tensor<1x2x?x8xf16>, tensor<1x2x?x8xf16>, tensor<1x2x?x8xf16>) -> tensor<1x2x?x8xf32>
  return
}
