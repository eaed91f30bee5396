//===- views-invalid.mlir - Views: invalid types -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each verifier names what the type may hold.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected panels of 16, found 8}}
kernel.func @view_panel(%x: !kernel.view<[16, 4], f32, panel = 8>) scalars() grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{expected strips of 16 columns in static matrices of f32}}
kernel.func @view_strip(%x: !kernel.view<[d0, 32], f32, strip = 16>) scalars(d0) grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{expected 'i4' only in panels of a view of rank 2}}
kernel.func @view_of_nibbles(%x: !kernel.view<[4, 64], i4>) scalars() grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{expected 'bf16' only in views of rank 2 or more with a static last dimension}}
kernel.func @view_of_narrow_vector(%x: !kernel.view<[4], bf16>) scalars() grid(%i = 4 by 1) {
}

// -----

// expected-error @+1 {{expected 'i8' only in views of rank 2 or more with a static last dimension}}
kernel.func @view_of_codes(%x: !kernel.view<[4], i8>) scalars() grid(%i = 4 by 1) {
}
