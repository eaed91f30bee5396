//===- contract-rows-invalid.mlir - Products over rows and groups: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One broken constraint per op; errors name the constraint.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

kernel.func @contract_rows_c1(%v: !kernel.view<[16, 16], f32, panel = 16>) scalars() grid(%i = 4 by 4) {
  %n = arith.constant 16 : index
  %p = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C1: expected a row-major view of rank 2 on the right, found '!kernel.view<[16, 16], f32, panel = 16>'}}
  %c = kernel.contract_rows %p, %v[%i] rows(%n) : tensor<4x16xf32>, !kernel.view<[16, 16], f32, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_rows_c2(%v: !kernel.view<[16, 16], f32>) scalars() grid(%i = 4 by 4) {
  %n = arith.constant 16 : index
  %p = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C2: expected 4 rows, found 8}}
  %c = kernel.contract_rows %p, %v[%i] rows(%n) : tensor<4x16xf32>, !kernel.view<[16, 16], f32> -> tensor<8x16xf32>
}

// -----

kernel.func @contract_rows_c3(%v: !kernel.view<[16, 16], f16>) scalars() grid(%i = 4 by 4) {
  %n = arith.constant 16 : index
  %f = arith.constant dense<0.0> : tensor<4x16xf32>
  %p = arith.truncf %f : tensor<4x16xf32> to tensor<4x16xf16>
  // expected-error @+1 {{C3: expected the rows and weights of a number format without scales, found 'f16' and 'f16'}}
  %c = kernel.contract_rows %p, %v[%i] rows(%n) : tensor<4x16xf16>, !kernel.view<[16, 16], f16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_rows_c4(%v: !kernel.view<[16, 16], i8>) scalars() grid(%i = 4 by 4) {
  %n = arith.constant 16 : index
  %p = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C4: expected `kept` with codes of i8 that are converted, and only with them, found 'i8'}}
  %c = kernel.contract_rows %p, %v[%i] rows(%n) : tensor<4x16xf32>, !kernel.view<[16, 16], i8> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_rows_c5(%v: !kernel.view<[16, 16], bf16>) scalars() grid(%i = 4 by 4) {
  %n = arith.constant 16 : index
  %f = arith.constant dense<0.0> : tensor<4x16xf32>
  %p = arith.truncf %f : tensor<4x16xf32> to tensor<4x16xbf16>
  // expected-error @+1 {{C5: expected elements of 'f32', found 'bf16'}}
  %c = kernel.contract_rows %p, %v[%i] rows(%n) : tensor<4x16xbf16>, !kernel.view<[16, 16], bf16> -> tensor<4x16xbf16>
}

// -----

kernel.func @contract_rows_c6(%v: !kernel.view<[16, 16], f32>) scalars() grid(%i = 4 by 4) {
  %n = arith.constant 16 : index
  %p = arith.constant dense<0.0> : tensor<4x16xf32>
  %bits = arith.constant 1 : i32
  // expected-error @+1 {{C6: expected column tiles that divide 16 columns into at most 32, found 3}}
  %c = kernel.contract_rows %p, %v[%i] rows(%n) tiles(%bits by 3) : tensor<4x16xf32>, !kernel.view<[16, 16], f32> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_groups_c1(%x: !kernel.view<[4, 40], i8>, %w: !kernel.view<[16, 41], i4, panel = 16>, %s: !kernel.view<[4, 4], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C1: expected equal last dimensions}}
  %t = kernel.contract_groups %x[%i], %w[%i] scales(%s : !kernel.view<[4, 4], f32>) : !kernel.view<[4, 40], i8>, !kernel.view<[16, 41], i4, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_groups_c2(%x: !kernel.view<[4, 40], i8>, %w: !kernel.view<[16, 40], i8, panel = 16>, %s: !kernel.view<[4, 1], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C2: expected the rows and weights of a number format whose scales enter the sums, found 'i8' and 'i8'}}
  %t = kernel.contract_groups %x[%i], %w[%i] scales(%s : !kernel.view<[4, 1], f32>) : !kernel.view<[4, 40], i8>, !kernel.view<[16, 40], i8, panel = 16> -> tensor<4x16xi32>
}

// -----

// Two groups have four numbers.
kernel.func @contract_groups_c3(%x: !kernel.view<[4, 40], i8>, %w: !kernel.view<[16, 40], i4, panel = 16>, %s: !kernel.view<[4, 2], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C3: expected scales of f32 for the rows of '!kernel.view<[4, 40], i8>', found '!kernel.view<[4, 2], f32>'}}
  %t = kernel.contract_groups %x[%i], %w[%i] scales(%s : !kernel.view<[4, 2], f32>) : !kernel.view<[4, 40], i8>, !kernel.view<[16, 40], i4, panel = 16> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_groups_c4(%x: !kernel.view<[4, 40], i8>, %w: !kernel.view<[16, 40], i4, panel = 16>, %s: !kernel.view<[4, 4], f32>) scalars() grid(%i = 4 by 1) {
  // expected-error @+1 {{C4: expected elements of 'f32', found 'i32'}}
  %t = kernel.contract_groups %x[%i], %w[%i] scales(%s : !kernel.view<[4, 4], f32>) : !kernel.view<[4, 40], i8>, !kernel.view<[16, 40], i4, panel = 16> -> tensor<4x16xi32>
}

// -----

kernel.func @contract_common_c1(%x: !kernel.view<[16, 16], f32, panel = 16>, %y: !kernel.view<[16, 16], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xf32>
  // expected-error @+1 {{C1: expected row-major views of rank 2 and f32, found '!kernel.view<[16, 16], f32, panel = 16>'}}
  %c = kernel.contract_common %x[%i, %i], %y[%i, %i] rows(%i) onto(%t) : !kernel.view<[16, 16], f32, panel = 16>, !kernel.view<[16, 16], f32> -> tensor<4x16xf32>
}

// -----

kernel.func @contract_common_c2(%x: !kernel.view<[16, 16], f32>) scalars() grid(%i = 4 by 4) {
  %t = arith.constant dense<0.0> : tensor<4x16xbf16>
  // expected-error @+1 {{C2: expected elements of 'f32', found 'bf16'}}
  %c = kernel.contract_common %x[%i, %i], %x[%i, %i] rows(%i) onto(%t) : !kernel.view<[16, 16], f32>, !kernel.view<[16, 16], f32> -> tensor<4x16xbf16>
}
