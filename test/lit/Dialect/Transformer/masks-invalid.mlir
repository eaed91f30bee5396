//===- masks-invalid.mlir - Masks: invalid ops ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks of a wrong rank, masks that leave their block, and unsupported ops.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @mask_dense_c2_rank(%t: tensor<?x?xi1>) {
  // expected-error @+1 {{'transformer.mask.dense' op C2: expected table of rank 4 [batch|1, heads|1, queries|1, keys|1], found rank 2}}
  %m = transformer.mask.dense %t : tensor<?x?xi1>
  return
}

// -----

func.func @mask_dense_element(%t: tensor<1x1x?x?xf32>) {
  // expected-error @+1 {{'transformer.mask.dense' op operand #0 must be ranked tensor of 1-bit signless integer values}}
  %m = transformer.mask.dense %t : tensor<1x1x?x?xf32>
  return
}

// -----

func.func @mask_lengths_rank(%t: tensor<?x?xi32>) {
  // expected-error @+1 {{'transformer.mask.lengths' op operand #0 must be 1D tensor of 32-bit signless integer values}}
  %m = transformer.mask.lengths %t : tensor<?x?xi32>
  return
}

// -----

func.func @mask_causal_offset_type(%n: i64) {
  // expected-error @+1 {{'transformer.mask.causal' op operand #0 must be i32 or tensor<?xi32>}}
  %m = transformer.mask.causal offset(%n : i64)
  return
}

// -----

func.func @mask_causal_c1_returned() -> !transformer.mask {
  // expected-error @+1 {{'transformer.mask.causal' op C1: expected only masks and attention to use a mask, found 'func.return'}}
  %m = transformer.mask.causal
  return %m : !transformer.mask
}

// -----

func.func @mask_not_c1_argument(%m: !transformer.mask) {
  // expected-error @+1 {{'transformer.mask.not' op C1: expected a mask made by a mask op of the same block, found another value}}
  %n = transformer.mask.not %m
  return
}

// -----

func.func @mask_and_c1_argument(%m: !transformer.mask) {
  // expected-error @+1 {{'transformer.mask.and' op C1: expected a mask made by a mask op of the same block, found another value}}
  %n = transformer.mask.and %m, %m
  return
}

// -----

func.func @mask_lengths_c1_other_block(%c: i1, %n: tensor<?xi32>, %x: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  // expected-error @+1 {{'transformer.mask.lengths' op C1: expected a mask to be used in its own block, found a use in another}}
  %m = transformer.mask.lengths %n : tensor<?xi32>
  %r = scf.if %c -> tensor<?x2x?x4xf32> {
    %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
    scf.yield %o : tensor<?x2x?x4xf32>
  } else {
    scf.yield %x : tensor<?x2x?x4xf32>
  }
  return %r : tensor<?x2x?x4xf32>
}

// -----

func.func @mask_window_c2_before() {
  // expected-error @+1 {{'transformer.mask.window' op C2: expected before of at least 0 and below 2147483648, found -1}}
  %m = transformer.mask.window before = -1 after = 0
  return
}

// -----

func.func @mask_window_c2_after() {
  // expected-error @+1 {{'transformer.mask.window' op C2: expected after of at least 0 and below 2147483648, found 2147483648}}
  %m = transformer.mask.window before = 0 after = 2147483648
  return
}

// -----

func.func @mask_prefix_rank(%t: tensor<?x?xi32>) {
  // expected-error @+1 {{'transformer.mask.prefix' op operand #0 must be 1D tensor of 32-bit signless integer values}}
  %m = transformer.mask.prefix %t : tensor<?x?xi32>
  return
}

// -----

func.func @mask_or_c1_argument(%m: !transformer.mask) {
  // expected-error @+1 {{'transformer.mask.or' op C1: expected a mask made by a mask op of the same block, found another value}}
  %n = transformer.mask.or %m, %m
  return
}

// -----

func.func @mask_where_c1_returned() -> !transformer.mask {
  // expected-error @+1 {{'transformer.mask.where' op C1: expected only masks and attention to use a mask, found 'func.return'}}
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %c = arith.cmpi sle, %j, %i : i32
    transformer.yield %c : i1
  }
  return %m : !transformer.mask
}

// -----

func.func @not_built_scan(%x: tensor<?x2x?x4xf32>) {
  // expected-error @+1 {{'transformer.scan' is not supported yet or misspelt, the nearest op is 'transformer.scale'}}
  %m = transformer.scan %x : tensor<?x2x?x4xf32>
  return
}

// -----

func.func @unknown() {
  // expected-error @+1 {{'transformer.mask.casual' is not supported yet or misspelt, the nearest op is 'transformer.mask.causal'}}
  %m = transformer.mask.casual
  return
}
