//===- expert-rows-invalid.mlir - Rows of experts: invalid ops -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint of the ops that experts are lowered to, named after it.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @counts_c1(%e: tensor<2x?xi32>) {
  // expected-error @+1 {{'transformer.experts.counts' op C1: expected a static vector of counts, found 'tensor<?xi32>'}}
  %c = transformer.experts.counts %e : tensor<2x?xi32> -> tensor<?xi32>
  return
}

// -----

func.func @starts_c1(%c: tensor<8xi32>) {
  // expected-error @+1 {{'transformer.experts.starts' op C1: dimension 0 of starts: expected 9 in [9], found [8]}}
  %s, %n = transformer.experts.starts %c : tensor<8xi32> -> tensor<8xi32>, tensor<8xi32>
  return
}

// -----

func.func @rows_c1(%x: tensor<?x8xf32>, %p: tensor<2x?xi32>) {
  // expected-error @+1 {{'transformer.experts.rows' op C1: dimension 1 of the result: expected 8 in [?, 8], found [?, 9]}}
  %r = transformer.experts.rows %x, %p : tensor<?x8xf32>, tensor<2x?xi32> -> tensor<?x9xf32>
  return
}

// -----

func.func @sum_c1(%r: tensor<?x?x8xf32>, %p: tensor<2x?xi32>, %w: tensor<2x?xf32>, %x: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.experts.sum' op C1: expected input of rank 2, found rank 3}}
  %y = transformer.experts.sum %r, %p, %w, %x : tensor<?x?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @sum_c2(%r: tensor<?x8xf32>, %p: tensor<2x?xi32>, %w: tensor<3x?xf32>, %x: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.experts.sum' op C2: dimension 0 of weights: expected 2 in [2, ?], found [3, ?]}}
  %y = transformer.experts.sum %r, %p, %w, %x : tensor<?x8xf32>, tensor<2x?xi32>, tensor<3x?xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @sum_c3(%r: tensor<?x8xf32>, %p: tensor<2x?xi32>, %w: tensor<2x?xf32>, %x: tensor<?x?x4xf32>) {
  // expected-error @+1 {{'transformer.experts.sum' op C3: dimension 2 of the result: expected 8 in [?, ?, 8], found [?, ?, 4]}}
  %y = transformer.experts.sum %r, %p, %w, %x : tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<?x?x4xf32> -> tensor<?x?x4xf32>
  return
}

// -----

func.func @linear_c7_count(%x: tensor<?x8xf32>, %w: tensor<64x8xf32>) {
  // expected-error @+1 {{'transformer.linear' op C7: expected group_count with groups alone, found no groups}}
  %y = transformer.linear %x, %w {group_count = 4 : i64} : (tensor<?x8xf32>, tensor<64x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @linear_c7_panels(%x: tensor<?x8xf32>, %w: tensor<64x8xf32>, %s: tensor<9xi32>, %n: tensor<8xi32>) {
  // expected-error @+1 {{'transformer.linear' op C7: expected a multiple of 16 rows of weight for each of 8 groups, found 64}}
  %y = transformer.linear %x, %w groups(%s, %n) {group_count = 8 : i64} : (tensor<?x8xf32>, tensor<64x8xf32>, tensor<9xi32>, tensor<8xi32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @linear_c7_rank(%x: tensor<?x?x8xf32>, %w: tensor<64x8xf32>, %s: tensor<3xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{'transformer.linear' op C7: expected input of rank 2 with groups, found rank 3}}
  %y = transformer.linear %x, %w groups(%s, %n) {group_count = 2 : i64} : (tensor<?x?x8xf32>, tensor<64x8xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<?x?x32xf32>
  return
}

// -----

func.func @linear_c8(%x: tensor<?x8xf32>, %w: tensor<64x8xf32>, %s: tensor<2xi32>, %n: tensor<2xi32>) {
  // expected-error @+1 {{'transformer.linear' op C8: expected size of starts equal to groups + 1 3, found 2}}
  %y = transformer.linear %x, %w groups(%s, %n) {group_count = 2 : i64} : (tensor<?x8xf32>, tensor<64x8xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @scale_rows_c1(%x: tensor<?x?x8xf32>, %g: tensor<?x?x2xf32>) {
  // expected-error @+1 {{'transformer.scale_rows' op C1: dimension 2 of factors: expected 1 in [?, ?, 1], found [?, ?, 2]}}
  %y = transformer.scale_rows %x, %g : tensor<?x?x8xf32>, tensor<?x?x2xf32>
  return
}
