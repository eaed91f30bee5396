//===- experts-invalid.mlir - Mixtures of experts: invalid ops -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint of routes and experts, named after it.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @route_c1_too_many(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C1: expected a count of at least 1 and at most 4 experts, found 5}}
  %e, %w = transformer.route %l {count = 5 : i64} : tensor<?x4xf32> -> tensor<5x?xi32>, tensor<5x?xf32>
  return
}

// -----

func.func @route_c1_none(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C1: expected a count of at least 1 and at most 4 experts, found 0}}
  %e, %w = transformer.route %l {count = 0 : i64} : tensor<?x4xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
  return
}

// -----

func.func @route_c2(%l: tensor<?x4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'transformer.route' op C2: expected size of correction equal to experts 4, found 3}}
  %e, %w = transformer.route %l correction(%b : tensor<3xf32>) {count = 1 : i64} : tensor<?x4xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
  return
}

// -----

func.func @route_c3(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C3: dimension 0 of weights: expected 2 in [2, ?], found [1, ?]}}
  %e, %w = transformer.route %l {count = 2 : i64} : tensor<?x4xf32> -> tensor<2x?xi32>, tensor<1x?xf32>
  return
}

// -----

func.func @route_c4(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C4: expected a finite scale that is not 0, found 0.000000e+00 : f32}}
  %e, %w = transformer.route %l {count = 1 : i64, scale = 0.0 : f32} : tensor<?x4xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
  return
}

// -----

func.func @route_c5_divides(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C5: expected at least 1 and at most 64 groups that divide 4 experts, found 3}}
  %e, %w = transformer.route %l {count = 1 : i64, groups = 3 : i64} : tensor<?x4xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
  return
}

// -----

func.func @route_c5_used(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C5: expected used_groups of at least 1 and at most 2, found 3}}
  %e, %w = transformer.route %l {count = 1 : i64, groups = 2 : i64, used_groups = 3 : i64} : tensor<?x4xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
  return
}

// -----

func.func @route_c5_count(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C5: expected a count of at most 2, the experts of used_groups, found 3}}
  %e, %w = transformer.route %l {count = 3 : i64, groups = 2 : i64} : tensor<?x4xf32> -> tensor<3x?xi32>, tensor<3x?xf32>
  return
}

// -----

func.func @route_c6(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C6: expected a finite jitter of at least 0, found -1.000000e+00}}
  %e, %w = transformer.route %l {count = 1 : i64, jitter = -1.0 : f32} : tensor<?x4xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
  return
}

// -----

func.func @route_c7(%l: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.route' op C7: expected no correction, no normalise and one group with a sparse_mixer, found normalise}}
  %e, %w = transformer.route %l {count = 1 : i64, score = #transformer.router_score<sparse_mixer>, normalise} : tensor<?x4xf32> -> tensor<1x?xi32>, tensor<1x?xf32>
  return
}

// -----

func.func @experts_c1(%x: tensor<?x9xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<32x32xf32>) {
  // expected-error @+1 {{'transformer.experts' op C1: expected columns of in_weight equal to features of input 9, found 8}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) {count = 2 : i64} : (tensor<?x9xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<32x32xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @experts_c2_divides(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<32x21xf32>) {
  // expected-error @+1 {{'transformer.experts' op C2: expected a multiple of 16 rows of in_weight for each of 3 experts, found 64}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) {count = 3 : i64} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<32x21xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @experts_c2_panels(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<48x32xf32>) {
  // expected-error @+1 {{'transformer.experts' op C2: expected a multiple of 16 rows of out_weight for each of 2 experts, found 48}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) {count = 2 : i64} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<48x32xf32>) -> tensor<?x24xf32>
  return
}

// -----

func.func @experts_c3(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<32x16xf32>) {
  // expected-error @+1 {{'transformer.experts' op C3: expected columns of out_weight equal to rows of in_weight of an expert 32, found 16}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) {count = 2 : i64} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<32x16xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @experts_c4(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<32x32xf32>, %g: tensor<32x8xf32>) {
  // expected-error @+1 {{'transformer.experts' op C4: dimension 0 of gate_weight: expected 64 in [64, 8], found [32, 8]}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) gate(%g) {count = 2 : i64} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<32x32xf32>, tensor<32x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @experts_c5(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %b: tensor<32xf32>, %w2: tensor<32x32xf32>) {
  // expected-error @+1 {{'transformer.experts' op C5: expected size of in_bias equal to rows of in_weight 64, found 32}}
  %y = transformer.experts %x experts(%e, %w) in(%w1, %b) out(%w2) {count = 2 : i64} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<32xf32>, tensor<32x32xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @experts_c6(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<3x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<32x32xf32>) {
  // expected-error @+1 {{'transformer.experts' op C6: dimension 0 of weights: expected 2 in [2, ?], found [3, ?]}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) {count = 2 : i64} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<3x?xf32>, tensor<64x8xf32>, tensor<32x32xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @experts_c7(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %w2: tensor<32x32xf32>) {
  // expected-error @+1 {{'transformer.experts' op C7: dimension 1 of the result: expected 16 in [?, 16], found [?, 32]}}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) {count = 2 : i64} : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<32x32xf32>) -> tensor<?x32xf32>
  return
}
