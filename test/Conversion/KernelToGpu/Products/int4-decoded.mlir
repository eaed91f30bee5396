//===- int4-decoded.mlir - Weights of i4 -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four words are eight features of four columns; two words more are the scales of a
// group. Codes become numbers before they are multiplied.

// RUN: heddle-opt %s --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: module @nibbles
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %[[EIGHT:.*]] iter_args
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : f32
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : f32
// CHECK: arith.mulf %{{.*}} : vector<4xf32>
// CHECK: math.fma %{{.*}} : vector<4xf32>
kernel.func @nibbles(%x: !kernel.view<[d0, 64], f32>, %w: !kernel.view<[16, 64], i4, panel = 16>, %y: !kernel.view<[d0, 16], f32>)
    scalars(d0) grid(%i = d0 by 32) attributes {schedule = #kernel.schedule<threads = [4, 4]>, storage = ["memory", "weight", "memory"]} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%z] : !kernel.view<[d0, 64], f32>, !kernel.view<[16, 64], i4, panel = 16> -> tensor<32x16xf32>
  kernel.store %c, %y[%i, %z] : tensor<32x16xf32>, !kernel.view<[d0, 16], f32>
}
