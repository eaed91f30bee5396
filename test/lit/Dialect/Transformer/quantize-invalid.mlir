//===- quantize-invalid.mlir - Codes and scales: invalid ops -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each constraint of `quantize`, and the constraints of `weight` and `linear` on codes
// of i8 and rows of f16.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @quantize_c1_codes(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.quantize' op C1: dimension 1 of codes: expected 8 in [?, 8], found [?, 6]}}
  %q, %s = transformer.quantize %x : tensor<?x8xf32> -> tensor<?x6xi8>, tensor<?x1xf32>
  return
}

// -----

func.func @quantize_c2_scales(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.quantize' op C2: dimension 1 of scales: expected 1 in [?, 1], found [?, 8]}}
  %q, %s = transformer.quantize %x : tensor<?x8xf32> -> tensor<?x8xi8>, tensor<?x8xf32>
  return
}

// -----

func.func @weight_c3_rows() {
  // expected-error @+1 {{'transformer.weight' op C3: expected stored to hold 8 rows, found [6, 5]}}
  %s = transformer.weight "w" {scales, stored = array<i64: 6, 5>} : tensor<2x8xf32>
  return
}

// -----

func.func @weight_c4_type() {
  // expected-error @+1 {{'transformer.weight' op C4: expected scales of [2, N] f32, found 'tensor<8xf32>'}}
  %s = transformer.weight "w" {scales, stored = array<i64: 8, 4>} : tensor<8xf32>
  return
}

// -----

func.func @weight_c4_stored() {
  // expected-error @+1 {{'transformer.weight' op C4: expected stored, the shape of the matrix in the checkpoint, with scales, found none}}
  %s = transformer.weight "w" {scales} : tensor<2x8xf32>
  return
}

// -----

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

// -----

func.func @cache_quantize_c1(%k: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.cache.quantize' op C1: dimension 3 of codes: expected 8 in [?, 2, ?, 8], found [?, 2, ?, 4]}}
  %q, %e = transformer.cache.quantize %k : tensor<?x2x?x8xf32> -> tensor<?x2x?x4xi8>, tensor<?x2x?xf32>
  return
}

// -----

func.func @cache_quantize_c2(%k: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.cache.quantize' op C2: dimension 1 of scales: expected 2 in [?, 2, ?], found [?, 8, ?]}}
  %q, %e = transformer.cache.quantize %k : tensor<?x2x?x8xf32> -> tensor<?x2x?x8xi8>, tensor<?x8x?xf32>
  return
}
