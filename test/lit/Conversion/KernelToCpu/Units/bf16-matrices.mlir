//===- bf16-matrices.mlir - Products of matrices of bf16 -------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix unit sums every row, a single one too, and register tiles only read the sums. Whole
// matrices of 32 features precede a second pass, which ends with the last word of two features.
// Products with keys are equal to products with weights. Values are packed in pairs of rows, and the
// softmax weights of partial blocks of 32 keys are cleared.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4-amx-bf16 --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @weights(
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK: scf.for {{.*}} %c0_i64 to %c64_i64 step %c32_i64
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"(%c0_i8,
// CHECK-COUNT-5: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NOT: dpbf16ps
// CHECK: return
kernel.func @weights(%x: !kernel.view<[d0, 73], bf16>, %w: !kernel.view<[112, 73], bf16, panel = 16>, %y: !kernel.view<[d0, 112], f32>)
    scalars(d0) grid(%i = d0 by 96, %j = 112 by 48)
    attributes {storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 73], bf16>, !kernel.view<[112, 73], bf16, panel = 16> -> tensor<96x48xf32>
  kernel.store %c, %y[%i, %j] : tensor<96x48xf32>, !kernel.view<[d0, 112], f32>
}

// CHECK-LABEL: func.func @keys(
// CHECK: scf.for {{.*}} %c0_i64 to %c64_i64 step %c32_i64
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-NOT: llvm.x86.avx512bf16.dpbf16ps.512
// CHECK: return
kernel.func @keys(%x: !kernel.view<[d0, 64], bf16>, %k: !kernel.view<[d0, 64], bf16, panel = 16>, %y: !kernel.view<[d0, 48], f32>)
    scalars(d0) grid(%i = d0 by 96, %j = 48 by 48) {
  %c = kernel.contract %x[%i], %k[%j] : !kernel.view<[d0, 64], bf16>, !kernel.view<[d0, 64], bf16, panel = 16> -> tensor<96x48xf32>
  kernel.store %c, %y[%i, %j] : tensor<96x48xf32>, !kernel.view<[d0, 48], f32>
}

// CHECK-LABEL: func.func @values(
// CHECK: llvm.store %c0_i16, {{.*}} : i16, !llvm.ptr
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK: scf.for {{.*}} step %c32_i64
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK-NOT: llvm.x86.avx512bf16.dpbf16ps.512
// CHECK: return
kernel.func @values(%p: !kernel.view<[d0, 96], bf16>, %v: !kernel.view<[d1, 64], bf16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0, d1) grid(%i = d0 by 48) {
  %zero = arith.constant 0 : index
  %d1 = kernel.scalar "d1" : index
  %t = kernel.load %p[%i, %zero] : !kernel.view<[d0, 96], bf16> -> tensor<48x96xbf16>
  %c = kernel.contract_rows %t, %v[%zero] rows(%d1) {guarded} : tensor<48x96xbf16>, !kernel.view<[d1, 64], bf16> -> tensor<48x64xf32>
  kernel.store %c, %y[%i, %zero] : tensor<48x64xf32>, !kernel.view<[d0, 64], f32>
}
