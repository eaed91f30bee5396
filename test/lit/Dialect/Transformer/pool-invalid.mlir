//===- pool-invalid.mlir - Pooling: invalid ops --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @pool_c1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.pool' op C1: expected input of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.pool %x {kinds = [#transformer.pooling<mean>]} : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c2_lengths(%x: tensor<4x?x8xf32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{'transformer.pool' op C2: expected size of lengths equal to the batch of input 4, found 3}}
  %y = transformer.pool %x lengths(%n : tensor<3xi32>) {kinds = [#transformer.pooling<mean>]} : tensor<4x?x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @pool_c3_both(%x: tensor<1x?x8xf32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.pool' op C3: expected documents or lengths, found both}}
  %y = transformer.pool %x lengths(%n : tensor<?xi32>) documents(%n : tensor<?xi32>) {kinds = [#transformer.pooling<cls>]} : tensor<1x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c3_batch(%x: tensor<2x?x8xf32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.pool' op C3: expected packed documents in a batch of 1, found 2}}
  %y = transformer.pool %x documents(%n : tensor<?xi32>) {kinds = [#transformer.pooling<cls>]} : tensor<2x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c4_features(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.pool' op C4: dimension 1 of the result: expected 16 in [?, 16], found [?, 8]}}
  %y = transformer.pool %x {kinds = [#transformer.pooling<last>, #transformer.pooling<max>]} : tensor<?x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c5_none(%x: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'transformer.pool' op C5: expected at least one kind, found none}}
  %y = transformer.pool %x {kinds = []} : tensor<?x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_c4_result(%x: tensor<1x?x8xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{'transformer.pool' op C4: dimension 0 of the result: expected 4 in [4, 8], found [5, 8]}}
  %y = transformer.pool %x documents(%n : tensor<5xi32>) {kinds = [#transformer.pooling<last>]} : tensor<1x?x8xf32> -> tensor<5x8xf32>
  return
}
