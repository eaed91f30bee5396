//===- matrix-attention.mlir - Attention through matrix units ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention on matrix units at level 2, with heads of 32 features in f16. Four subgroups have 16
// queries each and share chunks of 64 keys. Operands and sums are exchanged through workgroup
// memory.

// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 --canonicalize --cse --finish-spirv=level=2-16x16x16 --check-dialects=allowed=spirv

// CHECK-LABEL: module @attention
// Queries are loaded as matrices before the loops: one of rows by two of features.
// CHECK: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// CHECK: %[[Q0:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
// CHECK: %[[Q1:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
// CHECK: scf.for
// CHECK: scf.for
// Keys: each of 128 invocations copies two vec4s, whose words belong to four rows.
// CHECK-COUNT-2: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-8: spirv.Store "Workgroup" %{{.*}} : f32
// CHECK-NOT: spirv.Store
// Values are loaded before keys are multiplied.
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// Scores of 16 keys at a time: two products, which are stored to the strip.
// CHECK: %[[NONE:.*]] = spirv.CompositeConstruct %{{.*}} : (f32) -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK: %[[K0:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// CHECK: %[[S0:.*]] = spirv.KHR.CooperativeMatrixMulAdd %[[Q0]], %[[K0]], %[[NONE]]
// CHECK: %[[K1:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// CHECK: %[[S1:.*]] = spirv.KHR.CooperativeMatrixMulAdd %[[Q1]], %[[K1]], %[[S0]]
// CHECK: spirv.KHR.CooperativeMatrixStore %{{.*}}, %[[S1]], %{{.*}}, <RowMajor>
// CHECK: spirv.MemoryBarrier <Subgroup>
// CHECK-COUNT-3: spirv.KHR.CooperativeMatrixStore
// CHECK-NOT: spirv.KHR.CooperativeMatrixStore
// Values overwrite keys after all subgroups have multiplied the keys.
// CHECK: spirv.ControlBarrier
// CHECK: scf.if
// CHECK-COUNT-4: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// The two invocations of a row exchange their maxima, then their sums of lanes.
// CHECK: spirv.GroupNonUniformShuffleXor
// Weights are stored to the strip as f16.
// CHECK: spirv.FConvert %{{.*}} : vector<4xf32> to vector<4xf16>
// CHECK: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// CHECK: %[[P:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
// CHECK: %[[V:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// CHECK: %[[A:.*]] = spirv.KHR.CooperativeMatrixMulAdd %[[P]], %[[V]]
// CHECK-COUNT-7: spirv.KHR.CooperativeMatrixMulAdd
// CHECK-NOT: spirv.KHR.CooperativeMatrixMulAdd
// Merge: the factors of rows are matrices with equal columns.
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK-COUNT-2: spirv.FMul %{{.*}} : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : {{.*}} -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK-COUNT-2: spirv.FMul %{{.*}} : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK-COUNT-2: spirv.FAdd %{{.*}} : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// After the loop, the two invocations of each row read its sums.
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixStore
// CHECK-NOT: spirv.KHR.CooperativeMatrixStore
// CHECK: spirv.ControlBarrier
// CHECK: spirv.Store "StorageBuffer"
kernel.func @attention(%q: !kernel.view<[d0, 32], f32>, %k: !kernel.view<[d1, 32], f16, panel = 16>, %v: !kernel.view<[d1, 32], f16>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0, d1) grid(%i = d0 by 64) attributes {plan = #kernel.plan<mapping = matrix_attention, threads = [64, 2]>, storage = [#kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<memory>]} {
  %zero = arith.constant 0 : index
  %step = arith.constant 64 : index
  %one = arith.constant dense<1.0> : tensor<64x1xf32>
  %lowest = arith.constant dense<-1.0e+36> : tensor<64x1xf32>
  %none = arith.constant dense<0.0> : tensor<64x1xf32>
  %empty = arith.constant dense<0.0> : tensor<64x32xf32>
  %unit = arith.constant dense<1.0> : tensor<64x64xf32>
  %d0 = kernel.scalar "d0" : index
  %d1 = kernel.scalar "d1" : index
  %r:3 = scf.for %from = %zero to %d1 step %step iter_args(%a = %empty, %m = %lowest, %l = %none) -> (tensor<64x32xf32>, tensor<64x1xf32>, tensor<64x1xf32>) {
    %left = arith.subi %d1, %from : index
    %count = arith.minsi %left, %step : index
    %t = kernel.contract %q[%i], %k[%from] columns(%count) from(%zero) : !kernel.view<[d0, 32], f32>, !kernel.view<[d1, 32], f16, panel = 16> -> tensor<64x64xf32>
    %n = math.roundeven %t : tensor<64x64xf32>
    %top = kernel.reduce max %n : tensor<64x64xf32> -> tensor<64x1xf32>
    %tops = kernel.broadcast %top : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %n, %tops : tensor<64x64xf32>
    %p = kernel.scaleb %unit by %d : tensor<64x64xf32>
    %sum = kernel.reduce add %p : tensor<64x64xf32> -> tensor<64x1xf32>
    %w = kernel.contract_rows %p, %v[%from] rows(%count) from(%zero) {guarded} : tensor<64x64xf32>, !kernel.view<[d1, 32], f16> -> tensor<64x32xf32>
    %both = arith.maxnumf %m, %top : tensor<64x1xf32>
    %x = arith.subf %m, %both : tensor<64x1xf32>
    %fx = kernel.scaleb %one by %x : tensor<64x1xf32>
    %z = arith.subf %top, %both : tensor<64x1xf32>
    %fz = kernel.scaleb %one by %z : tensor<64x1xf32>
    %bx = kernel.broadcast %fx : tensor<64x1xf32> -> tensor<64x32xf32>
    %ax = arith.mulf %a, %bx : tensor<64x32xf32>
    %bz = kernel.broadcast %fz : tensor<64x1xf32> -> tensor<64x32xf32>
    %wz = arith.mulf %w, %bz : tensor<64x32xf32>
    %an = arith.addf %ax, %wz : tensor<64x32xf32>
    %lx = arith.mulf %l, %fx : tensor<64x1xf32>
    %sz = arith.mulf %sum, %fz : tensor<64x1xf32>
    %ln = arith.addf %lx, %sz : tensor<64x1xf32>
    scf.yield %an, %both, %ln : tensor<64x32xf32>, tensor<64x1xf32>, tensor<64x1xf32>
  }
  %bl = kernel.broadcast %r#2 : tensor<64x1xf32> -> tensor<64x32xf32>
  %o = arith.divf %r#0, %bl : tensor<64x32xf32>
  %rows = arith.subi %d0, %i : index
  kernel.store %o, %y[%i, %zero] rows(%rows) : tensor<64x32xf32>, !kernel.view<[d0, 32], f32>
}
