//===- tile-steps.mlir - Bodies of decoding steps ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each row of a tile has a sequence, a position and a place in its cache.

// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU

// A decoding step: each row of a tile belongs to another sequence, and Vulkan also has a form for
// few rows. Each row has a position, and a place in its cache or none.
// CHECK-LABEL: kernel.func @step(
// CPU-SAME: grid(%[[I:[a-z0-9]+]] = d0 by 128,
// GPU-SAME: grid(%[[I:[a-z0-9]+]] = d0 by 64,
// CHECK: %[[FRONT:.*]] = kernel.contract %{{.*}}[%[[I]]], %{{.*}} : !kernel.view<[d0, 32], f32>
// CHECK: %[[BACK:.*]] = kernel.contract
// CHECK: %[[POSITIONS:.*]] = kernel.load %{{.*}}[%[[I]]] as rows
// CHECK: %[[COS:.*]] = kernel.gather %{{.*}}[%[[POSITIONS]]]
// CHECK: %[[SIN:.*]] = kernel.gather %{{.*}}[%[[POSITIONS]]]
// CHECK: arith.mulf %[[FRONT]], %[[COS]]
// CHECK: arith.mulf %[[BACK]], %[[SIN]]
// CHECK: %[[PLACES:.*]] = kernel.load %{{.*}}[%[[I]]] as rows
// CHECK: %[[RINGS:.*]] = arith.divui %[[PLACES]]
// CHECK: %[[FULL:.*]] = arith.muli %[[RINGS]]
// CHECK: %[[IN:.*]] = arith.subi %[[PLACES]], %[[FULL]]
// CHECK: %[[COUNTS:.*]] = kernel.load %{{.*}}[%[[I]]] as rows
// CHECK: %[[STORES:.*]] = arith.cmpi slt, %{{.*}}, %[[COUNTS]]
// CHECK: %[[AT:.*]] = arith.select %[[STORES]], %[[IN]]
// CHECK: kernel.scatter %{{.*}}, %{{.*}}[%[[I]], %{{.*}}, %{{.*}}, %{{.*}}] at(%[[AT]] : tensor<{{.*}}x1xi32>) rows(
// GPU-LABEL: kernel.func @step_few(
// GPU-SAME: grid(%{{[a-z0-9]+}} = d0 by 8,
kernel.def @step(%x: tensor<?x1x32xf32> {kernel.layout = #kernel.layout<view = <[d0, 1, 32], f32>>},
                 %w: tensor<64x32xf32> {kernel.layout = #kernel.layout<view = <[64, 32], f32, panel = 16>, storage = weight>},
                 %p: tensor<?xi32> {kernel.layout = #kernel.layout<view = <[d0], i32>>},
                 %n: tensor<?xi32> {kernel.layout = #kernel.layout<view = <[d0], i32>>},
                 %t: tensor<?x32xf32> {kernel.layout = #kernel.layout<view = <[d1, 32], f32>, storage = table>})
    -> (tensor<?x2x1x32xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, 48, 32], f32>, places = 2, counts = 3, ring = 48>}) attributes {root = #kernel.root<linear>, scalars = ["d0", "d1"]} {
  %0 = transformer.linear %x, %w : (tensor<?x1x32xf32>, tensor<64x32xf32>) -> tensor<?x1x64xf32>
  %1 = transformer.split_heads %0 {heads = 2 : i64} : tensor<?x1x64xf32> -> tensor<?x2x1x32xf32>
  %2 = transformer.rotary %1 offset(%p : tensor<?xi32>) : tensor<?x2x1x32xf32>
  kernel.yield %2 : tensor<?x2x1x32xf32>
}

// -----

// Addends of a decoding step, before the split into heads, also have rows of many sequences.
// CHECK-LABEL: kernel.func @step_add(
// CHECK-SAME: %{{.*}}: !kernel.view<[d0, 32], f32>, %{{.*}}: !kernel.view<[64, 32], f32, panel = 16>, %[[R:.*]]: !kernel.view<[d0, 64], f32>,
// CHECK: kernel.load %[[R]][%{{.*}}, %{{.*}}]
// CHECK: kernel.scatter %{{.*}} at(
kernel.def @step_add(%x: tensor<?x1x32xf32> {kernel.layout = #kernel.layout<view = <[d0, 1, 32], f32>>},
                     %w: tensor<64x32xf32> {kernel.layout = #kernel.layout<view = <[64, 32], f32, panel = 16>, storage = weight>},
                     %r: tensor<?x1x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 1, 64], f32>>})
    -> (tensor<?x2x1x32xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, 1, 32], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %0 = transformer.linear %x, %w : (tensor<?x1x32xf32>, tensor<64x32xf32>) -> tensor<?x1x64xf32>
  %1 = arith.addf %0, %r : tensor<?x1x64xf32>
  %2 = transformer.split_heads %1 {heads = 2 : i64} : tensor<?x1x64xf32> -> tensor<?x2x1x32xf32>
  kernel.yield %2 : tensor<?x2x1x32xf32>
}

// -----

// A key of one token that a cache stores unchanged, at the end of its sequence; it is not packed as
// documents are.
// CHECK-LABEL: kernel.func @append_key(
// CHECK-SAME: grid(%[[B:.*]] = d0 by 1, %[[H:.*]] = 2 by 1, %[[I:.*]] = 1 by
// CHECK-NOT: scf.for
// CHECK: %[[AT:.*]] = kernel.read %arg1[%[[B]]]
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[AT]]
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %[[PLACE]]
// CHECK: kernel.store %{{.*}}, %arg2[%[[B]], %[[H]], %[[ROW]], %{{.*}}]
kernel.def @append_key(%k: tensor<?x2x1x8xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, 1, 8], f32>>},
                       %at: tensor<?xi32> {kernel.layout = #kernel.layout<view = <[d0], i32>>})
    -> (tensor<?x2x1x8xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1|80, 8], f32, panel = 16>, places = 1>}) attributes {root = #kernel.root<relayout>, scalars = ["d0", "d1"]} {
  kernel.yield %k : tensor<?x2x1x8xf32>
}
