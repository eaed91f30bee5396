//===- tiles-invalid.mlir - Ops on tiles: invalid ops --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each verifier names its constraint.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

kernel.func @slice_c1(%x: !kernel.view<[4, 64], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected fewer indices than dimensions: 2, found 2}}
  %s = kernel.slice %x[%i, %i] : !kernel.view<[4, 64], f32> -> !kernel.view<[64], f32>
}

// -----

kernel.func @slice_c2(%x: !kernel.view<[4, 64], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C2: expected '!kernel.view<[64], f32>'}}
  %s = kernel.slice %x[%i] : !kernel.view<[4, 64], f32> -> !kernel.view<[32], f32>
}

// -----

kernel.func @extent_c1(%x: !kernel.view<[4, 64], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected a dimension below 2, found 2}}
  %n = kernel.extent %x, 2 : !kernel.view<[4, 64], f32>
}

// -----

kernel.func @read_c1(%x: !kernel.view<[4, 64], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected one index a dimension: 2, found 1}}
  %v = kernel.read %x[%i] : !kernel.view<[4, 64], f32> -> f32
}

// -----

kernel.func @read_c2(%x: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C2: expected 'f32', found 'i32'}}
  %v = kernel.read %x[%i] : !kernel.view<[4], f32> -> i32
}

// -----

kernel.func @load_c3(%x: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C3: expected a tile of Mx1, found 'tensor<4x16xf32>'}}
  %t = kernel.load %x[%i] as rows : !kernel.view<[4], f32> -> tensor<4x16xf32>
}

// -----

kernel.func @load_c4(%x: !kernel.view<[16, 4], f32, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C4: expected a row-major view, found one in panels}}
  %t = kernel.load %x[%i, %i] : !kernel.view<[16, 4], f32, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @gather_c1(%x: !kernel.view<[4, 16], bf16>, %r: !kernel.view<[4], i32>) scalars() grid(%i = 4 by 1) {
  %rows = kernel.load %r[%i] as rows : !kernel.view<[4], i32> -> tensor<4x1xi32>
  // expected-error @+1 {{C1: expected a narrow table in panels, found '!kernel.view<[4, 16], bf16>'}}
  %t = kernel.gather %x[%rows], %i : !kernel.view<[4, 16], bf16>, tensor<4x1xi32> -> tensor<4x16xf32>
}

// -----

kernel.func @gather_c2(%x: !kernel.view<[4, 16], f32>, %r: !kernel.view<[4], f32>) scalars() grid(%i = 4 by 1) {
  %rows = kernel.load %r[%i] as rows : !kernel.view<[4], f32> -> tensor<4x1xf32>
  // expected-error @+1 {{C2: expected rows of Mx1xi32, found 'tensor<4x1xf32>'}}
  %t = kernel.gather %x[%rows], %i : !kernel.view<[4, 16], f32>, tensor<4x1xf32> -> tensor<4x16xf32>
}

// -----

kernel.func @broadcast_c1() scalars() grid(%i = 4 by 1) {
  %t = arith.constant dense<0.0> : tensor<2x1xf32>
  // expected-error @+1 {{C1: expected dimension 0 to be 1 or 4, found 2}}
  %b = kernel.broadcast %t : tensor<2x1xf32> -> tensor<4x16xf32>
}

// -----

kernel.func @reduce_c1() scalars() grid(%i = 4 by 1) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C1: expected 'tensor<4x1xf32>'}}
  %b = kernel.reduce add %t : tensor<4x16xf32> -> tensor<4x16xf32>
}

// -----

kernel.func @scaleb_c1() scalars() grid(%i = 4 by 1) {
  %t = arith.constant dense<0> : tensor<4x16xi32>
  // expected-error @+1 {{C1: expected elements of f32, found 'tensor<4x16xi32>'}}
  %b = kernel.scaleb %t by %t : tensor<4x16xi32>
}

// -----

kernel.func @iota_c1() scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected elements of 'i32', found 'f32'}}
  %t = kernel.iota rows from %i : tensor<4x16xf32>
}

// -----

kernel.func @random_words_c1() scalars() grid(%i = 4 by 1) {
  %n = arith.constant 1 : i32
  %f = arith.constant 1.0 : f32
  // expected-error @+1 {{C1: expected counters of i32, found 'f32'}}
  %t = kernel.random_words (%f, %n, %n, %n) key(%n, %n) : (f32, i32, i32) -> tensor<4x16xi32>
}

// -----

kernel.func @random_words_c2() scalars() grid(%i = 4 by 1) {
  %n = arith.constant 1 : i32
  %r = kernel.iota rows from %i : tensor<2x1xi32>
  // expected-error @+1 {{C2: expected dimension 0 to be 1 or 4, found 2}}
  %t = kernel.random_words (%n, %r, %n, %n) key(%n, %n) : (i32, tensor<2x1xi32>, i32) -> tensor<4x16xi32>
}
