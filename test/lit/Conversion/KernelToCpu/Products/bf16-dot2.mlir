//===- bf16-dot2.mlir - Products of bf16 by one instruction ----*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With vdpbf16ps, a word of two elements is one product. This includes two rows of a view that are
// interleaved when they are loaded. The guarded chain after a non-finite sum checks each half.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4-bf16 --cse | FileCheck %s

// CHECK-LABEL: func.func @features(
// CHECK-NOT: math.fma
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-NOT: math.fma
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"
kernel.func @features(%x: !kernel.view<[d0, 64], bf16>, %w: !kernel.view<[64, 64], bf16, panel = 16>, %y: !kernel.view<[d0, 64], bf16>)
    scalars(d0) grid(%i = d0 by 96, %j = 64 by 64) {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 64], bf16>, !kernel.view<[64, 64], bf16, panel = 16> -> tensor<96x64xf32>
  %r = arith.truncf %c : tensor<96x64xf32> to tensor<96x64xbf16>
  kernel.store %r, %y[%i, %j] : tensor<96x64xbf16>, !kernel.view<[d0, 64], bf16>
}

// Rows of values are interleaved once, before the loop over rows.
// CHECK-LABEL: func.func @keys(
// CHECK: scf.if
// CHECK: vector.shuffle {{.*}} [0, 16, 1, 17,
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// The last of an odd number of rows is processed alone.
// CHECK: arith.extui %{{.*}} : vector<16xi16> to vector<16xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK: vector.reduction <or>
// CHECK: math.fma
kernel.func @keys(%p: !kernel.view<[d0, 64], f32>, %v: !kernel.view<[d1, 64], bf16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0, d1) grid(%i = d0 by 96) {
  %zero = arith.constant 0 : index
  %n = kernel.scalar "d1" : index
  %t = kernel.load %p[%i, %zero] : !kernel.view<[d0, 64], f32> -> tensor<96x64xf32>
  %r = arith.truncf %t : tensor<96x64xf32> to tensor<96x64xbf16>
  %c = kernel.contract_rows %r, %v[%zero] rows(%n) {guarded} : tensor<96x64xbf16>, !kernel.view<[d1, 64], bf16> -> tensor<96x64xf32>
  kernel.store %c, %y[%i, %zero] : tensor<96x64xf32>, !kernel.view<[d0, 64], f32>
}
