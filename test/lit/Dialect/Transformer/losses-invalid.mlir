//===- losses-invalid.mlir - Losses and their targets: invalid ops -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @shift_right_c1_rank(%r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.shift_right' op C1: expected ids of rank 2 [batch, rows], found rank 1}}
  %t = transformer.shift_right %r {start = 2 : i64} : tensor<?xi32>
  return
}

// -----

func.func @shift_right_c2_start(%r: tensor<?x?xi32>) {
  // expected-error @+1 {{'transformer.shift_right' op C2: expected start to be an id of i32 that is not negative, found -1}}
  %t = transformer.shift_right %r {start = -1 : i64} : tensor<?x?xi32>
  return
}

// -----

func.func @shift_right_c3_documents(%r: tensor<1x?xi32>, %s: tensor<1x?xi32>) {
  // expected-error @+1 {{'transformer.shift_right' op C3: expected documents as a vector of starts, found rank 2}}
  %t = transformer.shift_right %r documents(%s : tensor<1x?xi32>) {start = 2 : i64} : tensor<1x?xi32>
  return
}

// -----

func.func @cross_entropy_c1_ids(%x: tensor<?x4x8xf32>, %r: tensor<?x5xi32>) {
  // expected-error @+1 {{'transformer.cross_entropy' op C1: dimension 1 of ids: expected 4 in [?, 4], found [?, 5]}}
  %l = transformer.cross_entropy %x, %r : (tensor<?x4x8xf32>, tensor<?x5xi32>) -> tensor<1xf32>
  return
}

// -----

func.func @cross_entropy_c2_padding(%x: tensor<?x8xf32>, %r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.cross_entropy' op C2: expected padding_id below the 8 columns, found 8}}
  %l = transformer.cross_entropy %x, %r {padding_id = 8 : i64} : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<1xf32>
  return
}

// -----

func.func @cross_entropy_c3_result(%x: tensor<?x8xf32>, %r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.cross_entropy' op C3: dimension 0 of the result: expected 1 in [1], found [2]}}
  %l = transformer.cross_entropy %x, %r : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @cross_entropy_rows_c3_result(%x: tensor<?x8xf32>, %r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.cross_entropy.rows' op C3: dimension 1 of the result: expected 2 in [?, 2], found [?, 8]}}
  %l = transformer.cross_entropy.rows %x, %r : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @cross_entropy_mean_c1_features(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.cross_entropy.mean' op C1: expected rows of 2 features, found 8}}
  %l = transformer.cross_entropy.mean %x : (tensor<?x8xf32>) -> tensor<1xf32>
  return
}
