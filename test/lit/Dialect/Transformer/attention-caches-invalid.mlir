//===- attention-caches-invalid.mlir - Documents and caches that do not fit their attention ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraints C16, C17 and C19: uses of packed documents, and offsets that the number of keys does
// not imply.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

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
