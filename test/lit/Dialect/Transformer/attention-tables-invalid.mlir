//===- attention-tables-invalid.mlir - Masks of attention: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraint C10: a table or a number for each sentence, head, row and key.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @attention_c10_dense_keys(%x: tensor<2x2x6x4xf32>, %t: tensor<1x1x6x5xi1>) {
  %m = transformer.mask.dense %t : tensor<1x1x6x5xi1>
  // expected-error @+1 {{'transformer.attention' op C10: expected dimension 3 of the dense mask (keys) to be 1 or 6, found 5}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @attention_c10_dense_heads(%x: tensor<2x2x6x4xf32>, %t: tensor<2x3x6x6xi1>) {
  %m = transformer.mask.dense %t : tensor<2x3x6x6xi1>
  // expected-error @+1 {{'transformer.attention' op C10: expected dimension 1 of the dense mask (heads) to be 1 or 2, found 3}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @mask_lengths_c2_batch(%x: tensor<2x2x6x4xf32>, %t: tensor<3xi32>) {
  %m = transformer.mask.lengths %t : tensor<3xi32>
  // expected-error @+1 {{'transformer.attention' op C10: expected numbers of the mask for 2 sequences, found 3}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @mask_causal_offset_batch(%x: tensor<2x2x6x4xf32>, %t: tensor<3xi32>) {
  %m = transformer.mask.causal offset(%t : tensor<3xi32>)
  // expected-error @+1 {{'transformer.attention' op C10: expected numbers of the mask for 2 sequences, found 3}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}

// -----

func.func @attention_c10_argument(%x: tensor<2x2x6x4xf32>, %m: !transformer.mask) {
  // expected-error @+1 {{'transformer.attention' op C10: expected the mask to be made by mask ops of the same block, found another value}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return
}
