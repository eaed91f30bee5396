//===- formulas-invalid.mlir - Formulas of masks: invalid ops ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A formula has its arguments, and ops on numbers of i32, f32 and i1 alone.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @mask_where_c2_arguments() {
  // expected-error @+1 {{'transformer.mask.where' op C2: expected 4 arguments (b, h, i, j), found 3}}
  %m = transformer.mask.where {
  ^bb0(%h: i32, %i: i32, %j: i32):
    %c = arith.cmpi sle, %j, %i : i32
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_where_c2_types() {
  // expected-error @+1 {{'transformer.mask.where' op C2: expected arguments of i32, found 'index' for argument 3}}
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: index):
    %c = arith.cmpi sle, %h, %i : i32
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_where_c3_wide() {
  // expected-error @+1 {{'transformer.mask.where' op C3: expected ops of formulas on i1 and i32, found 'arith.extsi' on 'i32'}}
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %x = arith.extsi %j : i32 to i64
    %y = arith.extsi %i : i32 to i64
    %c = arith.cmpi sle, %x, %y : i64
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_where_c3_narrow_sum() {
  // expected-error @+1 {{'transformer.mask.where' op C3: expected ops of formulas on i1 and i32, found 'arith.addi' on 'i8'}}
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %x = arith.trunci %j : i32 to i8
    %y = arith.addi %x, %x : i8
    %c = arith.trunci %y : i8 to i1
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_where_c3_unsigned() {
  // expected-error @+1 {{'transformer.mask.where' op C3: expected ops of formulas on i1 and i32, found 'arith.remui' on 'i32'}}
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %x = arith.remui %j, %i : i32
    %c = arith.cmpi sle, %x, %i : i32
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_where_c3_float() {
  // expected-error @+1 {{'transformer.mask.where' op C3: expected ops of formulas on i1 and i32, found 'arith.sitofp' on 'i32'}}
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %x = arith.sitofp %j : i32 to f32
    %c = arith.cmpf oeq, %x, %x : f32
    transformer.yield %c : i1
  }
  return
}

// -----

func.func @mask_where_c3_region() {
  // expected-error @+1 {{'transformer.mask.where' op C3: expected ops of formulas on i1 and i32, found 'scf.execute_region' on 'i1'}}
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %x = scf.execute_region -> i1 {
      %c = arith.cmpi sle, %j, %i : i32
      scf.yield %c : i1
    }
    transformer.yield %x : i1
  }
  return
}

// -----

func.func @mask_where_c4_float(%t: i1) {
  // expected-error @+1 {{'transformer.mask.where' op C4: expected i32 numbers and loaded tables from outside the region, found a value of 'i1'}}
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %x = arith.cmpi sle, %j, %i : i32
    %c = arith.andi %x, %t : i1
    transformer.yield %c : i1
  }
  return
}
