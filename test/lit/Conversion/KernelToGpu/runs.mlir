//===- runs.mlir - Elementwise ops after a product -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise ops after a product are emitted register by register rather than op by op, and a row
// is stored before the next one is computed. A bias is loaded once for all rows. Operands of a
// reduction stay in registers. Column loops are marked so that drivers do not unroll them.

// RUN: heddle-opt %s --split-input-file --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s
// RUN: heddle-opt %s --split-input-file --convert-kernel-to-gpu --canonicalize --cse --finish-spirv | FileCheck %s --check-prefix=SPIRV

// Two rows of two registers.
// CHECK-LABEL: module @epilogue
// CHECK: %[[SUMS:.*]]:4 = scf.for
// CHECK: scf.yield
// CHECK: %[[BIAS:.*]] = spirv.Load "StorageBuffer"
// CHECK: %[[BIAS2:.*]] = spirv.Load "StorageBuffer"
// CHECK-NOT: arith.addf
// CHECK: %[[A:.*]] = arith.addf %[[SUMS]]#0, %[[BIAS]]
// CHECK-NEXT: %[[B:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK-NEXT: %[[C:.*]] = arith.addf %[[SUMS]]#1, %[[BIAS2]]
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[C]], %[[C]]
// CHECK: spirv.Store "StorageBuffer" %{{.*}}, %[[B]]
// CHECK: spirv.Store "StorageBuffer" %{{.*}}, %[[D]]
// CHECK: arith.addf %[[SUMS]]#2, %[[BIAS]]
kernel.func @epilogue(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[32, 16], f32, panel = 16>, %b: !kernel.view<[32], f32>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 8) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>,
    storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%z] : !kernel.view<[d0, 16], f32>, !kernel.view<[32, 16], f32, panel = 16> -> tensor<8x32xf32>
  %t = kernel.load %b[%z] : !kernel.view<[32], f32> -> tensor<1x32xf32>
  %tb = kernel.broadcast %t : tensor<1x32xf32> -> tensor<8x32xf32>
  %s = arith.addf %c, %tb : tensor<8x32xf32>
  %q = arith.mulf %s, %s : tensor<8x32xf32>
  kernel.store %q, %y[%i, %z] : tensor<8x32xf32>, !kernel.view<[d0, 32], f32>
}

// -----

// Gathered rows, and rows that are stored to their own sequences, have this order as well. The
// second row of the table is read after the first row of the tile is stored.
// CHECK-LABEL: module @places
// CHECK: %[[SUMS:.*]]:4 = scf.for
// CHECK: scf.yield
// CHECK: %[[FIRST:.*]] = spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK-NEXT: arith.mulf %[[SUMS]]#0, %[[FIRST]]
// CHECK-NOT: #2
// CHECK: scf.if
// CHECK-COUNT-2: spirv.Store "StorageBuffer"
// CHECK: arith.mulf %[[SUMS]]#2
// CHECK: scf.if
// CHECK-COUNT-2: spirv.Store "StorageBuffer"
kernel.func @places(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[32, 16], f32, panel = 16>, %at: !kernel.view<[d0], i32>,
    %table: !kernel.view<[8, 32], f32>, %y: !kernel.view<[d0, 1, 4, 32], f32>)
    scalars(d0) grid(%i = d0 by 8) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>,
    storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<memory>]} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%z] : !kernel.view<[d0, 16], f32>, !kernel.view<[32, 16], f32, panel = 16> -> tensor<8x32xf32>
  %p = kernel.load %at[%i] as rows : !kernel.view<[d0], i32> -> tensor<8x1xi32>
  %t = kernel.gather %table[%p], %z : !kernel.view<[8, 32], f32>, tensor<8x1xi32> -> tensor<8x32xf32>
  %s = arith.mulf %c, %t : tensor<8x32xf32>
  %n = kernel.scalar "d0" : index
  %left = arith.subi %n, %i : index
  kernel.scatter %s, %y[%i, %z, %z, %z] at(%p : tensor<8x1xi32>) rows(%left) : tensor<8x32xf32>, !kernel.view<[d0, 1, 4, 32], f32>
}

