//===- tile-codes.mlir - Products of codes -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of codes become numbers by the scales of rows and groups.

// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s
// RUN: heddle-opt %s --plan-kernels="target=vulkan level=1" --tile-kernels --split-input-file | FileCheck %s
// RUN: heddle-opt %s --plan-kernels="target=vulkan level=1-dot" --tile-kernels --split-input-file | FileCheck %s --check-prefix=SIGNED

// The sum is an integer. The contribution of the 128 of each code is known from the weight and is
// subtracted. Then the sum is multiplied by the row's scale and the column's scale.
// Matrix units and packed dot products multiply signed codes, so nothing is subtracted.
// SIGNED-LABEL: kernel.func @linear(
// SIGNED: %[[C:.*]] = kernel.contract {{.*}} {centered}
// SIGNED-NEXT: arith.sitofp %[[C]]
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
