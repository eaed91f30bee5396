//===- tile-quantize.mlir - Bodies that compute codes --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes and scales of rows and of groups of features.

// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU,WALK
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU,WALK
// RUN: heddle-opt %s --plan-kernels="target=vulkan level=1" --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,TEAM

// Codes depend on the largest magnitude of a whole row, compared as an integer; padding does not
// count. One thread or four invocations walk over the row; a team of a GPU shares it.
// CHECK-LABEL: kernel.func @quantize(
// CPU-SAME: grid(%[[I:.*]] = d0 by 4)
// GPU-SAME: grid(%[[I:.*]] = d0 by 16)
// TEAM-SAME: grid(%[[I:.*]] = d0 by 8)
// WALK: %[[LANES:.*]] = scf.for
// TEAM-NOT: scf.for
// CHECK: kernel.load %{{.*}}[%[[I]], %{{.*}}] : !kernel.view<[d0, 20], f32> -> tensor<[[ROWS:[0-9]+]]x[[COLUMNS:16|32]]xf32>
// CHECK: kernel.iota columns
// CHECK: %[[X:.*]] = arith.andi
// WALK: arith.maxsi %{{.*}}, %[[X]] : tensor<[[ROWS]]x16xi32>
// WALK: %[[FLOATS:.*]] = arith.bitcast %[[LANES]]
// TEAM: %[[FLOATS:.*]] = arith.bitcast %[[X]]
// CHECK: %[[USUAL:.*]] = arith.select %{{.*}}, %[[FLOATS]]
// CHECK: kernel.reduce max %[[USUAL]]
// CHECK: arith.divf
// WALK: scf.for
// TEAM-NOT: scf.for
// CHECK: %[[P:.*]] = arith.mulf
// CHECK: %[[SUM:.*]] = arith.addf %[[P]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]]
// CHECK: %[[CODES:.*]] = arith.trunci %[[BITS]] : tensor<[[ROWS]]x[[COLUMNS]]xi32> to tensor<[[ROWS]]x[[COLUMNS]]xi8>
// CHECK: kernel.store %[[CODES]], %{{.*}} rows(%{{.*}}) : tensor<[[ROWS]]x[[COLUMNS]]xi8>, !kernel.view<[d0, 20], i8>
// CHECK: kernel.store %{{.*}}, %{{.*}} rows(%{{.*}}) : tensor<[[ROWS]]x1xf32>, !kernel.view<[d0, 1], f32>
kernel.def @quantize(%x: tensor<?x20xf32> {kernel.layout = #kernel.layout<view = <[d0, 20], f32>>})
    -> (tensor<?x20xi8> {kernel.layout = #kernel.layout<view = <[d0, 20], i8>>},
        tensor<?x1xf32> {kernel.layout = #kernel.layout<view = <[d0, 1], f32>>}) attributes {root = #kernel.root<quantize>, scalars = ["d0"]} {
  %q, %s = transformer.quantize %x : tensor<?x20xf32> -> tensor<?x20xi8>, tensor<?x1xf32>
  kernel.yield %q, %s : tensor<?x20xi8>, tensor<?x1xf32>
}

// -----

// For f16, the row is scaled by a power of two, built from the bits of its largest magnitude;
// columns after a row are zero.
// CHECK-LABEL: kernel.func @halves(
// CHECK: %[[M:.*]] = kernel.reduce max
// CHECK: %[[BITS:.*]] = arith.bitcast %[[M]]
// CHECK: %[[EXPONENT:.*]] = arith.andi %[[BITS]]
// CHECK: %[[SCALE:.*]] = arith.bitcast %[[EXPONENT]]
// CHECK: %[[INVERSE:.*]] = arith.subi %{{.*}}, %[[EXPONENT]]
// WALK: scf.for
// CHECK: kernel.iota columns
// CHECK: %[[P:.*]] = arith.mulf
// CHECK: %[[H:.*]] = arith.truncf %[[P]] : tensor<[[ROWS:[0-9]+]]x[[COLUMNS:16|32]]xf32> to tensor<[[ROWS]]x[[COLUMNS]]xf16>
// CHECK: kernel.store %[[H]], %{{.*}} rows(%{{.*}}) : tensor<[[ROWS]]x[[COLUMNS]]xf16>, !kernel.view<[d0, 20], f16>
kernel.def @halves(%x: tensor<?x20xf32> {kernel.layout = #kernel.layout<view = <[d0, 20], f32>>})
    -> (tensor<?x20xf16> {kernel.layout = #kernel.layout<view = <[d0, 20], f16>>},
        tensor<?x1xf32> {kernel.layout = #kernel.layout<view = <[d0, 1], f32>>}) attributes {root = #kernel.root<quantize>, scalars = ["d0"]} {
  %q, %s = transformer.quantize %x : tensor<?x20xf32> -> tensor<?x20xf16>, tensor<?x1xf32>
  kernel.yield %q, %s : tensor<?x20xf16>, tensor<?x1xf32>
}

// -----

// Groups of 32 features, and the remainder after them; e and s of each group are adjacent.
// CHECK-LABEL: kernel.func @groups(
// CHECK: scf.for %[[G:.*]] =
// CHECK-COUNT-2: kernel.load {{.*}} : !kernel.view<[d0, 40], f32> -> tensor<[[ROWS:.*]]x16xf32>
// CHECK: %[[M:.*]] = kernel.reduce max
// CHECK-COUNT-2: kernel.store {{.*}} : tensor<[[ROWS]]x16xi8>, !kernel.view<[d0, 40], i8>
// CHECK: %[[SUM:.*]] = kernel.reduce add
// CHECK: %[[E:.*]] = arith.divf %[[M]]
// CHECK: kernel.store {{.*}} : tensor<[[ROWS]]x1xf32>, !kernel.view<[d0, 4], f32>
// CHECK: arith.mulf %[[E]], %[[SUM]]
// CHECK: kernel.store {{.*}} : tensor<[[ROWS]]x1xf32>, !kernel.view<[d0, 4], f32>
// CHECK: }
// CHECK: kernel.load
// CHECK-NOT: kernel.load
// CHECK: kernel.iota columns
// CHECK-COUNT-1: kernel.store {{.*}} : tensor<[[ROWS]]x16xi8>
// CHECK-COUNT-2: kernel.store {{.*}} : tensor<[[ROWS]]x1xf32>
kernel.def @groups(%x: tensor<?x40xf32> {kernel.layout = #kernel.layout<view = <[d0, 40], f32>>})
    -> (tensor<?x40xi8> {kernel.layout = #kernel.layout<view = <[d0, 40], i8>>},
        tensor<?x4xf32> {kernel.layout = #kernel.layout<view = <[d0, 4], f32>>}) attributes {root = #kernel.root<quantize>, scalars = ["d0"]} {
  %q, %s = transformer.quantize %x : tensor<?x40xf32> -> tensor<?x40xi8>, tensor<?x4xf32>
  kernel.yield %q, %s : tensor<?x40xi8>, tensor<?x4xf32>
}

// -----

// From level 1, whole groups are a grid axis.
// CHECK-LABEL: kernel.func @whole_groups(
// TEAM-SAME: grid(%{{.*}} = d0 by 16, %[[G:.*]] = 2 by 1)
// TEAM: arith.muli %[[G]], %{{.*}} : index
// TEAM-NOT: scf.for
// WALK: scf.for
// CHECK-COUNT-2: kernel.load {{.*}} : !kernel.view<[d0, 64], f32>
// CHECK: kernel.store
kernel.def @whole_groups(%x: tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>})
    -> (tensor<?x64xi8> {kernel.layout = #kernel.layout<view = <[d0, 64], i8>>},
        tensor<?x4xf32> {kernel.layout = #kernel.layout<view = <[d0, 4], f32>>}) attributes {root = #kernel.root<quantize>, scalars = ["d0"]} {
  %q, %s = transformer.quantize %x : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x4xf32>
  kernel.yield %q, %s : tensor<?x64xi8>, tensor<?x4xf32>
}
