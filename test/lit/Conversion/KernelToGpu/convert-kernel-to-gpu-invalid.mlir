//===- convert-kernel-to-gpu-invalid.mlir - Unsupported kernels at level 0 -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors for kernels beyond the limits of the smallest device or of the conversion.

// RUN: heddle-opt %s --split-input-file --convert-kernel-to-gpu --verify-diagnostics

// expected-error @+1 {{C5: expected storage to be memory or weight for each of 1 views, found [#kernel.storage<table>]}}
kernel.func @storage(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {storage = [#kernel.storage<table>]} {
}

// -----

// expected-error @+1 {{expected weights to be read only, found a store to argument 0}}
kernel.func @written_weight(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {storage = [#kernel.storage<weight>]} {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 16], f32> -> tensor<16x16xf32>
  kernel.store %t, %x[%i, %z] : tensor<16x16xf32>, !kernel.view<[d0, 16], f32>
}

// -----

// expected-error @+1 {{expected at most 128 invocations, found 256}}
kernel.func @invocations(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[64, 16], f32, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = blocked, threads = [16, 16]>} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%z] : !kernel.view<[d0, 16], f32>, !kernel.view<[64, 16], f32, panel = 16> -> tensor<16x64xf32>
  kernel.store %c, %y[%i, %z] : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
}

// -----

// expected-error @+1 {{expected 4, 8 or 16 invocations a row in a kernel without a contraction, found 3}}
kernel.func @across(%x: !kernel.view<[d0, 48], f32>, %y: !kernel.view<[d0, 48], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = strided, threads = [16, 3]>} {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 48], f32> -> tensor<16x48xf32>
  kernel.store %t, %y[%i, %z] : tensor<16x48xf32>, !kernel.view<[d0, 48], f32>
}

// -----

// Several groups of invocations of a row exchange sums by shuffles, which level 0 does not have.
kernel.func @quads(%x: !kernel.view<[d0, 64], f32>, %y: !kernel.view<[d0, 1], f32>) scalars(d0) grid(%i = d0 by 8) attributes {plan = #kernel.plan<mapping = strided, threads = [8, 8]>} {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 64], f32> -> tensor<8x64xf32>
  // expected-error @+1 {{expected 4 invocations a row at level 0, found 8}}
  %s = kernel.reduce add %t : tensor<8x64xf32> -> tensor<8x1xf32>
  kernel.store %s, %y[%i, %z] : tensor<8x1xf32>, !kernel.view<[d0, 1], f32>
}

// -----

// expected-error @+1 {{expected rows of tiles to divide among 8 invocations, found 12}}
kernel.func @rows(%x: !kernel.view<[d0, 16], f32>, %y: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 12) attributes {plan = #kernel.plan<mapping = strided, threads = [8, 4]>} {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 16], f32> -> tensor<12x16xf32>
  kernel.store %t, %y[%i, %z] : tensor<12x16xf32>, !kernel.view<[d0, 16], f32>
}

// -----

// 64 rows of 64 keys fill workgroup memory; their maxima exceed it.
// expected-error @+1 {{expected at most 16384 bytes of workgroup memory, found 18432}}
kernel.func @memory(%q: !kernel.view<[d0, 32], f32>, %k: !kernel.view<[d0, 32], f32, panel = 16>, %v: !kernel.view<[d0, 32], f32>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 64) attributes {plan = #kernel.plan<mapping = blocked, threads = [8, 8]>} {
  %z = arith.constant 0 : index
  %m = kernel.scalar "d0" : index
  %s = kernel.contract %q[%i], %k[%z] : !kernel.view<[d0, 32], f32>, !kernel.view<[d0, 32], f32, panel = 16> -> tensor<64x64xf32>
  %x = kernel.reduce max %s : tensor<64x64xf32> -> tensor<64x1xf32>
  %b = kernel.broadcast %x : tensor<64x1xf32> -> tensor<64x64xf32>
  %d = arith.subf %s, %b : tensor<64x64xf32>
  %o = kernel.contract_rows %d, %v[%z] rows(%m) : tensor<64x64xf32>, !kernel.view<[d0, 32], f32> -> tensor<64x32xf32>
  kernel.store %o, %y[%i, %z] : tensor<64x32xf32>, !kernel.view<[d0, 32], f32>
}

// -----

kernel.func @mixed_rows(%x: !kernel.view<[d0, 16], f32>, %y: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 16], f32> -> tensor<16x16xf32>
  // expected-error @+1 {{expected tiles of 16 rows, found 'tensor<8x16xf32>'}}
  %s = kernel.load %x[%i, %z] : !kernel.view<[d0, 16], f32> -> tensor<8x16xf32>
  kernel.store %t, %y[%i, %z] : tensor<16x16xf32>, !kernel.view<[d0, 16], f32>
}
