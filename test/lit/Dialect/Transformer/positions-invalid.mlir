//===- positions-invalid.mlir - Positions: invalid ops -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @position_sinusoidal_c1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'transformer.position.sinusoidal' op C1: expected input of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.position.sinusoidal %x : tensor<?x8xf32>
  return
}

// -----

func.func @position_sinusoidal_c2_rank(%x: tensor<1x?x8xf32>, %s: tensor<1x?xi32>) {
  // expected-error @+1 {{'transformer.position.sinusoidal' op C2: expected documents as a vector of starts, found rank 2}}
  %y = transformer.position.sinusoidal %x documents(%s : tensor<1x?xi32>) : tensor<1x?x8xf32>
  return
}

// -----

func.func @position_sinusoidal_c2_both(%x: tensor<1x?x8xf32>, %s: tensor<?xi32>, %n: i32) {
  // expected-error @+1 {{'transformer.position.sinusoidal' op C2: expected documents or an offset, found both}}
  %y = transformer.position.sinusoidal %x offset(%n : i32) documents(%s : tensor<?xi32>) : tensor<1x?x8xf32>
  return
}

// -----

func.func @learned_c1_rank(%x: tensor<?x8xf32>, %t: tensor<5x8xf32>) {
  // expected-error @+1 {{'transformer.position.learned' op C1: expected input of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.position.learned %x, %t : tensor<?x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @learned_c2_columns(%x: tensor<?x?x8xf32>, %t: tensor<5x7xf32>) {
  // expected-error @+1 {{'transformer.position.learned' op C2: expected columns of table equal to features of input 8, found 7}}
  %y = transformer.position.learned %x, %t : tensor<?x?x8xf32>, tensor<5x7xf32>
  return
}

// -----

func.func @learned_c3_both(%x: tensor<1x?x8xf32>, %t: tensor<5x8xf32>, %n: i32, %s: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.position.learned' op C3: expected documents or an offset, found both}}
  %y = transformer.position.learned %x, %t offset(%n : i32) documents(%s : tensor<?xi32>) : tensor<1x?x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @learned_c4_rows(%x: tensor<?x6x8xf32>, %t: tensor<5x8xf32>) {
  // expected-error @+1 {{'transformer.position.learned' op C4: expected at most 5 rows, which the table has, found 6}}
  %y = transformer.position.learned %x, %t : tensor<?x6x8xf32>, tensor<5x8xf32>
  return
}
