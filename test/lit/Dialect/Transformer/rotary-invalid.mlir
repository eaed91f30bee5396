//===- rotary-invalid.mlir - Rotary positions: invalid ops ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a constraint, named after it; messages name the dimension.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @rotary_c4_factor(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C4: expected a finite factor above 0, found -2}}
  %y = transformer.rotary %x {factor = -2.0 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c1_base(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C1: expected a finite base of at least 1, found 0.5}}
  %y = transformer.rotary %x {base = 0.5 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c1_infinite(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C1: expected a finite base of at least 1, found inf}}
  %y = transformer.rotary %x {base = 0x7FF0000000000000 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c2_none(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C2: expected a fraction above 0 and at most 1, found 0}}
  %y = transformer.rotary %x {fraction = 0.0 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c2_more(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C2: expected a fraction above 0 and at most 1, found 1.5}}
  %y = transformer.rotary %x {fraction = 1.5 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c2_nan(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C2: expected a fraction above 0 and at most 1, found nan}}
  %y = transformer.rotary %x {fraction = 0x7FF8000000000000 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c3_odd(%x: tensor<?x2x?x7xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C3: expected an even number of rotated features, found 7, the fraction 1 of 7}}
  %y = transformer.rotary %x : tensor<?x2x?x7xf32>
  return
}

// -----

func.func @rotary_c3_nothing(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C3: expected an even number of rotated features, found 0, the fraction 0.1 of 8}}
  %y = transformer.rotary %x {fraction = 0.1 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c5_both(%x: tensor<1x2x?x8xf32>, %n: i32, %s: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.rotary' op C5: expected documents or an offset, found both}}
  %y = transformer.rotary %x offset(%n : i32) documents(%s : tensor<?xi32>) : tensor<1x2x?x8xf32>
  return
}

// -----

func.func @rotary_c4_rank(%x: tensor<1x2x?x8xf32>, %s: tensor<1x?xi32>) {
  // expected-error @+1 {{'transformer.rotary' op C5: expected documents as a vector of starts, found rank 2}}
  %y = transformer.rotary %x documents(%s : tensor<1x?xi32>) : tensor<1x2x?x8xf32>
  return
}

// -----

func.func @rotary_c6_count(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C6: expected a frequency for each of 4 pairs, found 3}}
  %y = transformer.rotary %x {frequencies = array<f64: 1.0, 0.5, 0.25>} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c6_negative(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C6: expected finite frequencies of at least 0, found -1}}
  %y = transformer.rotary %x {fraction = 0.5 : f64, frequencies = array<f64: 1.0, -1.0>} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c7_zero(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C7: expected a finite magnitude above 0, found 0}}
  %y = transformer.rotary %x {fraction = 0.25 : f64, frequencies = array<f64: 1.0>, magnitude = 0.0 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c7_alone(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C7: expected no magnitude without frequencies, found 2}}
  %y = transformer.rotary %x {magnitude = 2.0 : f64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c8_zero(%x: tensor<?x2x?x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C8: expected a length of at least 1, found 0}}
  %y = transformer.rotary %x {length = 0 : i64} : tensor<?x2x?x8xf32>
  return
}

// -----

func.func @rotary_c8_rows(%x: tensor<?x2x9x8xf32>) {
  // expected-error @+1 {{'transformer.rotary' op C8: expected at most 8 rows, which have positions, found 9}}
  %y = transformer.rotary %x {length = 8 : i64} : tensor<?x2x9x8xf32>
  return
}
