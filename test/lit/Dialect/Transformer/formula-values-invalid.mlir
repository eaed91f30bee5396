//===- formula-values-invalid.mlir - Tables and results of formulas: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of scores, lookups in tables, and the value that a formula returns.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @bias_where_c3_op() {
  // expected-error @+1 {{'transformer.bias.where' op C3: expected ops of formulas on i1, i32 and f32, found 'math.sin' on 'f32'}}
  %m = transformer.bias.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %x = arith.sitofp %j : i32 to f32
    %y = math.sin %x : f32
    transformer.yield %y : f32
  }
  return
}

// -----

func.func @bias_where_c4_float(%t: f32) {
  // expected-error @+1 {{'transformer.bias.where' op C4: expected i32 numbers and loaded tables from outside the region, found a value of 'f32'}}
  %m = transformer.bias.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    transformer.yield %t : f32
  }
  return
}

// -----

func.func @mask_load_c1(%t: tensor<?xi32>) {
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    // expected-error @+1 {{'transformer.mask.load' op C1: expected 1 indices, one a dimension of the table, found 2}}
    %y = transformer.mask.load %t[%j, %i] : tensor<?xi32>
    %c = arith.cmpi eq, %y, %i : i32
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_load_c2(%t: tensor<?x?xi32>) {
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    // expected-error @+1 {{'transformer.mask.load' op C2: expected the region's first argument, the sequence, as the first of two indices}}
    %y = transformer.mask.load %t[%i, %j] : tensor<?x?xi32>
    %c = arith.cmpi eq, %y, %i : i32
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_load_c3_float(%t: tensor<?xf32>) {
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    // expected-error @+1 {{'transformer.mask.load' op C3: expected a table of i32 in a mask, found 'tensor<?xf32>'}}
    %y = transformer.mask.load %t[%j] : tensor<?xf32>
    %c = arith.cmpi eq, %i, %i : i32
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_yield_c1() {
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %f = arith.constant 1.0 : f32
    // expected-error @+1 {{'transformer.yield' op C1: expected i1, found 'f32'}}
    transformer.yield %f : f32
  }
  return
}

// -----

func.func @bias_yield_c1() {
  %m = transformer.bias.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %c = arith.cmpi eq, %i, %j : i32
    // expected-error @+1 {{'transformer.yield' op C1: expected f32, found 'i1'}}
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_load_parent(%t: tensor<?xi32>, %x: i32) {
  // expected-error @+1 {{'transformer.mask.load' op expects parent op to be one of 'transformer.mask.where, transformer.bias.where'}}
  %y = transformer.mask.load %t[%x] : tensor<?xi32>
  return
}
