//===- wide-rows.mlir - Rows in the registers of many invocations -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapping `wide_rows` with `threads = [1, 256]`: each of 256 invocations has two vec4s of a row of
// 2,048 columns.

// RUN: heddle-opt %s --convert-kernel-to-gpu=level=1 --split-input-file --verify-diagnostics --canonicalize --cse | FileCheck %s

// The row is read once.
// CHECK-LABEL: module @rms
// CHECK-SAME: kernel.workgroup = array<i32: 256, 1, 1>
// CHECK-COUNT-2: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK-NOT: spirv.Load "StorageBuffer"
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-2: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// Four invocations add the columns of their lanes in ascending order, eight steps at a time.
// CHECK: %[[ADDS:.*]] = arith.cmpi slt, %{{.*}}, %c4_i32 : i32
// CHECK: scf.if %[[ADDS]]
// CHECK: scf.for %{{.*}} = %c0_i32 to %c128_i32 step %c8_i32
// CHECK-COUNT-8: spirv.Load "Workgroup" %{{.*}} : vector<4xf32>
// CHECK-COUNT-8: arith.addf %{{.*}} : vector<4xf32>
// CHECK: spirv.GroupNonUniformShuffleXor <Subgroup> %{{.*}}, %c2_i32
// CHECK: spirv.GroupNonUniformShuffleXor <Subgroup> %{{.*}}, %c1_i32
// CHECK: spirv.ControlBarrier
// CHECK-NOT: spirv.ControlBarrier
// CHECK-COUNT-2: spirv.Store "StorageBuffer" %{{.*}} : vector<4xf32>
kernel.func @rms(%x: !kernel.view<[d0, 2048], f32>, %y: !kernel.view<[d0, 2048], f32>) scalars(d0) grid(%i = d0 by 1)
    attributes {plan = #kernel.plan<mapping = wide_rows, tile = [1, 2048], threads = [1, 256]>} {
  %zero = arith.constant 0 : index
  %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 2048], f32> -> tensor<1x2048xf32>
  %s = arith.mulf %t, %t : tensor<1x2048xf32>
  %r = kernel.reduce add %s : tensor<1x2048xf32> -> tensor<1x1xf32>
  %b = kernel.broadcast %r : tensor<1x1xf32> -> tensor<1x2048xf32>
  %z = arith.divf %t, %b : tensor<1x2048xf32>
  kernel.store %z, %y[%i, %zero] : tensor<1x2048xf32>, !kernel.view<[d0, 2048], f32>
}

// -----

// Groups of four invocations combine their maxima, and each invocation those of the 16 groups.
// CHECK-LABEL: module @largest
// CHECK: spirv.GroupNonUniformShuffleXor
// CHECK: spirv.Store "Workgroup" %{{.*}} : f32
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-4: spirv.Load "Workgroup" %{{.*}} : vector<4xf32>
// CHECK-NOT: spirv.Load "Workgroup"
kernel.func @largest(%x: !kernel.view<[d0, 768], f32>, %y: !kernel.view<[d0, 768], f32>) scalars(d0) grid(%i = d0 by 4)
    attributes {plan = #kernel.plan<mapping = wide_rows, tile = [4, 768], threads = [4, 64]>} {
  %zero = arith.constant 0 : index
  %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 768], f32> -> tensor<4x768xf32>
  %r = kernel.reduce max %t : tensor<4x768xf32> -> tensor<4x1xf32>
  %b = kernel.broadcast %r : tensor<4x1xf32> -> tensor<4x768xf32>
  %z = arith.divf %t, %b : tensor<4x768xf32>
  kernel.store %z, %y[%i, %zero] : tensor<4x768xf32>, !kernel.view<[d0, 768], f32>
}

// -----

kernel.func @columns(%x: !kernel.view<[d0, 640], f32>, %y: !kernel.view<[d0, 640], f32>) scalars(d0) grid(%i = d0 by 1)
    attributes {plan = #kernel.plan<mapping = wide_rows, tile = [1, 640], threads = [1, 64]>} {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{expected tiles of a multiple of 256 columns for 64 invocations a row, found 'tensor<1x640xf32>'}}
  %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 640], f32> -> tensor<1x640xf32>
  kernel.store %t, %y[%i, %zero] : tensor<1x640xf32>, !kernel.view<[d0, 640], f32>
}

// -----

// expected-error @+1 {{expected a multiple of 16 invocations for each of 4 rows, found 2 x 64}}
kernel.func @rows(%x: !kernel.view<[d0, 768], f32>, %y: !kernel.view<[d0, 768], f32>) scalars(d0) grid(%i = d0 by 4)
    attributes {plan = #kernel.plan<mapping = wide_rows, tile = [4, 768], threads = [2, 64]>} {
  %zero = arith.constant 0 : index
  %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 768], f32> -> tensor<4x768xf32>
  kernel.store %t, %y[%i, %zero] : tensor<4x768xf32>, !kernel.view<[d0, 768], f32>
}
