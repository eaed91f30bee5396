//===- tile-rotary.mlir - Bodies that rotate heads -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotation in the kernel of a product, and in a kernel of its own.

// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s

// 64 of the 80 features of a head are rotated: tiles of 32 columns with the 32 columns after them.
// The last 16 features are unchanged.
// CHECK-LABEL: kernel.func @linear_heads_rotary(
// CHECK: kernel.part(%[[AT:.*]] = 64 by 32) {
// CHECK: %[[N:.*]] = arith.divui %[[AT]], %c32
// CHECK: %[[HEAD:.*]] = arith.divui %[[N]], %c1
// CHECK: %[[FIRST:.*]] = arith.muli %[[HEAD]], %c80
// CHECK: %[[IN:.*]] = arith.remui %[[N]], %c1
// CHECK: %[[COLUMN:.*]] = arith.muli %[[IN]], %c32
// CHECK: %[[J:.*]] = arith.addi %[[FIRST]],
// CHECK: %[[BEHIND:.*]] = arith.addi %[[J]], %c32
// CHECK: %[[FRONT:.*]] = kernel.contract %{{.*}}, %{{.*}}[%[[J]]]
// CHECK: %[[BACK:.*]] = kernel.contract %{{.*}}, %{{.*}}[%[[BEHIND]]]
// CHECK: %[[COS:.*]] = kernel.load %[[TABLE:.*]][%[[I:.*]], %[[COLUMN]]]
// CHECK: %[[LATER:.*]] = arith.addi %[[COLUMN]], %c32
// CHECK: %[[SIN:.*]] = kernel.load %[[TABLE]][%[[I]], %[[LATER]]]
// CHECK-DAG: %[[A:.*]] = arith.mulf %[[FRONT]], %[[COS]]
// CHECK-DAG: %[[B:.*]] = arith.mulf %[[BACK]], %[[SIN]]
// CHECK-DAG: %[[C:.*]] = arith.mulf %[[BACK]], %[[COS]]
// CHECK-DAG: %[[D:.*]] = arith.mulf %[[FRONT]], %[[SIN]]
// CHECK-DAG: %[[X:.*]] = arith.subf %[[A]], %[[B]]
// CHECK-DAG: %[[Y:.*]] = arith.addf %[[C]], %[[D]]
// CHECK: kernel.store %[[X]]
// CHECK: kernel.store %[[Y]]
// CHECK: kernel.part(%{{.*}} = 32 by 16) {
// CHECK: %[[REST:.*]] = kernel.contract
// CHECK: kernel.store %[[REST]]
kernel.def @linear_heads_rotary(%x: tensor<?x?x5xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 5], f32>>},
                                %w: tensor<160x5xf32> {kernel.layout = #kernel.layout<view = <[160, 5], f32, panel = 16>, storage = weight>},
                                %t: tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d1, 64], f32>, storage = table>})
    -> (tensor<?x2x?x80xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 80], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0", "d1"]} {
  %0 = transformer.linear %x, %w : (tensor<?x?x5xf32>, tensor<160x5xf32>) -> tensor<?x?x160xf32>
  %1 = transformer.split_heads %0 {heads = 2 : i64} : tensor<?x?x160xf32> -> tensor<?x2x?x80xf32>
  %2 = transformer.rotary %1 {fraction = 0.8 : f64} : tensor<?x2x?x80xf32>
  kernel.yield %2 : tensor<?x2x?x80xf32>
}

// -----

// A separate kernel for rotary positions: halves that are tiles, or elements that are looked up.
// CHECK-LABEL: kernel.func @rotate_tiles(
// CHECK-COUNT-4: kernel.load
// CHECK-NOT: kernel.lookup
// CHECK-COUNT-2: kernel.store
kernel.def @rotate_tiles(%x: tensor<?x2x?x32xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 32], f32>>},
                 %t: tensor<?x32xf32> {kernel.layout = #kernel.layout<view = <[d1, 32], f32>, storage = table>})
    -> (tensor<?x2x?x32xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 32], f32>>}) attributes {root = #kernel.root<relayout>, scalars = ["d0", "d1"]} {
  %0 = transformer.rotary %x : tensor<?x2x?x32xf32>
  kernel.yield %0 : tensor<?x2x?x32xf32>
}

// -----

// CHECK-LABEL: kernel.func @rotate_elements(
// CHECK-COUNT-3: kernel.lookup
// CHECK: kernel.store
kernel.def @rotate_elements(%x: tensor<?x2x?x20xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 20], f32>>},
                          %t: tensor<?x20xf32> {kernel.layout = #kernel.layout<view = <[d1, 20], f32>, storage = table>})
    -> (tensor<?x2x?x20xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 20], f32>>}) attributes {root = #kernel.root<relayout>, scalars = ["d0", "d1"]} {
  %0 = transformer.rotary %x : tensor<?x2x?x20xf32>
  kernel.yield %0 : tensor<?x2x?x20xf32>
}