// -----

// SPIRV-LABEL: spirv.module @sums
// SPIRV: spirv.mlir.loop control(DontUnroll)
kernel.func @sums(%x: !kernel.view<[d0, 256], f32>, %y: !kernel.view<[d0], f32>) scalars(d0) grid(%i = d0 by 16) {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 256], f32> -> tensor<16x256xf32>
  %s = kernel.reduce add %t : tensor<16x256xf32> -> tensor<16x1xf32>
  kernel.store_vector %s, %y[%i] : tensor<16x1xf32>, !kernel.view<[d0], f32>
}

// -----

// A loop of the body that walks a row.
// SPIRV-LABEL: spirv.module @walk
// SPIRV: spirv.mlir.loop control(DontUnroll)
kernel.func @walk(%x: !kernel.view<[d0, 64], f32>, %y: !kernel.view<[d0], f32>) scalars(d0) grid(%i = d0 by 16)
    attributes {plan = #kernel.plan<mapping = strided, tile = [16, 16], threads = [16, 4]>} {
  %z = arith.constant 0 : index
  %step = arith.constant 16 : index
  %end = arith.constant 64 : index
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %lanes = scf.for %c = %z to %end step %step iter_args(%sum = %none) -> (tensor<16x16xf32>) {
    %t = kernel.load %x[%i, %c] : !kernel.view<[d0, 64], f32> -> tensor<16x16xf32>
    %next = arith.addf %sum, %t : tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  %s = kernel.reduce add %lanes : tensor<16x16xf32> -> tensor<16x1xf32>
  kernel.store_vector %s, %y[%i] : tensor<16x1xf32>, !kernel.view<[d0], f32>
}

// -----

// A product with powers of two is exact, so its sum is a fused multiply-add. Other products are not
// fused.
// CHECK-LABEL: module @merge
// CHECK-NOT: arith.mulf %{{.*}} : vector<4xf32>
// CHECK: math.fma %{{.*}} : vector<4xf32>
// CHECK-LABEL: module @scale
// CHECK-NOT: math.fma
// CHECK: arith.mulf %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}} : vector<4xf32>
kernel.func @merge(%x: !kernel.view<[d0, 16], f32>, %y: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = strided, threads = [16, 4]>} {
  %z = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<16x1xf32>
  %a = kernel.load %x[%i, %z] : !kernel.view<[d0, 16], f32> -> tensor<16x16xf32>
  %b = kernel.load %y[%i, %z] : !kernel.view<[d0, 16], f32> -> tensor<16x16xf32>
  %m = kernel.reduce max %a : tensor<16x16xf32> -> tensor<16x1xf32>
  %n = math.roundeven %m : tensor<16x1xf32>
  %p = kernel.scaleb %one by %n : tensor<16x1xf32>
  %pb = kernel.broadcast %p : tensor<16x1xf32> -> tensor<16x16xf32>
  %s = arith.mulf %a, %pb : tensor<16x16xf32>
  %t = arith.addf %s, %b : tensor<16x16xf32>
  kernel.store %t, %y[%i, %z] : tensor<16x16xf32>, !kernel.view<[d0, 16], f32>
}
kernel.func @scale(%x: !kernel.view<[d0, 16], f32>, %y: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = strided, threads = [16, 4]>} {
  %z = arith.constant 0 : index
  %a = kernel.load %x[%i, %z] : !kernel.view<[d0, 16], f32> -> tensor<16x16xf32>
  %b = kernel.load %y[%i, %z] : !kernel.view<[d0, 16], f32> -> tensor<16x16xf32>
  %m = kernel.reduce max %a : tensor<16x16xf32> -> tensor<16x1xf32>
  %mb = kernel.broadcast %m : tensor<16x1xf32> -> tensor<16x16xf32>
  %s = arith.mulf %a, %mb : tensor<16x16xf32>
  %t = arith.addf %s, %b : tensor<16x16xf32>
  kernel.store %t, %y[%i, %z] : tensor<16x16xf32>, !kernel.view<[d0, 16], f32>
}
