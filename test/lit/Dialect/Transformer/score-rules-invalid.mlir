//===- score-rules-invalid.mlir - Score rules: invalid ops ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that add to scores: sizes, buckets, and rules that leave their block.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @bias_alibi_c3_factor(%x: tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32> {
  // expected-error @+1 {{'transformer.bias.alibi' op C3: expected a finite factor above 0, found 0}}
  %s = transformer.bias.alibi {factor = 0.0 : f32}
  %y = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32}
     : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return %y : tensor<2x8x6x4xf32>
}

// -----

func.func @bias_alibi_c1_mask(%x: tensor<2x8x6x4xf32>) -> !transformer.bias {
  // expected-error @+1 {{'transformer.bias.alibi' op C1: expected only score rules and attention to use a score rule, found 'func.return'}}
  %s = transformer.bias.alibi
  return %s : !transformer.bias
}

// -----

func.func @bias_add_c1_argument(%s: !transformer.bias) {
  // expected-error @+1 {{'transformer.bias.add' op C1: expected a score rule made by a score rule op of the same block, found another value}}
  %n = transformer.bias.add %s, %s
  return
}

// -----

func.func @bias_relative_c3_buckets(%t: tensor<1x8xf32>) {
  // expected-error @+1 {{'transformer.bias.relative' op C3: expected a table of at least 2 rows, one a bucket, found 1}}
  %s = transformer.bias.relative %t max_distance = 128 : tensor<1x8xf32>
  return
}

// -----

func.func @bias_relative_c3_odd(%t: tensor<31x8xf32>) {
  // expected-error @+1 {{'transformer.bias.relative' op C3: expected a table of an even number of rows, at least 4, one a bucket, found 31}}
  %s = transformer.bias.relative %t max_distance = 128 {bidirectional} : tensor<31x8xf32>
  return
}

// -----

func.func @bias_relative_c4_distance(%t: tensor<32x8xf32>) {
  // expected-error @+1 {{'transformer.bias.relative' op C4: expected max_distance above 16 and below 1073741824, found 16}}
  %s = transformer.bias.relative %t max_distance = 16 : tensor<32x8xf32>
  return
}

// -----

func.func @bias_distance_c2_columns(%t: tensor<?x8x?x7xf32>) {
  // expected-error @+1 {{'transformer.bias.distance' op C2: expected an even number of columns in table, found 7}}
  %s = transformer.bias.distance %t : tensor<?x8x?x7xf32>
  return
}

// -----

func.func @bias_distance_c3_keys(%q: tensor<?x8x4x8xf32>, %k: tensor<?x8x6x8xf32>, %t: tensor<?x8x4x8xf32>) {
  %s = transformer.bias.distance %t {of_keys} : tensor<?x8x4x8xf32>
  // expected-error @+1 {{'transformer.attention' op C12: expected dimension 2 of the table of distances (keys) to be 6, found 4}}
  %y = transformer.attention %q, %k, %k bias(%s) {scale = 1.0 : f32}
     : (tensor<?x8x4x8xf32>, tensor<?x8x6x8xf32>, tensor<?x8x6x8xf32>) -> tensor<?x8x4x8xf32>
  return
}

// -----

func.func @bias_distance_c3_heads(%q: tensor<?x8x4x8xf32>, %t: tensor<?x4x4x8xf32>) {
  %s = transformer.bias.distance %t : tensor<?x4x4x8xf32>
  // expected-error @+1 {{'transformer.attention' op C12: expected dimension 1 of the table of distances (heads) to be 8, found 4}}
  %y = transformer.attention %q, %q, %q bias(%s) {scale = 1.0 : f32}
     : (tensor<?x8x4x8xf32>, tensor<?x8x4x8xf32>, tensor<?x8x4x8xf32>) -> tensor<?x8x4x8xf32>
  return
}

// -----

func.func @bias_dense_c2_rank(%t: tensor<?x?xf32>) {
  // expected-error @+1 {{'transformer.bias.dense' op C2: expected table of rank 4 [batch|1, heads|1, queries|1, keys|1], found rank 2}}
  %s = transformer.bias.dense %t : tensor<?x?xf32>
  return
}
