//===- int8-matrices.mlir - Products of matrices of bytes ------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Five or more rows are summed before the register tiles run: pairs of matrices of rows and of
// columns, then the remainder of both. Features after whole matrices are added in a second pass.
// Register tiles read the sums. Fewer rows are multiplied without the matrix unit.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4-amx --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @codes(
// CHECK-DAG: %[[SUMS:.*]] = llvm.alloca {{.*}} x f32
// CHECK-DAG: %[[SHAPES:.*]] = llvm.alloca {{.*}} x i8
// CHECK: %[[MANY:.*]] = arith.cmpi sge, %{{.*}}, %c5_i64
// CHECK: scf.if %[[MANY]] {
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[SHAPES]])
// Two by two matrices, with sums that start at zero.
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK: scf.for {{.*}} %c0_i64 to %c128_i64 step %c64_i64
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK-NOT: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// The second pass continues the sums with the remaining 16 features, including padding.
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"(%c3_i8,
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK: scf.if %[[MANY]]
// CHECK: llvm.load {{.*}} -> vector<16xi32>
// CHECK: else
// CHECK: llvm.x86.avx512.vpdpbusd.512
kernel.func @codes(%x: !kernel.view<[d0, 136], i8>, %w: !kernel.view<[112, 136], i8, panel = 16>, %y: !kernel.view<[d0, 112], f32>)
    scalars(d0) grid(%i = d0 by 96, %j = 112 by 48) {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 136], i8>, !kernel.view<[112, 136], i8, panel = 16> -> tensor<96x48xi32>
  %f = arith.sitofp %c : tensor<96x48xi32> to tensor<96x48xf32>
  kernel.store %f, %y[%i, %j] : tensor<96x48xf32>, !kernel.view<[d0, 112], f32>
}
