//===- formulas-invalid.mlir - Formulas and score rules: invalid ops -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Invalid formulas: ops that are not defined for all operands, loads and yields of
// the wrong kind, inconsistent tables of buckets.

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

// -----

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

// -----

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
