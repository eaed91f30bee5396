//===- staged.mlir - Blocks of k in workgroup memory -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With `kblock` all invocations load a block of both sides, write it to workgroup memory when all have read the last
// one, load the next, and multiply. 300 features are two blocks of 128 in a loop, and 44 behind it. Words of bf16 are
// widened as they are written, once for all invocations that multiply them, so that the inner loop is that of f32.

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

// CHECK-LABEL: module @widened
// CHECK-DAG: !spirv.array<260 x vector<4xf32>>, Workgroup
// CHECK-DAG: !spirv.array<528 x vector<4xf32>>, Workgroup
// CHECK-COUNT-3: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: scf.for
// CHECK: spirv.ControlBarrier
// CHECK: arith.shli
// CHECK-COUNT-2: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: arith.shli
// CHECK-COUNT-16: spirv.Store "Workgroup" %{{.*}} : f32
// CHECK: spirv.ControlBarrier
// CHECK-NOT: arith.shli
// CHECK-COUNT-256: math.fma
// CHECK: scf.yield
kernel.func @widened(%x: !kernel.view<[d0, 48], bf16>, %w: !kernel.view<[64, 48], bf16, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 64 by 64) attributes {schedule = #kernel.schedule<kblock = 16, threads = [16, 8]>} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 48], bf16>, !kernel.view<[64, 48], bf16, panel = 16> -> tensor<128x64xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x64xf32>, !kernel.view<[d0, 64], f32>
}
