//===- matrix-attention-bf16.mlir - Attention through matrix units in bf16 ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention on matrix units at level 2, with heads of 32 features in bf16.

// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 --canonicalize --cse --finish-spirv=level=2-16x16x16 --check-dialects=allowed=spirv

// bf16: queries are copied unchanged, without a loop that finds the maximum of each.
// CHECK-LABEL: module @narrow
// CHECK-NOT: scf.for
// CHECK-COUNT-2: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK-NOT: spirv.FConvert
// CHECK-COUNT-2: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xbf16, Subgroup, MatrixA>
// Weights are 0 from 2^-126 down: twice the number times a power whose bits are 0 there.
// CHECK: arith.addf %[[X:.*]], %[[X]] : vector<4xf32>
// CHECK: %[[LEAST:.*]] = arith.constant dense<-1.260000e+02> : vector<4xf32>
// Scores are not scaled.
// CHECK: spirv.KHR.CooperativeMatrixMulAdd {{.*}} : !spirv.coopmatrix<16x16xbf16, Subgroup, MatrixA>, !spirv.coopmatrix<16x16xbf16, Subgroup, MatrixB> -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK-NOT: spirv.FMul
// CHECK-NOT: arith.mulf
// CHECK: math.roundeven
// CHECK: arith.maxnumf %{{.*}}, %[[LEAST]] fastmath<nnan> : vector<4xf32>
// Integer ops round weights and pack two of them into a word.
// CHECK: spirv.ControlBarrier <Subgroup>
// CHECK: %[[W:.*]] = arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK: %[[LAST:.*]] = arith.andi %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK: %[[HALF:.*]] = arith.addi %[[LAST]], %{{.*}} : vector<4xi32>
// CHECK: %[[NEAR:.*]] = arith.addi %[[W]], %[[HALF]] : vector<4xi32>
// CHECK: arith.andi %[[NEAR]], %{{.*}} : vector<4xi32>
// CHECK: arith.shrui %{{.*}}, %{{.*}} : i32
// CHECK: arith.ori %{{.*}}, %{{.*}} : i32
// CHECK-NOT: spirv.FConvert
// CHECK: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xbf16, Subgroup, MatrixA>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : {{.*}} -> !spirv.coopmatrix<16x16xbf16, Subgroup, MatrixB>
kernel.func @narrow(%q: !kernel.view<[d0, 32], bf16>, %k: !kernel.view<[d1, 32], bf16, panel = 16>, %v: !kernel.view<[d1, 32], bf16>, %y: !kernel.view<[d0, 32], f32>)
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
    %t = kernel.contract %q[%i], %k[%from] columns(%count) from(%zero) : !kernel.view<[d0, 32], bf16>, !kernel.view<[d1, 32], bf16, panel = 16> -> tensor<64x64xf32>
    %n = math.roundeven %t : tensor<64x64xf32>
    %top = kernel.reduce max %n : tensor<64x64xf32> -> tensor<64x1xf32>
    %tops = kernel.broadcast %top : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %n, %tops : tensor<64x64xf32>
    %p = kernel.scaleb %unit by %d : tensor<64x64xf32>
    %sum = kernel.reduce add %p : tensor<64x64xf32> -> tensor<64x1xf32>
    %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %w = kernel.contract_rows %h, %v[%from] rows(%count) from(%zero) {guarded} : tensor<64x64xbf16>, !kernel.view<[d1, 32], bf16> -> tensor<64x32xf32>
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
