//===- patches-invalid.mlir - Patches, windows and joined rows: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @patches_c1_size(%x: tensor<?x3x8x12xf32>) {
  // expected-error @+1 {{'transformer.patches' op C1: expected patches whose side divides the height 8 and the width 12 of the image, found a side of 3}}
  %y = transformer.patches %x {size = 3 : i64} : tensor<?x3x8x12xf32> -> tensor<?x8x27xf32>
  return
}

// -----

func.func @patches_c1_zero(%x: tensor<?x3x8x12xf32>) {
  // expected-error @+1 {{'transformer.patches' op C1: expected patches whose side divides the height 8 and the width 12 of the image, found a side of 0}}
  %y = transformer.patches %x {size = 0 : i64} : tensor<?x3x8x12xf32> -> tensor<?x8x27xf32>
  return
}

// -----

func.func @patches_c2_result(%x: tensor<?x3x8x12xf32>) {
  // expected-error @+1 {{'transformer.patches' op C2: dimension 2 of the result: expected 48 in [?, 6, 48], found [?, 6, 16]}}
  %y = transformer.patches %x {size = 4 : i64} : tensor<?x3x8x12xf32> -> tensor<?x6x16xf32>
  return
}

// -----

func.func @unfold_c1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C1: expected input of rank 3, static but for the batch, found 'tensor<?x8xf32>'}}
  %y = transformer.unfold %x {size = 3 : i64} : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @unfold_c1_dynamic(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C1: expected input of rank 3, static but for the batch, found 'tensor<?x?x8xf32>'}}
  %y = transformer.unfold %x {size = 3 : i64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  return
}

// -----

func.func @unfold_c2_size(%x: tensor<?x6x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C2: expected an odd positive size and a positive stride, found 4 and 1}}
  %y = transformer.unfold %x {size = 4 : i64} : tensor<?x6x8xf32> -> tensor<?x6x32xf32>
  return
}

// -----

func.func @unfold_c2_stride(%x: tensor<?x6x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C2: expected an odd positive size and a positive stride, found 3 and 0}}
  %y = transformer.unfold %x {size = 3 : i64, stride = 0 : i64} : tensor<?x6x8xf32> -> tensor<?x6x8xf32>
  return
}

// -----

func.func @unfold_c3_result(%x: tensor<?x6x8xf32>) {
  // expected-error @+1 {{'transformer.unfold' op C3: dimension 2 of the result: expected 24 in [?, 3, 24], found [?, 3, 8]}}
  %y = transformer.unfold %x {size = 3 : i64, stride = 2 : i64} : tensor<?x6x8xf32> -> tensor<?x3x8xf32>
  return
}

// -----

func.func @patch_embedding_c1_channels(%x: tensor<?x3x8x12xf32>, %w: tensor<6x1x4x4xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C1: expected input channels of weight equal to channels of image 3, found 1}}
  %y = transformer.patch_embedding %x, %w : (tensor<?x3x8x12xf32>, tensor<6x1x4x4xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @patch_embedding_c2_square(%x: tensor<?x3x8x12xf32>, %w: tensor<6x3x4x2xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C2: expected width of the kernels of weight equal to their height 4, found 2}}
  %y = transformer.patch_embedding %x, %w : (tensor<?x3x8x12xf32>, tensor<6x3x4x2xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @patch_embedding_c2_side(%x: tensor<?x3x8x12xf32>, %w: tensor<6x3x5x5xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C2: expected patches whose side divides the height 8 and the width 12 of the image, found a side of 5}}
  %y = transformer.patch_embedding %x, %w : (tensor<?x3x8x12xf32>, tensor<6x3x5x5xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @patch_embedding_c3_bias(%x: tensor<?x3x8x12xf32>, %w: tensor<6x3x4x4xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C3: expected size of bias equal to output channels of weight 6, found 5}}
  %y = transformer.patch_embedding %x, %w bias(%b) : (tensor<?x3x8x12xf32>, tensor<6x3x4x4xf32>, tensor<5xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @patch_embedding_c4_result(%x: tensor<?x3x8x12xf32>, %w: tensor<6x3x4x4xf32>) {
  // expected-error @+1 {{'transformer.patch_embedding' op C4: dimension 1 of the result: expected 6 in [?, 6, 6], found [?, 5, 6]}}
  %y = transformer.patch_embedding %x, %w : (tensor<?x3x8x12xf32>, tensor<6x3x4x4xf32>) -> tensor<?x5x6xf32>
  return
}

// -----

func.func @concat_c1_rank(%t: tensor<1x8xf32>, %x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.concat' op C1: expected rows of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.concat %t, %x : (tensor<1x8xf32>, tensor<?x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

func.func @concat_c2_columns(%t: tensor<1x7xf32>, %x: tensor<?x4x8xf32>) {
  // expected-error @+1 {{'transformer.concat' op C2: expected columns of first equal to features of rows 8, found 7}}
  %y = transformer.concat %t, %x : (tensor<1x7xf32>, tensor<?x4x8xf32>) -> tensor<?x5x8xf32>
  return
}

// -----

func.func @concat_c3_result(%t: tensor<2x8xf32>, %x: tensor<?x4x8xf32>) {
  // expected-error @+1 {{'transformer.concat' op C3: dimension 1 of the result: expected 6 in [?, 6, 8], found [?, 5, 8]}}
  %y = transformer.concat %t, %x : (tensor<2x8xf32>, tensor<?x4x8xf32>) -> tensor<?x5x8xf32>
  return
}
