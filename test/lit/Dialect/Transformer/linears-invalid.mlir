//===- linears-invalid.mlir - Projections and convolutions: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @linear_c1_features(%x: tensor<?x8xf32>, %w: tensor<6x9xf32>) {
  // expected-error @+1 {{'transformer.linear' op C1: expected columns of weight equal to features of input 8, found 9}}
  %y = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<6x9xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c2_bias(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'transformer.linear' op C2: expected size of bias equal to rows of weight 6, found 8}}
  %y = transformer.linear %x, %w bias(%b) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<8xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c3_features(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op C3: dimension 1 of the result: expected 6 in [?, 6], found [?, 8]}}
  %y = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @linear_c3_rows(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op C3: dimension 0 of the result: expected 4 in [4, 6], found [5, 6]}}
  %y = transformer.linear %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @linear_dynamic_features(%x: tensor<?x?xf32>, %w: tensor<6x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op operand #0 must be tensor of f32, bf16, f16 or i8, rank 2 or more, whose last dimension (features) is static and positive}}
  %y = transformer.linear %x, %w : (tensor<?x?xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_unknown_attribute(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op unknown attribute 'activatoin'}}
  %y = transformer.linear %x, %w {activatoin = #transformer.activation<relu>} : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_no_features(%x: tensor<?x0xf32>, %w: tensor<6x0xf32>) {
  // expected-error @+1 {{'transformer.linear' op operand #0 must be tensor of f32, bf16, f16 or i8, rank 2 or more, whose last dimension (features) is static and positive}}
  %y = transformer.linear %x, %w : (tensor<?x0xf32>, tensor<6x0xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c4_elements(%x: tensor<?x8xf32>, %w: tensor<6x8xbf16>) {
  // expected-error @+1 {{'transformer.linear' op C4: expected elements of weight that multiply with 'f32' of input, found 'bf16'}}
  %y = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<6x8xbf16>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c4_four_bits_beside_bf16(%x: tensor<?x8xbf16>, %w: tensor<6x8xi4>) {
  // expected-error @+1 {{'transformer.linear' op C4: expected elements of weight that multiply with 'bf16' of input, found 'i4'}}
  %y = transformer.linear %x, %w : (tensor<?x8xbf16>, tensor<6x8xi4>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_of_four_bits(%x: tensor<?x8xi4>, %w: tensor<6x8xi4>) {
  // expected-error @+1 {{'transformer.linear' op operand #0 must be tensor of f32, bf16, f16 or i8, rank 2 or more}}
  %y = transformer.linear %x, %w : (tensor<?x8xi4>, tensor<6x8xi4>) -> tensor<?x6xf32>
  return
}

// -----

func.func @conv1x1_c1_channels(%x: tensor<?x8xf32>, %w: tensor<6x7x1xf32>) {
  // expected-error @+1 {{'transformer.conv1x1' op C1: expected input channels of weight equal to features of input 8, found 7}}
  %y = transformer.conv1x1 %x, %w : (tensor<?x8xf32>, tensor<6x7x1xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @conv1x1_c2_bias(%x: tensor<?x8xf32>, %w: tensor<6x8x1xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'transformer.conv1x1' op C2: expected size of bias equal to output channels of weight 6, found 5}}
  %y = transformer.conv1x1 %x, %w bias(%b) : (tensor<?x8xf32>, tensor<6x8x1xf32>, tensor<5xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @conv1x1_c3_result(%x: tensor<?x8xf32>, %w: tensor<6x8x1xf32>) {
  // expected-error @+1 {{'transformer.conv1x1' op C3: dimension 1 of the result: expected 6 in [?, 6], found [?, 8]}}
  %y = transformer.conv1x1 %x, %w : (tensor<?x8xf32>, tensor<6x8x1xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @conv1x1_c4_kernel(%x: tensor<?x8xf32>, %w: tensor<6x8x3xf32>) {
  // expected-error @+1 {{'transformer.conv1x1' op C4: expected a kernel of size 1, found 3}}
  %y = transformer.conv1x1 %x, %w : (tensor<?x8xf32>, tensor<6x8x3xf32>) -> tensor<?x6xf32>
  return
}
