//===- dropout-invalid.mlir - Dropout and its rows: invalid ops ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case for each constraint of dropout, the numbers of its rows and its scale.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @dropout_c1(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected a probability of at least 0 and below 1, found 1.000000e+00 : f32}}
  %y = transformer.dropout %x {probability = 1.0 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @documents(%x: tensor<1x?x8xf32>, %s: tensor<1x?xi32>) -> tensor<1x?x8xf32> {
  // expected-error@+1 {{C4: expected documents as a vector of starts, found rank 2}}
  %y = transformer.dropout %x documents(%s : tensor<1x?xi32>) {probability = 0.5 : f32} : tensor<1x?x8xf32>
  return %y : tensor<1x?x8xf32>
}

// -----

func.func @documents_and_key(%x: tensor<1x?x8xf32>, %s: tensor<?xi32>, %key: tensor<3xi32>, %rows: tensor<1x?x2xi32>) -> tensor<1x?x8xf32> {
  %site = arith.constant 4 : i32
  // expected-error@+1 {{C4: expected documents or a key, found both}}
  %y = transformer.dropout %x key(%key : tensor<3xi32>) rows(%rows : tensor<1x?x2xi32>) site(%site) documents(%s : tensor<?xi32>) {probability = 0.5 : f32} : tensor<1x?x8xf32>
  return %y : tensor<1x?x8xf32>
}

// -----

func.func @dropout_c2(%x: tensor<?x4xf32>, %key: tensor<3xi32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C2: expected key, rows and site together, found some of them}}
  %y = transformer.dropout %x key(%key : tensor<3xi32>) {probability = 0.5 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @dropout_c3(%x: tensor<5x4xf32>, %key: tensor<3xi32>, %rows: tensor<5x3xi32>, %s: i32) -> tensor<5x4xf32> {
  // expected-error@+1 {{C3: dimension 1 of rows: expected 2 in [5, 2], found [5, 3]}}
  %y = transformer.dropout %x key(%key : tensor<3xi32>) rows(%rows : tensor<5x3xi32>) site(%s) {probability = 0.5 : f32} : tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

func.func @row_numbers_c1(%e: tensor<?xi32>, %x: tensor<?x2x3x4xf32>) {
  // expected-error@+1 {{C1: expected like of rank 2 or 3, found rank 4}}
  %r = transformer.row_numbers %e, %x : tensor<?xi32>, tensor<?x2x3x4xf32> -> tensor<?x2x3x2xi32>
  return
}

// -----

func.func @row_numbers_c2(%e: tensor<?xi32>, %x: tensor<?x3x4xf32>) {
  // expected-error@+1 {{C2: dimension 2 of the result: expected 2 in [?, 3, 2], found [?, 3, 4]}}
  %r = transformer.row_numbers %e, %x : tensor<?xi32>, tensor<?x3x4xf32> -> tensor<?x3x4xi32>
  return
}

// -----

func.func @scale_c1(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{C1: expected a finite factor, found 0x7F800000 : f32}}
  %y = transformer.scale %x {factor = 0x7F800000 : f32} : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
