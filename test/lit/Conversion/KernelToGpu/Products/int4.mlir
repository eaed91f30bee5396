//===- int4.mlir - Weights of i4 -------------------------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One iteration computes a group: codes as floats with exact sums, then two multiply-adds with the
// scales of the row and of the column. Two features remain after the last group.

// RUN: heddle-opt %s --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: module @nibbles
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: arith.andi %{{.*}} : vector<4xi32>
// CHECK: arith.uitofp %{{.*}} : vector<4xi32> to vector<4xf32>
// CHECK: arith.sitofp %{{.*}} : vector<4xi32> to vector<4xf32>
// CHECK-COUNT-32: math.fma %{{.*}} : vector<4xf32>
// CHECK: arith.mulf %{{.*}} : vector<4xf32>
// CHECK: math.fma %{{.*}} : vector<4xf32>
// CHECK: math.fma %{{.*}} : vector<4xf32>
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: math.fma
kernel.func @nibbles(%x: !kernel.view<[d0, 66], i8>, %s: !kernel.view<[d0, 6], f32>, %w: !kernel.view<[16, 66], i4, panel = 16>, %y: !kernel.view<[d0, 16], f32>)
    scalars(d0) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>, storage = [#kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %z = arith.constant 0 : index
  %c = kernel.contract_groups %x[%i], %w[%z] scales(%s : !kernel.view<[d0, 6], f32>) : !kernel.view<[d0, 66], i8>, !kernel.view<[16, 66], i4, panel = 16> -> tensor<32x16xf32>
  kernel.store %c, %y[%i, %z] : tensor<32x16xf32>, !kernel.view<[d0, 16], f32>
}

// With the tile of an earlier product in registers, the lines of a group are a loop that drivers
// must not unroll. An iteration has two words of four features, each loaded alone from a row. The
// first product has no such loop.
// CHECK-LABEL: module @gated
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.mulf %{{.*}} : vector<4xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK-COUNT-2: spirv.Load "StorageBuffer" %{{.*}} : f32
// CHECK: math.fma %{{.*}} : vector<4xf32>
// CHECK: } {heddle.rolled}
// CHECK: arith.mulf %{{.*}} : vector<4xf32>
kernel.func @gated(%x: !kernel.view<[d0, 64], i8>, %s: !kernel.view<[d0, 4], f32>, %w: !kernel.view<[16, 64], i4, panel = 16>, %v: !kernel.view<[16, 64], i4, panel = 16>, %y: !kernel.view<[d0, 16], f32>)
    scalars(d0) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>, storage = [#kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %z = arith.constant 0 : index
  %c = kernel.contract_groups %x[%i], %w[%z] scales(%s : !kernel.view<[d0, 4], f32>) : !kernel.view<[d0, 64], i8>, !kernel.view<[16, 64], i4, panel = 16> -> tensor<32x16xf32>
  %d = kernel.contract_groups %x[%i], %v[%z] scales(%s : !kernel.view<[d0, 4], f32>) : !kernel.view<[d0, 64], i8>, !kernel.view<[16, 64], i4, panel = 16> -> tensor<32x16xf32>
  %g = arith.mulf %c, %d : tensor<32x16xf32>
  kernel.store %g, %y[%i, %z] : tensor<32x16xf32>, !kernel.view<[d0, 16], f32>
}
