//===- staged.mlir - Blocks of k in workgroup memory -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With `kblock` all invocations load a block of both sides, write it to workgroup memory when all have read the last
// one, load the next, and multiply. 300 features are two blocks of 128 in a loop, and 44 behind it.

// RUN: heddle-opt %s --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: module @few
// CHECK-DAG: !spirv.array<512 x vector<4xf32>>, Workgroup
// CHECK-DAG: !spirv.array<264 x vector<4xf32>>, Workgroup
// CHECK-COUNT-6: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: scf.for
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-6: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK-NEXT: spirv.ControlBarrier
// CHECK: spirv.Load "StorageBuffer"
// CHECK: scf.for
// CHECK: spirv.Load "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: math.fma
// CHECK: spirv.Load "StorageBuffer"
// CHECK: spirv.ControlBarrier
// CHECK: spirv.Store "Workgroup"
// CHECK: spirv.ControlBarrier
// CHECK: math.fma
kernel.func @few(%x: !kernel.view<[d0, 300], f32>, %w: !kernel.view<[32, 300], f32, panel = 16>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 8, %j = 32 by 16) attributes {few_rows = "d0", schedule = #kernel.schedule<order = rows_outside, kblock = 128, threads = [8, 16]>} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 300], f32>, !kernel.view<[32, 300], f32, panel = 16> -> tensor<8x16xf32>
  kernel.store %c, %y[%i, %j] : tensor<8x16xf32>, !kernel.view<[d0, 32], f32>
}
