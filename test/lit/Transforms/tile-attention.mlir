//===- tile-attention.mlir - Bodies of attention -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chunks of keys, masks, and tiles of a single query.

// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU

// Two query heads per key head; keys in chunks; the causal bound ends the loop, and the predicate
// is evaluated for partial tiles only.
// CHECK-LABEL: kernel.func @attention(
// CPU-SAME: grid(%[[B:.*]] = d0 by 1, %[[H:.*]] = 2 by 1, %[[I:.*]] = d1 by 96)
// GPU-SAME: grid(%[[B:.*]] = d0 by 1, %[[H:.*]] = 2 by 1, %[[I:.*]] = d1 by 32)
// CHECK: arith.divui %[[H]]
// CPU: scf.for %{{.*}} to %{{.*}} step %c512
// GPU: scf.for %{{.*}} to %{{.*}} step %c64
// CHECK: kernel.contract %{{.*}} columns({{.*}}) from(
// CHECK: kernel.mask %{{.*}} tiles(%{{.*}} by 64) else -1.70141183E+38
// CHECK: kernel.iota columns
// CHECK: kernel.mask.yield
// CHECK: %[[TOP:.*]] = kernel.reduce max
// CHECK: math.roundeven %[[TOP]] : tensor<{{.*}}x1xf32>
// CHECK: kernel.scaleb
// CHECK: kernel.reduce add
// CHECK: kernel.contract_rows {{.*}} rows({{.*}}) {guarded}
// CHECK: kernel.store
kernel.def @attention(%q: tensor<?x2x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 16], f32>>},
                      %k: tensor<?x1x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 1, d1|d2, 16], f32, panel = 16>>},
                      %v: tensor<?x1x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 1, d1, 16], f32>>})
    -> (tensor<?x?x32xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 32], f32>>}) attributes {root = #kernel.root<attention>, scalars = ["d0", "d1", "d2"]} {
  %m = transformer.mask.causal
  %0 = transformer.attention %q, %k, %v mask(%m) {scale = 0.25 : f32} : (tensor<?x2x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x2x?x16xf32>
  %1 = transformer.merge_heads %0 : tensor<?x2x?x16xf32> -> tensor<?x?x32xf32>
  kernel.yield %1 : tensor<?x?x32xf32>
}

// -----

// The heads of one query that share keys are the rows of a CPU's tile, all at the query's position.
// A GPU's tile is one query, whose chunks of keys are split among groups of its invocations.
// CHECK-LABEL: kernel.func @one_query(
// CPU-SAME: !kernel.view<[d0, 2, 3, 16], f32>
// CPU-SAME: !kernel.view<[d0, 2, 3, 16], f32>) scalars
// CPU-SAME: grid(%{{.*}} = d0 by 1, %{{.*}} = 2 by 1, %[[I:.*]] = 3 by 3)
// GPU-SAME: grid(%{{.*}} = d0 by 1, %{{.*}} = 6 by 1, %{{.*}} = 1 by 1) attributes {plan = #kernel.plan<mapping = split_keys, tile = [1, 64], threads = [4, 16]>
// CPU: kernel.contract %{{.*}}[%[[I]]]
// CPU-NOT: kernel.iota rows
// CPU: kernel.store %{{.*}}[%{{.*}}, %{{.*}}, %[[I]], %{{.*}}] rows(
kernel.def @one_query(%q: tensor<?x6x1x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 6, 1, 16], f32>>},
                      %k: tensor<?x2x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 16], f32, panel = 16>>},
                      %v: tensor<?x2x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 16], f32>>})
    -> (tensor<?x1x96xf32> {kernel.layout = #kernel.layout<view = <[d0, 1, 96], f32>>}) attributes {root = #kernel.root<attention>, scalars = ["d0", "d1"]} {
  %m = transformer.mask.causal
  %0 = transformer.attention %q, %k, %v mask(%m) {scale = 0.25 : f32} : (tensor<?x6x1x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x6x1x16xf32>
  %1 = transformer.merge_heads %0 : tensor<?x6x1x16xf32> -> tensor<?x1x96xf32>
  kernel.yield %1 : tensor<?x1x96xf32>
}

// -----

// Sinks differ by head, so heads are not combined. The single query of a head is then a separate
// tile on CPUs too, so that registers hold only that row.
// CHECK-LABEL: kernel.func @one_query_with_sinks(
// CHECK-SAME: grid(%{{.*}} = d0 by 1, %{{.*}} = 6 by 1, %{{.*}} = 1 by 1)
// CPU: kernel.contract {{.*}} tensor<1x512xf32>
// GPU: kernel.contract {{.*}} tensor<1x64xf32>
kernel.def @one_query_with_sinks(%q: tensor<?x6x1x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 6, 1, 16], f32>>},
                                 %k: tensor<?x2x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 16], f32, panel = 16>>},
                                 %v: tensor<?x2x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 2, d1, 16], f32>>},
                                 %s: tensor<6xf32> {kernel.layout = #kernel.layout<view = <[6], f32>>})
    -> (tensor<?x6x1x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 6, 1, 16], f32>>}) attributes {root = #kernel.root<attention>, scalars = ["d0", "d1"]} {
  %0 = transformer.attention %q, %k, %v sinks(%s : tensor<6xf32>) {scale = 0.25 : f32} : (tensor<?x6x1x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x6x1x16xf32>
  kernel.yield %0 : tensor<?x6x1x16xf32>
}
