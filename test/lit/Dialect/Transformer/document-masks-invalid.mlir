//===- document-masks-invalid.mlir - Masks of documents and blocks: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @mask_documents_c2_ids(%q: tensor<?xi32>, %k: tensor<?x?xi32>) {
  // expected-error @+1 {{'transformer.mask.documents' op C2: expected queries of rank 2 [batch, tokens], found rank 1}}
  %m = transformer.mask.documents %q, %k : tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @mask_documents_c2_starts(%q: tensor<?xi32>, %k: tensor<?x?xi32>) {
  // expected-error @+1 {{'transformer.mask.documents' op C2: expected keys of rank 1 [documents + 1], found rank 2}}
  %m = transformer.mask.documents starts(%q, %k) : tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @mask_documents_c3_count(%q: tensor<4xi32>, %k: tensor<5xi32>) {
  // expected-error @+1 {{'transformer.mask.documents' op C3: expected as many starts of queries as of keys, found 4 and 5}}
  %m = transformer.mask.documents starts(%q, %k) : tensor<4xi32>, tensor<5xi32>
  return
}

// -----

func.func @mask_documents_c3_none(%q: tensor<0xi32>, %k: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.mask.documents' op C3: expected at least one start, found none}}
  %m = transformer.mask.documents starts(%q, %k) : tensor<0xi32>, tensor<?xi32>
  return
}

// -----

func.func @mask_documents_c8_offset(%q: tensor<?xi32>, %n: i32) {
  // expected-error @+1 {{'transformer.mask.documents' op C8: expected offset or starts, found both}}
  %m = transformer.mask.documents starts(%q, %q) offset(%n : i32) : tensor<?xi32>, tensor<?xi32>
  return
}

// -----

func.func @mask_blocks_c2_rank(%t: tensor<?x?xi1>) {
  // expected-error @+1 {{'transformer.mask.blocks' op C2: expected table of rank 4 [batch|1, heads|1, blocks of queries, blocks of keys], found rank 2}}
  %m = transformer.mask.blocks %t rows = 4 columns = 4 : tensor<?x?xi1>
  return
}

// -----

func.func @mask_blocks_c3_rows(%t: tensor<1x1x?x?xi1>) {
  // expected-error @+1 {{'transformer.mask.blocks' op C3: expected rows of at least 1 and below 1073741824, found 0}}
  %m = transformer.mask.blocks %t rows = 0 columns = 4 : tensor<1x1x?x?xi1>
  return
}
