//===- bf16-dot2.mlir - Products of bf16 in pairs --------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A load reads four words, each of which is split into two products. A word of the result holds two
// elements. No capability is required.

// RUN: heddle-opt %s --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: module @pairs
// CHECK-DAG: @binding0 bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0])>, StorageBuffer>
// CHECK: %[[WORDS:.*]] = arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK: arith.shli
// CHECK: %[[ODD:.*]] = math.fma
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[ODD]]
// CHECK: arith.ori %{{.*}} : i32
// CHECK: spirv.Store "StorageBuffer" %{{.*}} : f32
kernel.func @pairs(%x: !kernel.view<[d0, 32], bf16>, %w: !kernel.view<[16, 32], bf16, panel = 16>, %y: !kernel.view<[d0, 16], bf16>)
    scalars(d0) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%z] : !kernel.view<[d0, 32], bf16>, !kernel.view<[16, 32], bf16, panel = 16> -> tensor<32x16xf32>
  %r = arith.truncf %c : tensor<32x16xf32> to tensor<32x16xbf16>
  kernel.store %r, %y[%i, %z] : tensor<32x16xbf16>, !kernel.view<[d0, 16], bf16>
}
