//===- linear-codes-invalid.mlir - Products of codes: invalid ops --------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constraints of `linear` on codes of i8 and rows of f16.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @linear_c5_missing(%q: tensor<?x8xi8>, %w: tensor<6x8xi8>) {
  // expected-error @+1 {{'transformer.linear' op C5: operands of 'i8' have 2 scales, found 0}}
  %y = transformer.linear %q, %w : (tensor<?x8xi8>, tensor<6x8xi8>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c5_beside_numbers(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>, %s: tensor<?x1xf32>, %sw: tensor<2x6xf32>) {
  // expected-error @+1 {{'transformer.linear' op C5: operands of 'f32' have 0 scales, found 2}}
  %y = transformer.linear %x, %w scales(%s, %sw) : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<?x1xf32>, tensor<2x6xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c5_of_input(%q: tensor<?x8xi8>, %w: tensor<6x8xi8>, %s: tensor<?x8xf32>, %sw: tensor<2x6xf32>) {
  // expected-error @+1 {{'transformer.linear' op C5: dimension 1 of the scales of input: expected 1 in [?, 1], found [?, 8]}}
  %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x8xi8>, tensor<6x8xi8>, tensor<?x8xf32>, tensor<2x6xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c5_of_weight(%q: tensor<?x8xi8>, %w: tensor<6x8xi8>, %s: tensor<?x1xf32>, %sw: tensor<1x6xf32>) {
  // expected-error @+1 {{'transformer.linear' op C5: dimension 0 of the scales of weight: expected 2 in [2, 6], found [1, 6]}}
  %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x8xi8>, tensor<6x8xi8>, tensor<?x1xf32>, tensor<1x6xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c6_features(%q: tensor<?x131073xi8>, %w: tensor<6x131073xi8>, %s: tensor<?x1xf32>, %sw: tensor<2x6xf32>) {
  // expected-error @+1 {{'transformer.linear' op C6: expected at most 131072 features of i8, found 131073}}
  %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x131073xi8>, tensor<6x131073xi8>, tensor<?x1xf32>, tensor<2x6xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c4_elements(%q: tensor<?x8xi8>, %w: tensor<6x8xbf16>, %s: tensor<?x1xf32>, %sw: tensor<2x6xf32>) {
  // expected-error @+1 {{'transformer.linear' op C4: expected elements of weight that multiply with 'i8' of input, found 'bf16'}}
  %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x8xi8>, tensor<6x8xbf16>, tensor<?x1xf32>, tensor<2x6xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c5_halves_without(%h: tensor<?x8xf16>, %w: tensor<6x8xf16>) {
  // expected-error @+1 {{'transformer.linear' op C5: operands of 'f16' have 1 scales, found 0}}
  %y = transformer.linear %h, %w : (tensor<?x8xf16>, tensor<6x8xf16>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c5_halves_of_weight(%h: tensor<?x8xf16>, %w: tensor<6x8xf16>, %s: tensor<?x1xf32>, %sw: tensor<2x6xf32>) {
  // expected-error @+1 {{'transformer.linear' op C5: operands of 'f16' have 1 scales, found 2}}
  %y = transformer.linear %h, %w scales(%s, %sw) : (tensor<?x8xf16>, tensor<6x8xf16>, tensor<?x1xf32>, tensor<2x6xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c4_halves_beside_numbers(%h: tensor<?x8xf16>, %w: tensor<6x8xf32>, %s: tensor<?x1xf32>) {
  // expected-error @+1 {{'transformer.linear' op C4: expected elements of weight that multiply with 'f16' of input, found 'f32'}}
  %y = transformer.linear %h, %w scales(%s) : (tensor<?x8xf16>, tensor<6x8xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  return
}

// -----

// Two groups of features have four scales.
func.func @linear_c5_of_groups(%q: tensor<?x40xi8>, %w: tensor<6x40xi4>, %s: tensor<?x1xf32>) {
  // expected-error @+1 {{'transformer.linear' op C5: dimension 1 of the scales of input: expected 4 in [?, 4], found [?, 1]}}
  %y = transformer.linear %q, %w scales(%s) : (tensor<?x40xi8>, tensor<6x40xi4>, tensor<?x1xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @linear_c5_beside_groups(%q: tensor<?x8xi8>, %w: tensor<6x8xi4>, %s: tensor<?x2xf32>, %sw: tensor<2x6xf32>) {
  // expected-error @+1 {{'transformer.linear' op C5: operands of 'i8' have 1 scales, found 2}}
  %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x8xi8>, tensor<6x8xi4>, tensor<?x2xf32>, tensor<2x6xf32>) -> tensor<?x6xf32>
  return
}
