//===- tile-kernels.mlir - Bodies of products ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of products: the same ops for both kinds of device, with different tiles.

// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: not heddle-opt %s --plan-kernels=target=abacus --tile-kernels --split-input-file 2>&1 | FileCheck %s --check-prefix=WRONG

// WRONG: error: plan-kernels: expected target to be cpu or vulkan, found 'abacus'

// The number of columns is divisible by 16; the last rows are clipped.
// CHECK-LABEL: kernel.func @linear(
// CPU-SAME: grid(%[[I:.*]] = d0 by 128, %[[J:.*]] = 64 by 64)
// GPU-SAME: grid(%[[I:.*]] = d0 by 64, %[[J:.*]] = 64 by 64)
// CHECK-SAME: storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<weight>, #kernel.storage<memory>, #kernel.storage<memory>]
// CHECK: %[[C:.*]] = kernel.contract %{{.*}}[%[[I]]], %{{.*}}[%[[J]]]
// CHECK: kernel.load %{{.*}}[%[[J]]]
// CHECK: arith.addf %[[C]]
// CHECK: arith.cmpf olt
// CHECK: kernel.load %{{.*}}[%[[I]], %[[J]]]
// CHECK: kernel.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] rows(
kernel.def @linear(%x: tensor<?x5xf32> {kernel.layout = #kernel.layout<view = <[d0, 5], f32>>},
                   %w: tensor<64x5xf32> {kernel.layout = #kernel.layout<view = <[64, 5], f32, panel = 16>, storage = weight>},
                   %b: tensor<64xf32> {kernel.layout = #kernel.layout<view = <[64], f32>, storage = weight>},
                   %r: tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>})
    -> (tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %0 = transformer.linear %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x5xf32>, tensor<64x5xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %1 = arith.addf %0, %r : tensor<?x64xf32>
  kernel.yield %1 : tensor<?x64xf32>
}

// -----

// Many columns that are not divisible by 48 use tiles of 48, and a separate tile for the last
// columns.
// CHECK-LABEL: kernel.func @many_columns(
// CPU: kernel.part(%{{.*}} = 384 by 48) {
// CPU: kernel.part(%{{.*}} = 32 by 32) {
// CPU: arith.addi %{{.*}}, %c384
// GPU-NOT: kernel.part
// GPU: kernel.contract {{.*}} -> tensor<64x32xf32>
kernel.def @many_columns(%x: tensor<?x5xf32> {kernel.layout = #kernel.layout<view = <[d0, 5], f32>>},
                         %w: tensor<416x5xf32> {kernel.layout = #kernel.layout<view = <[416, 5], f32, panel = 16>, storage = weight>})
    -> (tensor<?x416xf32> {kernel.layout = #kernel.layout<view = <[d0, 416], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %0 = transformer.linear %x, %w : (tensor<?x5xf32>, tensor<416x5xf32>) -> tensor<?x416xf32>
  kernel.yield %0 : tensor<?x416xf32>
}

// -----

// Fewer columns have no separate tile, because an additional loop would cost more than it saves.
// CHECK-LABEL: kernel.func @some_columns(
// CHECK-NOT: kernel.part
// CPU: kernel.contract {{.*}} -> tensor<128x64xf32>
kernel.def @some_columns(%x: tensor<?x5xf32> {kernel.layout = #kernel.layout<view = <[d0, 5], f32>>},
                         %w: tensor<320x5xf32> {kernel.layout = #kernel.layout<view = <[320, 5], f32, panel = 16>, storage = weight>})
    -> (tensor<?x320xf32> {kernel.layout = #kernel.layout<view = <[d0, 320], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %0 = transformer.linear %x, %w : (tensor<?x5xf32>, tensor<320x5xf32>) -> tensor<?x320xf32>
  kernel.yield %0 : tensor<?x320xf32>
}

// -----

// Rows of bf16 have tiles of twice the width, because some processors widen rows for each tile of
// columns.
// CHECK-LABEL: kernel.func @many_columns_of_bf16(
// CPU: kernel.part(%{{.*}} = 1536 by 96) {
// CPU: kernel.part(%{{.*}} = 32 by 32) {
// GPU-NOT: kernel.part
kernel.def @many_columns_of_bf16(%x: tensor<?x5xbf16> {kernel.layout = #kernel.layout<view = <[d0, 5], bf16>>},
                                 %w: tensor<1568x5xbf16> {kernel.layout = #kernel.layout<view = <[1568, 5], bf16, panel = 16>, storage = weight>})
    -> (tensor<?x1568xf32> {kernel.layout = #kernel.layout<view = <[d0, 1568], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %0 = transformer.linear %x, %w : (tensor<?x5xbf16>, tensor<1568x5xbf16>) -> tensor<?x1568xf32>
  kernel.yield %0 : tensor<?x1568xf32>
}

// -----

// Heads of 20 are padded in memory only: a tile continues from one head to the next. Heads of 10
// have separate, padded tiles.
// CHECK-LABEL: kernel.func @heads_of_20(
// CHECK-SAME: %[[J:[a-z0-9]+]] = 64 by 64)
// CHECK: %[[HEAD:.*]] = arith.constant 0 : index
// CHECK: kernel.store_heads %{{.*}}, %{{.*}}[%{{.*}}, %[[HEAD]], %{{.*}}, %[[J]]] rows(%{{.*}}) : {{.*}}, !kernel.view<[d0, 3, d1, 20], f32>
kernel.def @heads_of_20(%x: tensor<?x?x5xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 5], f32>>},
                        %w: tensor<60x5xf32> {kernel.layout = #kernel.layout<view = <[60, 5], f32, panel = 16>, storage = weight>})
    -> (tensor<?x3x?x20xf32> {kernel.layout = #kernel.layout<view = <[d0, 3, d1, 20], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0", "d1"]} {
  %0 = transformer.linear %x, %w : (tensor<?x?x5xf32>, tensor<60x5xf32>) -> tensor<?x?x60xf32>
  %1 = transformer.split_heads %0 {heads = 3 : i64} : tensor<?x?x60xf32> -> tensor<?x3x?x20xf32>
  kernel.yield %1 : tensor<?x3x?x20xf32>
}
// CHECK-LABEL: kernel.func @heads_of_10(
// CHECK: kernel.store {{.*}} rows(%{{[a-z0-9_]+}}) : tensor<{{.*}}x16xf32>, !kernel.view<[d0, 6, d1, 10], f32>
kernel.def @heads_of_10(%x: tensor<?x?x5xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 5], f32>>},
                        %w: tensor<60x5xf32> {kernel.layout = #kernel.layout<view = <[96, 5], f32, panel = 16>, storage = weight>})
    -> (tensor<?x6x?x10xf32> {kernel.layout = #kernel.layout<view = <[d0, 6, d1, 10], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0", "d1"]} {
  %0 = transformer.linear %x, %w : (tensor<?x?x5xf32>, tensor<60x5xf32>) -> tensor<?x?x60xf32>
  %1 = transformer.split_heads %0 {heads = 6 : i64} : tensor<?x?x60xf32> -> tensor<?x6x?x10xf32>
  kernel.yield %1 : tensor<?x6x?x10xf32>
}

// -----

// A value that is both a result and an operand of a product is stored in both forms.
// CHECK-LABEL: kernel.func @both(
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: kernel.store %[[SUM]], %{{.*}}f32>
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]]
// CHECK: kernel.store %[[ROUNDED]], %{{.*}}bf16>
kernel.def @both(%x: tensor<?x?x24xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 24], f32>>})
    -> (tensor<?x24xf32> {kernel.layout = #kernel.layout<view = <[d0, 24], f32>>},
        tensor<?x24xbf16> {kernel.layout = #kernel.layout<view = <[d0, 24], bf16>>}) attributes {root = #kernel.root<pool>, scalars = ["d0", "d1"]} {
  %0 = transformer.pool %x {kinds = [#transformer.pooling<last>]} : tensor<?x?x24xf32> -> tensor<?x24xf32>
  %1 = arith.truncf %0 : tensor<?x24xf32> to tensor<?x24xbf16>
  kernel.yield %0, %1 : tensor<?x24xf32>, tensor<?x24xbf16>
}
