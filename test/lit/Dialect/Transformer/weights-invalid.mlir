//===- weights-invalid.mlir - Weights and tables: invalid ops ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @weight_c1_dynamic() {
  // expected-error @+1 {{'transformer.weight' op C1: expected a static type, found 'tensor<?x8xf32>'}}
  %w = transformer.weight "a" : tensor<?x8xf32>
  return
}

// -----

func.func @weight_c2_no_name() {
  // expected-error @+1 {{'transformer.weight' op C2: expected the name of a tensor, found an empty one}}
  %w = transformer.weight "" : tensor<8xf32>
  return
}

// -----

func.func @embedding_c1_features(%i: tensor<?x?xi32>, %t: tensor<10x8xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C1: dimension 2 of the result: expected 8 in [?, ?, 8], found [?, ?, 7]}}
  %e = transformer.embedding %i, %t : (tensor<?x?xi32>, tensor<10x8xf32>) -> tensor<?x?x7xf32>
  return
}

// -----

func.func @embedding_c1_rank(%i: tensor<?xi32>, %t: tensor<10x8xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C1: the result: expected rank 2 [?, 8], found rank 3 [?, ?, 8]}}
  %e = transformer.embedding %i, %t : (tensor<?xi32>, tensor<10x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

func.func @embedding_c2_padding(%i: tensor<?xi32>, %t: tensor<10x8xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C2: expected padding_id below the 10 rows of the table, found 10}}
  %e = transformer.embedding %i, %t {padding_id = 10 : i64} : (tensor<?xi32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_ids_type(%i: tensor<?xf32>, %t: tensor<10x8xf32>) {
  // expected-error @+1 {{'transformer.embedding' op operand #0 must be ranked tensor of 32-bit signless integer values}}
  %e = transformer.embedding %i, %t : (tensor<?xf32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_c3_none(%ids: tensor<?xi32>, %table: tensor<10x8xi8>) {
  // expected-error @+1 {{'transformer.embedding' op C3: expected scales of a table of 'i8', found none}}
  %e = transformer.embedding %ids, %table : (tensor<?xi32>, tensor<10x8xi8>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_c3_some(%ids: tensor<?xi32>, %table: tensor<10x8xbf16>, %s: tensor<2x10xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C3: expected no scales of a table of 'bf16', found some}}
  %e = transformer.embedding %ids, %table scales(%s) : (tensor<?xi32>, tensor<10x8xbf16>, tensor<2x10xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_c3_groups(%ids: tensor<?xi32>, %table: tensor<10x8xsi6>, %s: tensor<2x10xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C3: expected no scales of a table of 'si6', found some}}
  %e = transformer.embedding %ids, %table scales(%s) : (tensor<?xi32>, tensor<10x8xsi6>, tensor<2x10xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_c3_shape(%ids: tensor<?xi32>, %table: tensor<10x8xi8>, %s: tensor<1x10xf32>) {
  // expected-error @+1 {{'transformer.embedding' op C3: dimension 0 of scales: expected 2 in [2, 10], found [1, 10]}}
  %e = transformer.embedding %ids, %table scales(%s) : (tensor<?xi32>, tensor<10x8xi8>, tensor<1x10xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_of_indices(%ids: tensor<?xi32>, %table: tensor<10x8xi32>) {
  // expected-error @+1 {{'transformer.embedding' op operand #1 must be static matrix of f32, bf16, f16, i8, i4, si8 or si6}}
  %e = transformer.embedding %ids, %table : (tensor<?xi32>, tensor<10x8xi32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @weight_c3_stored() {
  // expected-error @+1 {{'transformer.weight' op C3: expected stored with the elements of 'tensor<6x8xf32>', found [6, 8, 3]}}
  %w = transformer.weight "w" {stored = array<i64: 6, 8, 3>} : tensor<6x8xf32>
  return
}
