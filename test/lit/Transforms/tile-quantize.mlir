// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU,WALK
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU,WALK
// RUN: heddle-opt %s --plan-kernels="target=vulkan level=1" --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,TEAM

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes of rows, and conversion of sums of codes back to numbers.

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

// The sum is an integer. The contribution of the 128 of each code is known from the weight and is
// subtracted. Then the sum is multiplied by the row's scale and the column's scale.
// CHECK-LABEL: kernel.func @linear(
// CHECK: %[[C:.*]] = kernel.contract {{.*}} : !kernel.view<[d0, 20], i8>, !kernel.view<[64, 20], i8, panel = 16> -> tensor<[[ROWS:.*]]x64xi32>
// CHECK: %[[SUMS:.*]] = kernel.load {{.*}} : !kernel.view<[2, 64], f32> -> tensor<1x64xf32>
// CHECK: arith.fptosi %[[SUMS]]
// CHECK: %[[D:.*]] = arith.subi %[[C]]
// CHECK: %[[F:.*]] = arith.sitofp %[[D]]
// CHECK: %[[ROW:.*]] = kernel.load {{.*}} : !kernel.view<[d0, 1], f32> -> tensor<[[ROWS]]x1xf32>
// CHECK: %[[RB:.*]] = kernel.broadcast %[[ROW]]
// CHECK: %[[P:.*]] = arith.mulf %[[F]], %[[RB]]
// CHECK: %[[Y:.*]] = arith.mulf %[[P]]
// CHECK: kernel.store %[[Y]]
kernel.def @linear(%q: tensor<?x20xi8> {kernel.layout = #kernel.layout<view = <[d0, 20], i8>>},
                   %w: tensor<64x20xi8> {kernel.layout = #kernel.layout<view = <[64, 20], i8, panel = 16>, storage = weight>},
                   %s: tensor<?x1xf32> {kernel.layout = #kernel.layout<view = <[d0, 1], f32>>},
                   %sw: tensor<2x64xf32> {kernel.layout = #kernel.layout<view = <[2, 64], f32>, storage = weight>})
    -> (tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %0 = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x20xi8>, tensor<64x20xi8>, tensor<?x1xf32>, tensor<2x64xf32>) -> tensor<?x64xf32>
  kernel.yield %0 : tensor<?x64xf32>
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

// The sum of f16 products is multiplied by the row's scale. k-blocks end where f16 sums end.
// CHECK-LABEL: kernel.func @linear_of_halves(
// CPU-SAME: block = 512
// CHECK: %[[C:.*]] = kernel.contract {{.*}} : !kernel.view<[d0, 1300], f16>, !kernel.view<[64, 1300], f16, panel = 16> -> tensor<[[ROWS:.*]]x64xf32>
// CHECK: %[[ROW:.*]] = kernel.load {{.*}} : !kernel.view<[d0, 1], f32> -> tensor<[[ROWS]]x1xf32>
// CHECK: %[[RB:.*]] = kernel.broadcast %[[ROW]]
// CHECK: %[[Y:.*]] = arith.mulf %[[C]], %[[RB]]
// CHECK: kernel.store %[[Y]]
kernel.def @linear_of_halves(%h: tensor<?x1300xf16> {kernel.layout = #kernel.layout<view = <[d0, 1300], f16>>},
                             %w: tensor<64x1300xf16> {kernel.layout = #kernel.layout<view = <[64, 1300], f16, panel = 16>, storage = weight>},
                             %s: tensor<?x1xf32> {kernel.layout = #kernel.layout<view = <[d0, 1], f32>>})
    -> (tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %0 = transformer.linear %h, %w scales(%s) : (tensor<?x1300xf16>, tensor<64x1300xf16>, tensor<?x1xf32>) -> tensor<?x64xf32>
  kernel.yield %0 : tensor<?x64xf32>
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

// -----

// Scales of groups enter the sums, so the contraction takes them. k-blocks are whole groups.
// CHECK-LABEL: kernel.func @linear_of_groups(
// CPU-SAME: block = 1664
// CHECK: %[[C:.*]] = kernel.contract_groups {{.*}} scales(%{{.*}} : !kernel.view<[d0, 312], f32>) : !kernel.view<[d0, 4980], i8>, !kernel.view<[64, 4980], i4, panel = 16> -> tensor<[[ROWS:.*]]x64xf32>
// CHECK: kernel.store %[[C]]
kernel.def @linear_of_groups(%q: tensor<?x4980xi8> {kernel.layout = #kernel.layout<view = <[d0, 4980], i8>>},
                             %w: tensor<64x4980xi4> {kernel.layout = #kernel.layout<view = <[64, 4980], i4, panel = 16>, storage = weight>},
                             %s: tensor<?x312xf32> {kernel.layout = #kernel.layout<view = <[d0, 312], f32>>})
    -> (tensor<?x64xf32> {kernel.layout = #kernel.layout<view = <[d0, 64], f32>>}) attributes {root = #kernel.root<linear>, scalars = ["d0"]} {
  %0 = transformer.linear %q, %w scales(%s) : (tensor<?x4980xi8>, tensor<64x4980xi4>, tensor<?x312xf32>) -> tensor<?x64xf32>
  kernel.yield %0 : tensor<?x64xf32>
}
