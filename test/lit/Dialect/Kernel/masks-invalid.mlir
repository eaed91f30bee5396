//===- masks-invalid.mlir - Masks and tables in kernels: what is refused -===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each verifier names its constraint.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

kernel.func @mask_c1(%v: !kernel.view<[8], i32>, %w: !kernel.view<[8, 8], f32>) scalars() grid(%i = 8 by 4) {
  %s = arith.constant dense<0.0> : tensor<4x128xf32>
  %bits = arith.constant 3 : i32
  // expected-error @+1 {{'kernel.mask' op C1: expected the region to yield 'tensor<4x128xi1>'}}
  %t = kernel.mask %s tiles(%bits, %bits by 64) else -1.0 : tensor<4x128xf32> {
    %a = arith.constant dense<true> : tensor<4x64xi1>
    kernel.mask.yield %a : tensor<4x64xi1>
  }
}

// -----

kernel.func @mask_c2(%v: !kernel.view<[8], i32>, %w: !kernel.view<[8, 8], f32>) scalars() grid(%i = 8 by 4) {
  %s = arith.constant dense<0.0> : tensor<4x128xf32>
  %bits = arith.constant 3 : i32
  // expected-error @+1 {{'kernel.mask' op C2: expected column tiles that divide 128}}
  %t = kernel.mask %s tiles(%bits, %bits by 48) else -1.0 : tensor<4x128xf32> {
    %a = arith.constant dense<true> : tensor<4x128xi1>
    kernel.mask.yield %a : tensor<4x128xi1>
  }
}

// -----

kernel.func @mask_yield_parent(%v: !kernel.view<[8], i32>, %w: !kernel.view<[8, 8], f32>) scalars() grid(%i = 8 by 4) {
  %a = arith.constant dense<true> : tensor<4x64xi1>
  // expected-error @+1 {{'kernel.mask.yield' op expects parent op 'kernel.mask'}}
  kernel.mask.yield %a : tensor<4x64xi1>
}

// -----

kernel.func @lookup_c1_count(%v: !kernel.view<[8], i32>, %w: !kernel.view<[8, 8], f32>) scalars() grid(%i = 8 by 4) {
  %x = kernel.iota columns from %i : tensor<4x128xi32>
  // expected-error @+1 {{'kernel.lookup' op C1: expected an index for each of at most two dimensions, found}}
  %l = kernel.lookup %w[%x] : !kernel.view<[8, 8], f32>, tensor<4x128xi32> -> tensor<4x128xf32>
}

// -----

kernel.func @lookup_c1_shape(%v: !kernel.view<[8], i32>, %w: !kernel.view<[8, 8], f32>) scalars() grid(%i = 8 by 4) {
  %x = kernel.iota columns from %i : tensor<4x128xi32>
  // expected-error @+1 {{'kernel.lookup' op C1: expected indices 'tensor<4x64xi32>', found 'tensor<4x128xi32>'}}
  %l = kernel.lookup %v[%x] : !kernel.view<[8], i32>, tensor<4x128xi32> -> tensor<4x64xi32>
}

// -----

kernel.func @lookup_c2(%v: !kernel.view<[8], i32>, %w: !kernel.view<[8, 8], f32>) scalars() grid(%i = 8 by 4) {
  %x = kernel.iota columns from %i : tensor<4x128xi32>
  // expected-error @+1 {{'kernel.lookup' op C2: expected elements of 'i32', found 'f32'}}
  %l = kernel.lookup %v[%x] : !kernel.view<[8], i32>, tensor<4x128xi32> -> tensor<4x128xf32>
}

// -----

kernel.func @table_range_c1(%v: !kernel.view<[8], i32>, %w: !kernel.view<[8, 8], f32>) scalars() grid(%i = 8 by 4) {
  // expected-error @+1 {{'kernel.table_range' op C1: expected a vector of i32, found}}
  %low, %high = kernel.table_range %w[%i to %i] : !kernel.view<[8, 8], f32>
}
