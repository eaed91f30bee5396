//===- rules-invalid.mlir - Masks and rules that do not fit their attention ===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraints C10 to C17 and C19 of attention: sizes of the tables of masks and score
// rules, uses of packed documents, and offsets that the number of keys does not imply.

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

func.func @attention_c12_dense_rule(%x: tensor<2x8x6x4xf32>, %t: tensor<2x4x6x6xf32>) {
  %s = transformer.bias.dense %t : tensor<2x4x6x6xf32>
  // expected-error @+1 {{'transformer.attention' op C12: expected dimension 1 of the dense rule (heads) to be 1 or 8, found 4}}
  %o = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c12_relative_heads(%x: tensor<2x8x6x4xf32>, %t: tensor<32x4xf32>) {
  %s = transformer.bias.relative %t max_distance = 128 : tensor<32x4xf32>
  // expected-error @+1 {{'transformer.attention' op C12: expected dimension 1 of the relative table (heads) to be 8, found 4}}
  %o = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c12_alibi_sentences(%x: tensor<2x8x6x4xf32>, %n: tensor<3xi32>) {
  %a = transformer.bias.alibi
  %d = transformer.bias.alibi offset(%n : tensor<3xi32>)
  %s = transformer.bias.add %a, %d
  // expected-error @+1 {{'transformer.attention' op C12: expected numbers of the score rule for 2 sequences, found 3}}
  %o = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c13_sinks(%x: tensor<2x8x6x4xf32>, %n: tensor<4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C13: expected 8 sinks, one a head, found 4}}
  %o = transformer.attention %x, %x, %x sinks(%n : tensor<4xf32>) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c14_softcap(%x: tensor<2x8x6x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C14: expected a finite positive softcap, found -1.000000e+00 : f32}}
  %o = transformer.attention %x, %x, %x  {scale = 1.0 : f32, softcap = -1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c15_infinite(%x: tensor<2x8x6x4xf32>) {
  %m = transformer.mask.causal
  // expected-error @+1 {{'transformer.attention' op C15: expected a finite hidden_score, found 0xFF800000 : f32}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32, hidden_score = 0xFF800000 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c15_without_mask(%x: tensor<2x8x6x4xf32>) {
  // expected-error @+1 {{'transformer.attention' op C15: expected a mask with hidden_score, found none}}
  %o = transformer.attention %x, %x, %x  {scale = 1.0 : f32, hidden_score = -1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c16_under_or(%x: tensor<1x8x?x4xf32>, %s: tensor<?xi32>) {
  %d = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  %c = transformer.mask.causal
  %m = transformer.mask.or %d, %c
  // expected-error @+1 {{'transformer.attention' op C16: expected packed documents as a conjunct of the mask, found them under transformer.mask.or or transformer.mask.not}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>) -> tensor<1x8x?x4xf32>
  return
}

// -----

func.func @attention_c16_twice(%x: tensor<1x8x?x4xf32>, %s: tensor<?xi32>, %t: tensor<?xi32>) {
  %d = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  %e = transformer.mask.documents starts(%t, %t) : tensor<?xi32>, tensor<?xi32>
  %m = transformer.mask.and %d, %e
  // expected-error @+1 {{'transformer.attention' op C16: expected packed documents once in a mask, found them 2 times}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>) -> tensor<1x8x?x4xf32>
  return
}

// -----

func.func @attention_c16_batch(%x: tensor<2x8x6x4xf32>, %s: tensor<?xi32>) {
  %m = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  // expected-error @+1 {{'transformer.attention' op C16: expected packed documents in a batch of 1, found 2}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c16_dense(%x: tensor<1x8x?x4xf32>, %s: tensor<?xi32>, %t: tensor<1x1x?x?xi1>) {
  %d = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  %e = transformer.mask.dense %t : tensor<1x1x?x?xi1>
  %m = transformer.mask.and %d, %e
  // expected-error @+1 {{'transformer.attention' op C16: expected no 'transformer.mask.dense' with packed documents, found one}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>) -> tensor<1x8x?x4xf32>
  return
}

// -----

func.func @attention_c16_dense_rule(%x: tensor<1x8x?x4xf32>, %s: tensor<?xi32>, %t: tensor<1x1x?x?xf32>) {
  %m = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  %r = transformer.bias.dense %t : tensor<1x1x?x?xf32>
  // expected-error @+1 {{'transformer.attention' op C16: expected no 'transformer.bias.dense' with packed documents, found one}}
  %o = transformer.attention %x, %x, %x mask(%m) bias(%r) {scale = 1.0 : f32} : (tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>) -> tensor<1x8x?x4xf32>
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

transformer.state @memory {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
func.func @attention_c17_state(%x: tensor<?x8x?x4xf32>) {
  %k = transformer.state.get @memory : tensor<?x8x?x4xf32>
  %m = transformer.mask.causal
  // expected-error @+1 {{'transformer.attention' op C17: expected an offset on 'transformer.mask.causal': the keys come from a state, and their number does not tell where the queries stand}}
  %o = transformer.attention %x, %k, %k mask(%m) {scale = 1.0 : f32} : (tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>) -> tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @keys {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @attention_c17_lengths(%x: tensor<?x8x1x4xf32>, %n: tensor<?xi32>) {
  %k = transformer.cache.append @keys, %x : tensor<?x8x1x4xf32> -> tensor<?x8x?x4xf32>
  %w = transformer.mask.window before = 3 after = 0
  %l = transformer.mask.lengths %n : tensor<?xi32>
  %m = transformer.mask.and %w, %l
  // expected-error @+1 {{'transformer.attention' op C17: expected an offset on 'transformer.mask.window': the keys come from a cache with a length a sequence, and their number does not tell where the queries stand}}
  %o = transformer.attention %x, %k, %k mask(%m) {scale = 1.0 : f32} : (tensor<?x8x1x4xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>) -> tensor<?x8x1x4xf32>
  return
}

// -----

transformer.state @keys {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @attention_c17_prefix(%x: tensor<?x8x1x4xf32>, %n: tensor<?xi32>) {
  %k = transformer.cache.append @keys, %x : tensor<?x8x1x4xf32> -> tensor<?x8x?x4xf32>
  %w = transformer.mask.causal
  %l = transformer.mask.prefix %n : tensor<?xi32>
  %m = transformer.mask.and %w, %l
  // expected-error @+1 {{C17: expected an offset on 'transformer.mask.causal': the keys come from a cache with a length a sequence}}
  %o = transformer.attention %x, %k, %k mask(%m) {scale = 1.0 : f32} : (tensor<?x8x1x4xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>) -> tensor<?x8x1x4xf32>
  return
}

// -----

transformer.state @keys {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @attention_c17_dense(%x: tensor<?x8x1x4xf32>, %n: tensor<?x1x1x?xi1>) {
  %k = transformer.cache.append @keys, %x : tensor<?x8x1x4xf32> -> tensor<?x8x?x4xf32>
  %w = transformer.mask.window before = 3 after = 0
  %l = transformer.mask.dense %n : tensor<?x1x1x?xi1>
  %m = transformer.mask.and %w, %l
  // expected-error @+1 {{C17: expected an offset on 'transformer.mask.window': the keys come from a cache with a length a sequence}}
  %o = transformer.attention %x, %k, %k mask(%m) {scale = 1.0 : f32} : (tensor<?x8x1x4xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xf32>) -> tensor<?x8x1x4xf32>
  return
}

// -----

func.func @statistics_c2_sinks(%x: tensor<2x8x6x4xf32>, %n: tensor<4xf32>) {
  // expected-error @+1 {{'transformer.attention.statistics' op C13: expected 8 sinks, one a head, found 4}}
  %m, %s = transformer.attention.statistics %x, %x sinks(%n : tensor<4xf32>) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6xf32>
  return
}

// -----

func.func @weights_c3_mask(%x: tensor<2x8x6x4xf32>, %n: tensor<3xi32>, %s: tensor<2x8x6xf32>) {
  %m = transformer.mask.lengths %n : tensor<3xi32>
  // expected-error @+1 {{'transformer.attention.weights' op C10: expected numbers of the mask for 2 sequences, found 3}}
  %w = transformer.attention.weights %x, %x, %s, %s mask(%m) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6x6xf32>
  return
}

// -----

func.func @attention_c17_counts(%x: tensor<2x8x6x4xf32>, %n: tensor<2xi32>) {
  %m = transformer.mask.causal
  // expected-error @+1 {{C17: expected an offset on 'transformer.mask.causal': the keys are counted for each sequence, and their number does not tell where the queries stand}}
  %o = transformer.attention %x, %x, %x mask(%m) counts(%n : tensor<2xi32>) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c19_sequences(%x: tensor<2x8x6x4xf32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{'transformer.attention' op C19: expected counts of keys for 2 sequences, found 3}}
  %o = transformer.attention %x, %x, %x counts(%n : tensor<3xi32>) {scale = 1.0 : f32} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
  return
}

// -----

func.func @attention_c19_documents(%x: tensor<1x8x?x4xf32>, %s: tensor<?xi32>, %n: tensor<1xi32>) {
  %d = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  // expected-error @+1 {{'transformer.attention' op C19: expected no packed documents with counts of keys, found them}}
  %o = transformer.attention %x, %x, %x mask(%d) counts(%n : tensor<1xi32>) {scale = 1.0 : f32} : (tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>) -> tensor<1x8x?x4xf32>
  return
}
