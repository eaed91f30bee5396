//===- int4-matrices.mlir - Group sums by byte matrices --------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sixteen or more rows: codes are decoded into scratch, and matrices of 16 rows and 32 features
// compute the sums of a group. The sums are scaled and added to f32 sums. The next group's sums are
// computed before this group's sums are added. Register tiles read the result.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4-amx --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @nibbles(
// CHECK-DAG: %[[CODES:.*]] = llvm.alloca {{.*}} x i32
// CHECK-DAG: %[[SHAPES:.*]] = llvm.alloca {{.*}} x i8
// CHECK: %[[MANY:.*]] = arith.cmpi sge, %{{.*}}, %c16_i64
// CHECK: scf.if %[[MANY]] {
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[SHAPES]])
// Sums of a block, two by two matrices, start at zero.
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// The first of four whole groups, one matrix of rows after another.
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbsud"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbsud"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tilestored64"
// The next group's products precede the addition of this group's sums, which are read before the
// next sums are stored.
// CHECK: scf.for {{.*}} %c0_i64 to %c3_i64 step %c1_i64
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbsud"
// CHECK: arith.minsi {{.*}}, %c3_i64
// CHECK: scf.for {{.*}} %c0_i64 to %c16_i64 step %c1_i64
// CHECK: arith.sitofp {{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: math.fma
// CHECK: math.fma
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbsud"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK: scf.if %[[MANY]]
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: else
// CHECK: llvm.x86.avx512.vpdpbusd.512
kernel.func @nibbles(%x: !kernel.view<[d0, 128], i8>, %s: !kernel.view<[d0, 8], f32>, %w: !kernel.view<[64, 128], i4, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 96, %j = 64 by 64) {
  %c = kernel.contract_groups %x[%i], %w[%j] scales(%s : !kernel.view<[d0, 8], f32>) : !kernel.view<[d0, 128], i8>, !kernel.view<[64, 128], i4, panel = 16> -> tensor<96x64xf32>
  kernel.store %c, %y[%i, %j] : tensor<96x64xf32>, !kernel.view<[d0, 64], f32>
}
