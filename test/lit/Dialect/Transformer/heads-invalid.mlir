//===- heads-invalid.mlir - Heads of rows: invalid ops -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @split_heads_c1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.split_heads' op C1: expected input of rank 3 [batch, rows, features], found rank 2}}
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<?x8xf32> -> tensor<?x2x?x4xf32>
  return
}

// -----

func.func @split_heads_c2_heads(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.split_heads' op C2: expected a positive number of heads that divides the features of input 8, found 3}}
  %h = transformer.split_heads %x {heads = 3 : i64} : tensor<?x?x8xf32> -> tensor<?x3x?x4xf32>
  return
}

// -----

func.func @split_heads_c2_zero(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.split_heads' op C2: expected a positive number of heads that divides the features of input 8, found 0}}
  %h = transformer.split_heads %x {heads = 0 : i64} : tensor<?x?x8xf32> -> tensor<?x3x?x4xf32>
  return
}

// -----

func.func @split_heads_c3_result(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.split_heads' op C3: dimension 3 of the result: expected 4 in [?, 2, ?, 4], found [?, 2, ?, 3]}}
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<?x?x8xf32> -> tensor<?x2x?x3xf32>
  return
}

// -----

func.func @merge_heads_c1_result(%x: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.merge_heads' op C1: dimension 2 of the result: expected 8 in [?, ?, 8], found [?, ?, 6]}}
  %h = transformer.merge_heads %x : tensor<?x2x?x4xf32> -> tensor<?x?x6xf32>
  return
}

// -----

func.func @merge_heads_rank(%x: tensor<?x2x4xf32>) {
  // expected-error @+1 {{'transformer.merge_heads' op operand #0 must be tensor of f32, rank 4 [batch, heads, rows, features], heads and features static and positive}}
  %h = transformer.merge_heads %x : tensor<?x2x4xf32> -> tensor<?x?x8xf32>
  return
}

// -----

func.func @head_products_c1_features(%x: tensor<?x4x?x8xf32>, %w: tensor<64x9xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C1: expected columns of weight equal to features of input 8, found 9}}
  %y = transformer.head_products %x, %w {scale = 1.0 : f32} : (tensor<?x4x?x8xf32>, tensor<64x9xf32>) -> tensor<?x4x?x16xf32>
  return
}

// -----

func.func @head_products_c2_rows(%x: tensor<?x4x?x8xf32>, %w: tensor<96x8xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C2: expected a multiple of 16 rows of weight for each of 4 heads, found 96}}
  %y = transformer.head_products %x, %w {scale = 1.0 : f32} : (tensor<?x4x?x8xf32>, tensor<96x8xf32>) -> tensor<?x4x?x24xf32>
  return
}

// -----

func.func @head_products_c3_result(%x: tensor<?x4x?x8xf32>, %w: tensor<64x8xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C3: dimension 3 of the result: expected 16 in [?, 4, ?, 16], found [?, 4, ?, 32]}}
  %y = transformer.head_products %x, %w {scale = 1.0 : f32} : (tensor<?x4x?x8xf32>, tensor<64x8xf32>) -> tensor<?x4x?x32xf32>
  return
}

// -----

func.func @head_products_c4_elements(%x: tensor<?x4x?x8xbf16>, %w: tensor<64x8xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C4: expected elements of weight that multiply with 'bf16' of input, found 'f32'}}
  %y = transformer.head_products %x, %w {scale = 1.0 : f32} : (tensor<?x4x?x8xbf16>, tensor<64x8xf32>) -> tensor<?x4x?x16xf32>
  return
}

// -----

func.func @head_products_c5_scale(%x: tensor<?x4x?x8xf32>, %w: tensor<64x8xf32>) {
  // expected-error @+1 {{'transformer.head_products' op C5: expected a finite scale, found}}
  %y = transformer.head_products %x, %w {scale = 0x7f800000 : f32} : (tensor<?x4x?x8xf32>, tensor<64x8xf32>) -> tensor<?x4x?x16xf32>
  return
}
