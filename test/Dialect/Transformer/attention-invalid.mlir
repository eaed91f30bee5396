//===- attention-invalid.mlir - Attention: what is refused ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @attention_c1_batch(%q: tensor<2x8x?x4xf32>, %k: tensor<3x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C1: batch of key 3 must equal batch of query 2}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x8x?x4xf32>, tensor<3x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c1_value_batch(%q: tensor<?x8x?x4xf32>, %k: tensor<3x2x?x4xf32>, %v: tensor<2x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C1: batch of value 2 must equal batch of key 3}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<3x2x?x4xf32>, tensor<2x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c2_features(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x5xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C2: features of key 5 must equal features of query 4}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x5xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c3_heads(%q: tensor<?x8x?x4xf32>, %k: tensor<?x3x?x4xf32>, %v: tensor<?x3x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C3: key heads 3 must divide query heads 8}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x3x?x4xf32>, tensor<?x3x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c4_value_heads(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x4x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C4: value heads 4 must equal key heads 2}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x4x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c5_rows(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x7x4xf32>, %v: tensor<?x2x6x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C5: rows of value 6 must equal rows of key 7}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x7x4xf32>, tensor<?x2x6x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c6_features(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x5xf32>) {
  // expected-error @+1 {{'transformer.attention' op C6: output must have 5 features in dimension 3}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x5xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c6_heads(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C6: output must have 8 heads in dimension 1}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  return
}

// -----

func.func @attention_c7_lse(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C7: lse must have rank 3}}
  %o, %r0 = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32> lse tensor<?x8xf32>
  return
}

// -----

func.func @attention_c8_weights(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x7x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C8: weights must have 7 keys in dimension 3}}
  %o, %r0 = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x7x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32> weights tensor<?x8x?x6xf32>
  return
}

// -----

func.func @attention_c8_averaged(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C8: averaged weights must have rank 3}}
  %o, %r0 = transformer.attention %q, %k, %v {average_weights, scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32> weights tensor<?x8x?x?xf32>
  return
}

// -----

func.func @attention_c9_no_weights(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C9: average_weights needs the result weights}}
  %o = transformer.attention %q, %k, %v {average_weights, scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c11_scale(%q: tensor<?x8x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C11: scale must be finite}}
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
  // expected-error @+1 {{'transformer.attention' op C14: softcap must be finite and positive, found 0.000000e+00 : f32}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32, softcap = 0.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

func.func @attention_c10_dense_keys(%x: tensor<2x2x6x4xf32>, %t: tensor<1x1x6x5xi1>) {
  %m = transformer.mask.dense %t : tensor<1x1x6x5xi1>
  // expected-error @+1 {{'transformer.attention' op C10: dimension 3 of the dense mask (keys) must be 1 or 6, found 5}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @attention_c10_dense_heads(%x: tensor<2x2x6x4xf32>, %t: tensor<2x3x6x6xi1>) {
  %m = transformer.mask.dense %t : tensor<2x3x6x6xi1>
  // expected-error @+1 {{'transformer.attention' op C10: dimension 1 of the dense mask (heads) must be 1 or 2, found 3}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @mask_lengths_c2_batch(%x: tensor<2x2x6x4xf32>, %t: tensor<3xi32>) {
  %m = transformer.mask.lengths %t : tensor<3xi32>
  // expected-error @+1 {{'transformer.attention' op C10: the mask has numbers for 3 sequences, the batch is 2}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @mask_causal_offset_batch(%x: tensor<2x2x6x4xf32>, %t: tensor<3xi32>) {
  %m = transformer.mask.causal offset(%t : tensor<3xi32>)
  // expected-error @+1 {{'transformer.attention' op C10: the mask has numbers for 3 sequences, the batch is 2}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @attention_c10_argument(%x: tensor<2x2x6x4xf32>, %m: !transformer.mask) {
  // expected-error @+1 {{'transformer.attention' op C10: the mask must be made by mask ops of the same block}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @attention_statistics_c1_shape(%q: tensor<?x8x?x4xf32>) {
  // expected-error @+1 {{'transformer.attention.statistics' op C1: maximum: expected 'tensor<?x8x?xf32>', found 'tensor<?x7x?xf32>'}}
  %m, %s = transformer.attention.statistics %q, %q {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>) -> tensor<?x7x?xf32>
  return
}

// -----

func.func @attention_weights_c1_shape(%q: tensor<?x8x?x4xf32>, %m: tensor<?x7x?xf32>) {
  // expected-error @+1 {{'transformer.attention.weights' op C1: maximum: expected 'tensor<?x8x?xf32>', found 'tensor<?x7x?xf32>'}}
  %w = transformer.attention.weights %q, %q, %m, %m {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>, tensor<?x7x?xf32>, tensor<?x7x?xf32>) -> tensor<?x8x?x?xf32>
  return
}

// -----

func.func @attention_weights_c2_average(%q: tensor<?x8x?x4xf32>, %m: tensor<?x8x?xf32>) {
  // expected-error @+1 {{'transformer.attention.weights' op C2: weights: expected 'tensor<?x?x?xf32>', found 'tensor<?x8x?x?xf32>'}}
  %w = transformer.attention.weights %q, %q, %m, %m {average, scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>) -> tensor<?x8x?x?xf32>
  return
}

// -----

func.func @attention_c18_elements(%q: tensor<1x2x?x8xbf16>, %k: tensor<1x2x?x8xbf16>, %v: tensor<1x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.attention' op C18: elements of value must be those of query, 'bf16', found 'f32'}}
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<1x2x?x8xbf16>, tensor<1x2x?x8xbf16>, tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32>
  return
}
