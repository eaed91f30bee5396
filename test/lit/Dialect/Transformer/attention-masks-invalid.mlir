//===- attention-masks-invalid.mlir - Masks that do not fit their attention ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraint C10: sizes of masks and of their tables, for every attention op.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @attention_c10_window_sentences(%x: tensor<2x8x6x4xf32>, %n: tensor<3xi32>) {
  %m = transformer.mask.window before = 1 after = 0 offset(%n : tensor<3xi32>)
  // expected-error @+1 {{'transformer.attention' op C10: expected numbers of the mask for 2 sequences, found 3}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c10_prefix_sentences(%x: tensor<2x8x6x4xf32>, %n: tensor<3xi32>) {
  %m = transformer.mask.prefix %n : tensor<3xi32>
  // expected-error @+1 {{'transformer.attention' op C10: expected numbers of the mask for 2 sequences, found 3}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c10_ids_of_queries(%x: tensor<2x8x6x4xf32>, %q: tensor<2x5xi32>, %k: tensor<2x6xi32>) {
  %m = transformer.mask.documents %q, %k : tensor<2x5xi32>, tensor<2x6xi32>
  // expected-error @+1 {{'transformer.attention' op C10: expected dimension 1 of the ids of queries (queries) to be 6, found 5}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c10_ids_of_keys(%x: tensor<2x8x6x4xf32>, %q: tensor<2x6xi32>, %k: tensor<1x6xi32>) {
  %m = transformer.mask.documents %q, %k : tensor<2x6xi32>, tensor<1x6xi32>
  // expected-error @+1 {{'transformer.attention' op C10: expected dimension 0 of the ids of keys (batch) to be 2, found 1}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c10_blocks_heads(%x: tensor<2x8x6x4xf32>, %t: tensor<1x4x2x3xi1>) {
  %m = transformer.mask.blocks %t rows = 4 columns = 2 : tensor<1x4x2x3xi1>
  // expected-error @+1 {{'transformer.attention' op C10: expected dimension 1 of the table of blocks (heads) to be 1 or 8, found 4}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c10_blocks_size(%x: tensor<2x8x6x4xf32>, %t: tensor<1x1x2x2xi1>) {
  %m = transformer.mask.blocks %t rows = 4 columns = 2 : tensor<1x1x2x2xi1>
  // expected-error @+1 {{'transformer.attention' op C10: expected dimension 3 of the table of blocks (blocks of keys) to be 3, found 2}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c10_loaded_table(%x: tensor<2x8x6x4xf32>, %t: tensor<3x6xi32>) {
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %y = transformer.mask.load %t[%b, %j] : tensor<3x6xi32>
    %c = arith.cmpi eq, %y, %i : i32
    transformer.yield %c : i1
  }
  // expected-error @+1 {{'transformer.attention' op C10: expected dimension 0 of the loaded table (batch) to be 2, found 3}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c16_lengths_of_documents(%x: tensor<1x8x?x4xf32>, %s: tensor<4xi32>, %n: tensor<4xi32>) {
  %d = transformer.mask.documents starts(%s, %s) : tensor<4xi32>, tensor<4xi32>
  %e = transformer.mask.lengths %n : tensor<4xi32>
  %m = transformer.mask.and %d, %e
  // expected-error @+1 {{'transformer.attention' op C10: expected numbers of the mask for 3 sequences, found 4}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>) -> tensor<1x8x?x4xf32>
  return
}

// -----

func.func @weights_c3_mask(%x: tensor<2x8x6x4xf32>, %n: tensor<3xi32>, %s: tensor<2x8x6xf32>) {
  %m = transformer.mask.lengths %n : tensor<3xi32>
  // expected-error @+1 {{'transformer.attention.weights' op C10: expected numbers of the mask for 2 sequences, found 3}}
  %w = transformer.attention.weights %x, %x, %s, %s mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6x6xf32>
  return
}
