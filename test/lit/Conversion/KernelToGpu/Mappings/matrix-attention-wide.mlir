//===- matrix-attention-wide.mlir - Attention of wide heads through matrix units ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention on matrix units at level 2, with heads of 128 features in f16.

// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 --canonicalize --cse --finish-spirv=level=2-16x16x16 --check-dialects=allowed=spirv

// Heads of 128 features: queries stay in workgroup memory, keys and values are staged in halves of
// a chunk, and a matrix of queries is multiplied by two matrices of keys.
// CHECK-LABEL: module @wide
// CHECK: spirv.FConvert %{{.*}} : vector<4xf32> to vector<4xf16>
// CHECK: spirv.ControlBarrier
// CHECK-NOT: spirv.KHR.CooperativeMatrixLoad
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-8: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-32: spirv.Store "Workgroup" %{{.*}} : f32
// CHECK-NOT: spirv.Load "StorageBuffer"
// CHECK: spirv.ControlBarrier
// CHECK: %[[Q:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
// CHECK: %[[K0:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// CHECK: spirv.KHR.CooperativeMatrixMulAdd %[[Q]], %[[K0]], %[[NONE:[0-9]+]]
// CHECK: %[[K1:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// CHECK: spirv.KHR.CooperativeMatrixMulAdd %[[Q]], %[[K1]], %[[NONE]]
// CHECK-COUNT-14: spirv.KHR.CooperativeMatrixMulAdd
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixStore
// The second half of the keys overwrites the first.
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-16: spirv.KHR.CooperativeMatrixMulAdd
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixStore
// CHECK: spirv.GroupNonUniformShuffleXor
// Values of 16 keys: eight matrices for one matrix of weights.
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
// CHECK-COUNT-8: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// Keys after the last are copies of it, even if the last key is in the first half.
// CHECK: %[[SOME:.*]] = arith.maxsi %{{.*}}, %{{.*}} : i32
// CHECK-NEXT: %[[BEHIND:.*]] = arith.subi %[[SOME]], %c32{{.*}} : i32
// CHECK-NEXT: arith.subi %[[BEHIND]], %c1{{.*}} : i32
// CHECK-NEXT: arith.muli
// After the loop, sums are exchanged through the strip in parts of a chunk's columns.
// CHECK-COUNT-8: spirv.FAdd %{{.*}} : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK: spirv.ControlBarrier <Workgroup>
// CHECK-COUNT-4: spirv.KHR.CooperativeMatrixStore
// CHECK: spirv.ControlBarrier <Workgroup>
// CHECK: spirv.ControlBarrier <Workgroup>
// CHECK-COUNT-4: spirv.KHR.CooperativeMatrixStore
// CHECK-NOT: spirv.KHR.CooperativeMatrixStore
kernel.func @wide(%q: !kernel.view<[d0, 128], f32>, %k: !kernel.view<[d1, 128], f16, panel = 16>, %v: !kernel.view<[d1, 128], f16>, %y: !kernel.view<[d0, 128], f32>)
    scalars(d0, d1) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = matrix_attention, threads = [32, 2]>, storage = [#kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<memory>]} {
  %zero = arith.constant 0 : index
  %step = arith.constant 64 : index
  %one = arith.constant dense<1.0> : tensor<32x1xf32>
  %lowest = arith.constant dense<-1.0e+36> : tensor<32x1xf32>
  %none = arith.constant dense<0.0> : tensor<32x1xf32>
  %empty = arith.constant dense<0.0> : tensor<32x128xf32>
  %unit = arith.constant dense<1.0> : tensor<32x64xf32>
  %d0 = kernel.scalar "d0" : index
  %d1 = kernel.scalar "d1" : index
  %r:3 = scf.for %from = %zero to %d1 step %step iter_args(%a = %empty, %m = %lowest, %l = %none) -> (tensor<32x128xf32>, tensor<32x1xf32>, tensor<32x1xf32>) {
    %left = arith.subi %d1, %from : index
    %count = arith.minsi %left, %step : index
    %t = kernel.contract %q[%i], %k[%from] columns(%count) from(%zero) : !kernel.view<[d0, 128], f32>, !kernel.view<[d1, 128], f16, panel = 16> -> tensor<32x64xf32>
    %n = math.roundeven %t : tensor<32x64xf32>
    %top = kernel.reduce max %n : tensor<32x64xf32> -> tensor<32x1xf32>
    %tops = kernel.broadcast %top : tensor<32x1xf32> -> tensor<32x64xf32>
    %d = arith.subf %n, %tops : tensor<32x64xf32>
    %p = kernel.scaleb %unit by %d : tensor<32x64xf32>
    %sum = kernel.reduce add %p : tensor<32x64xf32> -> tensor<32x1xf32>
    %w = kernel.contract_rows %p, %v[%from] rows(%count) from(%zero) {guarded} : tensor<32x64xf32>, !kernel.view<[d1, 128], f16> -> tensor<32x128xf32>
    %both = arith.maxnumf %m, %top : tensor<32x1xf32>
    %x = arith.subf %m, %both : tensor<32x1xf32>
    %fx = kernel.scaleb %one by %x : tensor<32x1xf32>
    %z = arith.subf %top, %both : tensor<32x1xf32>
    %fz = kernel.scaleb %one by %z : tensor<32x1xf32>
    %bx = kernel.broadcast %fx : tensor<32x1xf32> -> tensor<32x128xf32>
    %ax = arith.mulf %a, %bx : tensor<32x128xf32>
    %bz = kernel.broadcast %fz : tensor<32x1xf32> -> tensor<32x128xf32>
    %wz = arith.mulf %w, %bz : tensor<32x128xf32>
    %an = arith.addf %ax, %wz : tensor<32x128xf32>
    %lx = arith.mulf %l, %fx : tensor<32x1xf32>
    %sz = arith.mulf %sum, %fz : tensor<32x1xf32>
    %ln = arith.addf %lx, %sz : tensor<32x1xf32>
    scf.yield %an, %both, %ln : tensor<32x128xf32>, tensor<32x1xf32>, tensor<32x1xf32>
  }
  %bl = kernel.broadcast %r#2 : tensor<32x1xf32> -> tensor<32x128xf32>
  %o = arith.divf %r#0, %bl : tensor<32x128xf32>
  %rows = arith.subi %d0, %i : index
  kernel.store %o, %y[%i, %zero] rows(%rows) : tensor<32x128xf32>, !kernel.view<[d0, 128], f32>
}
