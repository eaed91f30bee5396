//===- staged.mlir - Blocks of k in workgroup memory -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Staging of blocks of k. All invocations load a block of both sides, write it to workgroup memory
// after all have read the previous one, load the next, and multiply. Two blocks of 128 of the 300
// features are in a loop, 44 are after it. Staging widens words of bf16 once for all invocations,
// so the inner loop multiplies f32.

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
    scalars(d0) grid(%i = d0 by 8, %j = 32 by 16) attributes {few_rows = "d0", plan = #kernel.plan<mapping = few_rows, threads = [8, 16], block = 128, ahead = 1>} {
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
    scalars(d0) grid(%i = d0 by 128, %j = 64 by 64) attributes {plan = #kernel.plan<mapping = staged, threads = [16, 8], block = 16, ahead = 1>} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 48], bf16>, !kernel.view<[64, 48], bf16, panel = 16> -> tensor<128x64xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x64xf32>, !kernel.view<[d0, 64], f32>
}

// Two blocks of 8 steps are in flight. An iteration writes and multiplies both, each with two
// barriers, and loads the next two. The loop has 32 of the 44 steps; the blocks of 8 and 4 after it
// are loaded together.
// CHECK-LABEL: module @ahead
// CHECK-DAG: !spirv.array<132 x vector<4xf32>>, Workgroup
// CHECK-DAG: !spirv.array<264 x vector<4xf32>>, Workgroup
// CHECK-COUNT-6: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK-NOT: spirv.Load "StorageBuffer"
// CHECK: scf.for %{{.*}} = %{{.*}} to %c32_i32 step %c16_i32
// CHECK: spirv.ControlBarrier
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-3: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: math.fma
// CHECK: spirv.ControlBarrier
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-3: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: math.fma
// CHECK: scf.yield
// CHECK-COUNT-5: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// CHECK-NOT: spirv.Load "StorageBuffer"
// CHECK: math.fma
// CHECK: spirv.ControlBarrier
// CHECK: math.fma
kernel.func @ahead(%x: !kernel.view<[d0, 44], f32>, %w: !kernel.view<[64, 44], f32, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 64 by 64) attributes {plan = #kernel.plan<mapping = staged, threads = [16, 8], block = 8, ahead = 2>} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 44], f32>, !kernel.view<[64, 44], f32, panel = 16> -> tensor<128x64xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x64xf32>, !kernel.view<[d0, 64], f32>
}

// With two buffers, an iteration has two blocks, and each takes one barrier: between its writes and
// its reads. The arrays have twice the entries. One barrier before the loop separates it from
// readers of earlier products.
// CHECK-LABEL: module @buffers
// CHECK-DAG: !spirv.array<264 x vector<4xf32>>, Workgroup
// CHECK-DAG: !spirv.array<528 x vector<4xf32>>, Workgroup
// CHECK: spirv.ControlBarrier
// CHECK: scf.for %{{.*}} = %{{.*}} to %c32_i32 step %c16_i32
// CHECK-COUNT-3: spirv.Store "Workgroup"
// CHECK: spirv.ControlBarrier
// CHECK-NOT: spirv.ControlBarrier
// CHECK: math.fma
// CHECK: spirv.Store "Workgroup"
// CHECK: spirv.ControlBarrier
// CHECK-NOT: spirv.ControlBarrier
// CHECK: scf.yield
// CHECK-COUNT-2: spirv.ControlBarrier
// CHECK-NOT: spirv.ControlBarrier
// CHECK: spirv.EntryPoint
kernel.func @buffers(%x: !kernel.view<[d0, 44], f32>, %w: !kernel.view<[64, 44], f32, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 64 by 64) attributes {plan = #kernel.plan<mapping = staged, threads = [16, 8], block = 8, ahead = 1, buffers = 2>} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 44], f32>, !kernel.view<[64, 44], f32, panel = 16> -> tensor<128x64xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x64xf32>, !kernel.view<[d0, 64], f32>
}

// RUN: heddle-opt %s --convert-kernel-to-gpu=level=1-dot --canonicalize --cse | FileCheck %s --check-prefix=DOT

// Bytes of 128 + code become signed as they are staged. Sums of centered products need nothing else.
// DOT-LABEL: module @centered
// DOT: arith.xori
// DOT: spirv.SDot
// DOT-NOT: arith.shli
// DOT: arith.sitofp
kernel.func @centered(%x: !kernel.view<[d0, 64], i8>, %w: !kernel.view<[64, 64], i8, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 64 by 64) attributes {plan = #kernel.plan<mapping = staged, threads = [16, 8], block = 8, ahead = 1>} {
  %c = kernel.contract %x[%i], %w[%j] {centered} : !kernel.view<[d0, 64], i8>, !kernel.view<[64, 64], i8, panel = 16> -> tensor<128x64xi32>
  %f = arith.sitofp %c : tensor<128x64xi32> to tensor<128x64xf32>
  kernel.store %f, %y[%i, %j] : tensor<128x64xf32>, !kernel.view<[d0, 64], f32>
}
