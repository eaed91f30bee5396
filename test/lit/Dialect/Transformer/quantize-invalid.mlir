//===- quantize-invalid.mlir - Codes and their weights: invalid ops ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each constraint of `quantize`, and the constraints of `weight` on codes.

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
