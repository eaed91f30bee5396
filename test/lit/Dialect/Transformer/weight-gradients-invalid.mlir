//===- weight-gradients-invalid.mlir - Gradients of weights: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case for each constraint of the ops that write gradients of weights.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @product_c1(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{C1: expected the name of a tensor, found an empty one}}
  transformer.gradient.product "", %a, %a : tensor<?x4xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @product_c2(%a: tensor<3x4xf32>, %b: tensor<2x4xf32>) {
  // expected-error@+1 {{C2: dimension 0 of input: expected 3 in [3, 4], found [2, 4]}}
  transformer.gradient.product "w", %a, %b : tensor<3x4xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @columns_c1(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{C1: expected the name of a tensor, found an empty one}}
  transformer.gradient.columns "", %a : tensor<?x4xf32>
  return
}

// -----

func.func @columns_c2(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{C2: expected gradient of rank 4 [batch, heads, rows, features], found rank 2}}
  transformer.gradient.columns "w", %a {of_heads} : tensor<?x4xf32>
  return
}

// -----

func.func @rows_c1(%a: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error@+1 {{C1: expected the name of a tensor, found an empty one}}
  transformer.gradient.rows "", %a, %ids {size = 8 : i64} : tensor<?x4xf32>, tensor<?xi32>
  return
}

// -----

func.func @rows_c2(%a: tensor<3x4xf32>, %ids: tensor<2xi32>) {
  // expected-error@+1 {{C2: dimension 0 of ids: expected 3 in [3], found [2]}}
  transformer.gradient.rows "w", %a, %ids {size = 8 : i64} : tensor<3x4xf32>, tensor<2xi32>
  return
}

// -----

func.func @rows_c3(%a: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C3: expected padding_id below the 8 rows of the table, found 8}}
  transformer.gradient.rows "w", %a, %ids {padding_id = 8 : i64, size = 8 : i64} : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @rows_c3_size(%a: tensor<3x4xf32>, %ids: tensor<3xi32>) {
  // expected-error@+1 {{C3: expected a positive size, found 0}}
  transformer.gradient.rows "w", %a, %ids {size = 0 : i64} : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @positions_c1(%a: tensor<?x?x4xf32>) {
  // expected-error@+1 {{C1: expected the name of a tensor, found an empty one}}
  transformer.gradient.positions "", %a {size = 8 : i64} : tensor<?x?x4xf32>
  return
}

// -----

func.func @positions_c2(%a: tensor<?x4xf32>) {
  // expected-error@+1 {{C2: expected gradient of rank 3 [batch, rows, features], found rank 2}}
  transformer.gradient.positions "w", %a {size = 8 : i64} : tensor<?x4xf32>
  return
}

// -----

func.func @positions_c3(%a: tensor<?x9x4xf32>) {
  // expected-error@+1 {{C3: expected at most 8 rows, which the table has, found 9}}
  transformer.gradient.positions "w", %a {size = 8 : i64} : tensor<?x9x4xf32>
  return
}

// -----

func.func @transposed_c1(%a: tensor<?x4xf32>, %w: tensor<3x5xf32>) -> tensor<?x5xf32> {
  // expected-error@+1 {{C1: expected rows of weight equal to features of input 4, found 3}}
  %y = transformer.linear.transposed %a, %w : (tensor<?x4xf32>, tensor<3x5xf32>) -> tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}

// -----

func.func @transposed_c2(%a: tensor<?x4xf32>, %w: tensor<4x5xf32>) -> tensor<?x6xf32> {
  // expected-error@+1 {{C2: dimension 1 of the result: expected 5 in [?, 5], found [?, 6]}}
  %y = transformer.linear.transposed %a, %w : (tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// -----

func.func @transpose_c1(%w: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{C1: dimension 0 of the result: expected 4 in [4, 8], found [8, 4]}}
  %t = transformer.transpose %w : tensor<8x4xf32> -> tensor<8x4xf32>
  return %t : tensor<8x4xf32>
}

// -----

func.func @join_c1() {
  // expected-error@+1 {{C1: expected the name of a tensor and a positive use, found "w" and 0}}
  transformer.gradient.join "w" {use = 0 : i64}
  return
}

// -----

func.func @norm_c1() -> tensor<2xf32> {
  // expected-error@+1 {{C1: dimension 0 of the result: expected 1 in [1], found [2]}}
  %n = transformer.gradient.norm : tensor<2xf32>
  return %n : tensor<2xf32>
}
