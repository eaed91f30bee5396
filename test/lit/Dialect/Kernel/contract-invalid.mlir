//===- contract-invalid.mlir - Products over features: invalid ops -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One broken constraint per op; errors name the constraint.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

kernel.func @contract_c1_left(%x: !kernel.view<[4, 8], f32, panel = 16>, %w: !kernel.view<[16, 8], f32, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected a row-major view of rank 2 on the left, found '!kernel.view<[4, 8], f32, panel = 16>'}}
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], f32, panel = 16>, !kernel.view<[16, 8], f32, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c1_right(%x: !kernel.view<[4, 8], f32>, %w: !kernel.view<[16, 8], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected a view of rank 2 in panels on the right, found '!kernel.view<[16, 8], f32>'}}
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], f32>, !kernel.view<[16, 8], f32> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c1_features(%x: !kernel.view<[4, 8], f32>, %w: !kernel.view<[16, 9], f32, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected equal last dimensions}}
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], f32>, !kernel.view<[16, 9], f32, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c2(%x: !kernel.view<[4, 8], f16>, %w: !kernel.view<[16, 8], bf16, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C2: expected the rows and weights of a number format whose scales do not enter the sums, found 'f16' and 'bf16'}}
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], f16>, !kernel.view<[16, 8], bf16, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c2_groups(%x: !kernel.view<[4, 40], i8>, %w: !kernel.view<[16, 40], i4, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C2: expected the rows and weights of a number format whose scales do not enter the sums, found 'i8' and 'i4'}}
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 40], i8>, !kernel.view<[16, 40], i4, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c3_codes(%x: !kernel.view<[4, 8], f32>, %w: !kernel.view<[16, 8], i8, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C3: expected `kept` with codes of i8 that are converted, and only with them, found 'i8'}}
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], f32>, !kernel.view<[16, 8], i8, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c3_numbers(%x: !kernel.view<[4, 8], f32>, %w: !kernel.view<[16, 8], f16, panel = 16>, %e: !kernel.view<[16], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C3: expected `kept` with codes of i8 that are converted, and only with them, found 'f16'}}
  %t = kernel.contract %x[%i], %w[%i] kept(%e : !kernel.view<[16], f32>) : !kernel.view<[4, 8], f32>, !kernel.view<[16, 8], f16, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c4_codes(%x: !kernel.view<[4, 8], i8>, %w: !kernel.view<[16, 8], i8, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C4: expected elements of 'i32', found 'f32'}}
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], i8>, !kernel.view<[16, 8], i8, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c4_halves(%x: !kernel.view<[4, 8], f16>, %w: !kernel.view<[16, 8], f16, panel = 16>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C4: expected elements of 'f32', found 'f16'}}
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], f16>, !kernel.view<[16, 8], f16, panel = 16> -> tensor<4x16xf16>
}

// -----

kernel.func @contract_c5(%x: !kernel.view<[4, 8], f32>, %w: !kernel.view<[16, 8], f32, panel = 16>) scalars() grid(%i = 4 by 1) {
  %bits = arith.constant 1 : i32
  // expected-error @+1 {{C5: expected column tiles that divide 16 columns into at most 32, found 12}}
  %t = kernel.contract %x[%i], %w[%i] tiles(%bits by 12) : !kernel.view<[4, 8], f32>, !kernel.view<[16, 8], f32, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_c6(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[16, 16], f32, panel = 16>) scalars(d0) grid(%i = d0 by 32) {
  %z = arith.constant 0 : index
  // expected-error @+1 {{C6: expected products of i8 to be centered, found 'f32' and 'f32'}}
  %c = kernel.contract %x[%i], %w[%z] {centered} : !kernel.view<[d0, 16], f32>, !kernel.view<[16, 16], f32, panel = 16> -> tensor<32x16xf32>
}
