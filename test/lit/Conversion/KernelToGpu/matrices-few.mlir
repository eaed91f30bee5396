//===- matrices-few.mlir - Few rows on matrix units -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block has 512 words of each of 16 columns, which 256 invocations load in eight vec4s each, and a
// vec4 of a lone row. With parts of 64 words of 16 rows, workgroup memory has 19 rows of 129 vec4s.

// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-gpu{target=vulkan level=2-16x16x16 dtype=f16-sum})" | FileCheck %s

// CHECK: module @linear_few
// CHECK: spirv.GlobalVariable @{{.*}} : !spirv.ptr<!spirv.array<2451 x vector<4xf32>>, Workgroup>
// CHECK: %[[LONE:.*]] = arith.cmpi eq, %[[ROWS:.*]], %c1_i32
// CHECK: %[[SEVERAL:.*]] = arith.cmpi ne, %[[ROWS]], %c1_i32

// A launch of one row has two barriers for each block of k. The others are under the condition that
// there are several rows.
// CHECK: scf.for %[[K:.*]] = %c0_i32 to %c2048_i32 step %c512_i32
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-8: spirv.Store "Workgroup"
// CHECK: scf.if %[[LONE]] {
// CHECK: spirv.Store "Workgroup"
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-32: spirv.Load "StorageBuffer" %{{.*}} : f32
// CHECK: scf.for %{{.*}} = %c0_i32 to %c8_i32 step %c1_i32
// CHECK-NOT: spirv.ControlBarrier
// CHECK: scf.if %[[SEVERAL]] {
// CHECK-NEXT: spirv.ControlBarrier
// CHECK: spirv.Store "Workgroup"
// CHECK-NEXT: spirv.ControlBarrier
// CHECK-NEXT: }
// CHECK-NOT: spirv.ControlBarrier
// CHECK: scf.if %[[LONE]] {
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixLoad %{{.*}}, %cst0_i32, <RowMajor>
// CHECK: } else {
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixLoad %{{.*}}, %cst17_i32, <RowMajor>
// CHECK-NOT: spirv.ControlBarrier
// CHECK: scf.yield %{{.*}} : vector<4xf32>, vector<4xf32>
func.func @f(%x: tensor<?x4096xf32> {transformer.name = "x", transformer.dims = ["M", 4096]}) -> tensor<?x4096xf32> {
  %w = transformer.weight "w" : tensor<4096x4096xf32>
  %y = transformer.linear %x, %w : (tensor<?x4096xf32>, tensor<4096x4096xf32>) -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
