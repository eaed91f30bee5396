//===- common-rows.mlir - Products over common rows -----------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An invocation continues the chains of four rows and four columns. A row of each view gives one
// vec4. Rows of the tile after the last features read the last four. The gradient is in strips of 16
// columns, and an invocation may begin inside a strip.

// RUN: heddle-opt %s --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: module @gradient_product
// CHECK: arith.remui %{{.*}}, %c16
// CHECK: arith.minsi %{{.*}}, %c12
// CHECK: %[[SUMS:.*]]:4 = scf.for %{{.*}} = %c0{{.*}} to %{{.*}} step %c1{{.*}} iter_args(
// CHECK-COUNT-2: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK-NOT: spirv.Load
// CHECK-COUNT-4: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
kernel.func @gradient_product(%dy: !kernel.view<[d0, 32], f32>, %x: !kernel.view<[d0, 16], f32>, %g: !kernel.view<[16, 32], f32, strip = 16>)
    scalars(d0) grid(%i = 16 by 32, %j = 32 by 32) attributes {plan = #kernel.plan<mapping = blocked, tile = [32, 32], threads = [8, 8]>} {
  %z = arith.constant 0 : index
  %last = arith.constant 16 : index
  %n = kernel.scalar "d0" : index
  %so = kernel.load %g[%i, %j] : !kernel.view<[16, 32], f32, strip = 16> -> tensor<32x32xf32>
  %c = kernel.contract_common %x[%z, %i], %dy[%z, %j] rows(%n) onto(%so) : !kernel.view<[d0, 16], f32>, !kernel.view<[d0, 32], f32> -> tensor<32x32xf32>
  %rows = arith.subi %last, %i : index
  kernel.store %c, %g[%i, %j] rows(%rows) : tensor<32x32xf32>, !kernel.view<[16, 32], f32, strip = 16>
}
