//===- gates-invalid.mlir - Limits of gates: invalid ops -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint of gates with limits, named after it.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @experts_c8_limit(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<32x32xf32>) {
  // expected-error @+1 {{'transformer.experts' op C8: expected a finite limit above 0, found 0.000000e+00 : f32}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) gate(%w1) {count = 2 : i64, limit = 0.0 : f32} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<32x32xf32>, tensor<64x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @experts_c8_gate(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<32x32xf32>) {
  // expected-error @+1 {{'transformer.experts' op C8: expected gate_weight with limit and offset, found none}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) {count = 2 : i64, offset = 1.0 : f32} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<32x32xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @ffn_c9(%x: tensor<?x8xf32>, %w1: tensor<32x8xf32>, %w2: tensor<16x32xf32>) {
  // expected-error @+1 {{'transformer.ffn' op C9: expected gate_weight with limit and offset, found none}}
  %y = transformer.ffn %x in(%w1) out(%w2) {limit = 1.0 : f32} : (tensor<?x8xf32>, tensor<32x8xf32>, tensor<16x32xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @gate_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.gate' op C1: expected a finite offset, found 0x7F800000 : f32}}
  %y = transformer.gate %x, %x {offset = 0x7F800000 : f32} : tensor<?x8xf32>
  return
}
