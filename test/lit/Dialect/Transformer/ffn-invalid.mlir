//===- ffn-invalid.mlir - Feed-forward blocks: invalid ops ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @ffn_c7_features(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>, %g: tensor<6x9xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C7: expected columns of gate_weight equal to features of input 8, found 9}}
  %y = transformer.ffn %x in(%w1) out(%w2) gate(%g) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<6x9xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c7_rows(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>, %g: tensor<5x8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C7: expected rows of gate_weight equal to rows of in_weight 6, found 5}}
  %y = transformer.ffn %x in(%w1) out(%w2) gate(%g) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<5x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c8_bias(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C8: expected size of gate_bias equal to rows of gate_weight 6, found 5}}
  %y = transformer.ffn %x in(%w1) out(%w2) gate(%w1, %b) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<6x8xf32>, tensor<5xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c1_features(%x: tensor<?x8xf32>, %w1: tensor<6x9xf32>, %b1: tensor<6xf32>, %w2: tensor<8x6xf32>, %b2: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C1: expected columns of in_weight equal to features of input 8, found 9}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x9xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c2_in_bias(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<7xf32>, %w2: tensor<8x6xf32>, %b2: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C2: expected size of in_bias equal to rows of in_weight 6, found 7}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<7xf32>, tensor<8x6xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c3_hidden(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<6xf32>, %w2: tensor<8x5xf32>, %b2: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C3: expected columns of out_weight equal to rows of in_weight 6, found 5}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<8x5xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c4_out_bias(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<6xf32>, %w2: tensor<8x6xf32>, %b2: tensor<6xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C4: expected size of out_bias equal to rows of out_weight 8, found 6}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @ffn_c5_result(%x: tensor<?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<6xf32>, %w2: tensor<8x6xf32>, %b2: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C5: dimension 1 of the result: expected 8 in [?, 8], found [?, 6]}}
  %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<8xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @ffn_c6_elements(%x: tensor<?x8xbf16>, %in: tensor<6x8xbf16>, %out: tensor<8x6xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C6: expected elements of out_weight that multiply with 'bf16' of input, found 'f32'}}
  %y = transformer.ffn %x in(%in) out(%out) : (tensor<?x8xbf16>, tensor<6x8xbf16>, tensor<8x6xf32>) -> tensor<?x8xf32>
  return
}
