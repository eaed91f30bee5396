// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: not heddle-opt %s --plan-kernels=target=abacus --tile-kernels --split-input-file 2>&1 | FileCheck %s --check-prefix=WRONG

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of each root: the same ops for both kinds of device, with different tiles.

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

// -----

// Row statistics over 5 features with a pitch of 16: padding counts neither in the mean nor in the
// deviation.
// CHECK-LABEL: kernel.func @norm(
// CHECK: %[[X:.*]] = kernel.load
// CHECK: %[[IN:.*]] = kernel.broadcast %{{.*}} : tensor<1x16xi1>
// CHECK: %[[KNOWN:.*]] = arith.select %[[IN]], %[[X]]
// CHECK: kernel.reduce add %[[KNOWN]]
// CHECK: %[[D:.*]] = arith.select %[[IN]]
// CHECK: %[[S:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK: kernel.reduce add %[[S]]
// CHECK: math.sqrt
kernel.def @norm(%x: tensor<?x5xf32> {kernel.layout = #kernel.layout<view = <[d0, 5], f32>>},
                 %g: tensor<5xf32> {kernel.layout = #kernel.layout<view = <[5], f32>, storage = weight>})
    -> (tensor<?x5xf32> {kernel.layout = #kernel.layout<view = <[d0, 5], f32>>}) attributes {root = #kernel.root<norm>, scalars = ["d0"]} {
  %0 = transformer.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f32} : (tensor<?x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<?x5xf32>
  kernel.yield %0 : tensor<?x5xf32>
}

// -----

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

// -----

// Ids select rows; the padding row is zero; positions are read from a table.
// CHECK-LABEL: kernel.func @embedding(
// CHECK: %[[ROW:.*]] = kernel.load %{{.*}} as rows
// CHECK: kernel.gather %{{.*}}[%[[ROW]]]
// CHECK: arith.cmpi eq, %[[ROW]]
// CHECK: arith.select
// CHECK: kernel.load
// CHECK: arith.addf
kernel.def @embedding(%ids: tensor<?x?xi32> {kernel.layout = #kernel.layout<view = <[d0, d1], i32>>},
                      %t: tensor<9x16xf32> {kernel.layout = #kernel.layout<view = <[9, 16], f32>, storage = weight>},
                      %p: tensor<?x16xf32> {kernel.layout = #kernel.layout<view = <[d1, 16], f32>, storage = table>})
    -> (tensor<?x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 16], f32>>}) attributes {root = #kernel.root<embedding>, scalars = ["d0", "d1"]} {
  %0 = transformer.embedding %ids, %t {padding_id = 0 : i64} : (tensor<?x?xi32>, tensor<9x16xf32>) -> tensor<?x?x16xf32>
  %1 = transformer.position.sinusoidal %0 : tensor<?x?x16xf32>
  kernel.yield %1 : tensor<?x?x16xf32>
}

// -----

// Rows of a sequence are added in order; on a GPU the loop carries one quad per invocation.
// CHECK-LABEL: kernel.func @pool(
// CPU-SAME: grid(%[[N:.*]] = d0 by 1, %[[J:.*]] = 32 by 32)
// GPU-SAME: grid(%[[N:.*]] = d0 by 1, %[[J:.*]] = 32 by 16)
// CHECK: %[[ROWS:.*]] = kernel.slice %{{.*}}[%[[N]]]
// CHECK: kernel.read %{{.*}}[%[[N]]]
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK: kernel.load %[[ROWS]][%[[ROW]], %[[J]]]
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: kernel.store
kernel.def @pool(%x: tensor<?x?x24xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 24], f32>>},
                 %n: tensor<?xi32> {kernel.layout = #kernel.layout<view = <[d0], i32>>})
    -> (tensor<?x24xf32> {kernel.layout = #kernel.layout<view = <[d0, 24], f32>>}) attributes {root = #kernel.root<pool>, scalars = ["d0", "d1"]} {
  %0 = transformer.pool %x lengths(%n : tensor<?xi32>) {kinds = [#transformer.pooling<mean>]} : tensor<?x?x24xf32> -> tensor<?x24xf32>
  kernel.yield %0 : tensor<?x24xf32>
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

// -----

// Three walks over a row, 16 columns at a time: maximum, sum, and stores. The last columns are
// padding.
// CHECK-LABEL: kernel.func @softmax(
// CPU-SAME: grid(%[[I:.*]] = d0 by 4)
// GPU-SAME: grid(%[[I:.*]] = d0 by 16)
// CHECK: %[[M:.*]] = scf.for %{{.*}} iter_args
// CHECK: arith.select
// CHECK: arith.maxnumf
// CHECK: %[[TOP:.*]] = kernel.reduce max %[[M]]
// CHECK: math.roundeven %[[TOP]]
// CHECK: %[[S:.*]] = scf.for %{{.*}} iter_args
// CHECK: kernel.reduce add %[[S]]
// CHECK: scf.for
// CHECK: arith.divf
// CHECK: kernel.store
kernel.def @softmax(%x: tensor<?x40xf32> {kernel.layout = #kernel.layout<view = <[d0, 40], f32>>})
    -> (tensor<?x40xf32> {kernel.layout = #kernel.layout<view = <[d0, 40], f32>>}) attributes {root = #kernel.root<softmax>, scalars = ["d0"]} {
  %0 = transformer.softmax %x : tensor<?x40xf32>
  kernel.yield %0 : tensor<?x40xf32>
}

// -----

// Rows of a table by position, offset by a session's length.
// CHECK-LABEL: kernel.func @learned(
// CHECK: kernel.load
// CHECK: %[[N:.*]] = kernel.iota rows from
// CHECK: kernel.broadcast
// CHECK: %[[P:.*]] = arith.addi %[[N]]
// CHECK: %[[ROWS:.*]] = kernel.gather %{{.*}}[%[[P]]]
// CHECK: arith.addf %{{.*}}, %[[ROWS]]
kernel.def @learned(%x: tensor<?x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 16], f32>>},
                    %t: tensor<9x16xf32> {kernel.layout = #kernel.layout<view = <[9, 16], f32>, storage = weight>},
                    %n: i32 {kernel.layout = #kernel.layout<scalar = d2>})
    -> (tensor<?x?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, d1, 16], f32>>}) attributes {root = #kernel.root<elementwise>, scalars = ["d0", "d1", "d2"]} {
  %0 = transformer.position.learned %x, %t offset(%n : i32) : tensor<?x?x16xf32>, tensor<9x16xf32>
  kernel.yield %0 : tensor<?x?x16xf32>
}

// -----

// The mean is not subtracted and nothing is added; padding does not count.
// CHECK-LABEL: kernel.func @rms(
// CHECK-NOT: arith.subf
// CHECK: kernel.reduce add
// CHECK: math.sqrt
// CHECK-NOT: arith.addf
// CHECK: kernel.store
kernel.def @rms(%x: tensor<?x24xf32> {kernel.layout = #kernel.layout<view = <[d0, 24], f32>>},
                %g: tensor<24xf32> {kernel.layout = #kernel.layout<view = <[24], f32>, storage = weight>})
    -> (tensor<?x24xf32> {kernel.layout = #kernel.layout<view = <[d0, 24], f32>>}) attributes {root = #kernel.root<norm>, scalars = ["d0"]} {
  %0 = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x24xf32>, tensor<24xf32>) -> tensor<?x24xf32>
  kernel.yield %0 : tensor<?x24xf32>
}

// -----

// Without a square root, the divisor is the variance itself.
// CHECK-LABEL: kernel.func @rootless(
// CHECK-NOT: math.sqrt
// CHECK: kernel.store
kernel.def @rootless(%x: tensor<?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 16], f32>>},
                     %g: tensor<16xf32> {kernel.layout = #kernel.layout<view = <[16], f32>, storage = weight>})
    -> (tensor<?x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 16], f32>>}) attributes {root = #kernel.root<norm>, scalars = ["d0"]} {
  %0 = transformer.layer_norm %x, %g, %g {epsilon = 1.0e-8 : f32, root = false} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  kernel.yield %0 : tensor<?x16xf32>
}

// -----

// A loss and its count for each row; the row's id selects one of its logits.
// CHECK-LABEL: kernel.func @loss(
// CHECK: %[[IDS:.*]] = kernel.load %{{.*}} as rows
// CHECK: kernel.reduce max
// CHECK: kernel.reduce add
// CHECK: arith.cmpi eq
// CHECK: kernel.reduce add
// CHECK: kernel.store
kernel.def @loss(%x: tensor<?x24xf32> {kernel.layout = #kernel.layout<view = <[d0, 24], f32>>},
                 %r: tensor<?xi32> {kernel.layout = #kernel.layout<view = <[d0], i32>>})
    -> (tensor<?x2xf32> {kernel.layout = #kernel.layout<view = <[d0, 2], f32>>}) attributes {root = #kernel.root<loss>, scalars = ["d0"]} {
  %0 = transformer.cross_entropy.rows %x, %r {padding_id = 0 : i64} : (tensor<?x24xf32>, tensor<?xi32>) -> tensor<?x2xf32>
  kernel.yield %0 : tensor<?x2xf32>
}

// -----

// One grid point adds the rows in order.
// CHECK-LABEL: kernel.func @mean(
// CHECK-SAME: grid(%{{.*}} = 1 by 1)
// CHECK: scf.for
// CHECK: kernel.reduce add
// CHECK: kernel.reduce add
// CHECK: arith.divf
kernel.def @mean(%x: tensor<?x2xf32> {kernel.layout = #kernel.layout<view = <[d0, 2], f32>>})
    -> (tensor<1xf32> {kernel.layout = #kernel.layout<view = <[1], f32>>}) attributes {root = #kernel.root<loss_mean>, scalars = ["d0"]} {
  %0 = transformer.cross_entropy.mean %x : (tensor<?x2xf32>) -> tensor<1xf32>
  kernel.yield %0 : tensor<1xf32>
}

// -----

// Each id moves one position to the right.
// CHECK-LABEL: kernel.func @shift(
// CHECK: kernel.read
// CHECK: arith.select
// CHECK: kernel.store
kernel.def @shift(%r: tensor<?x?xi32> {kernel.layout = #kernel.layout<view = <[d0, d1], i32>>})
    -> (tensor<?x?xi32> {kernel.layout = #kernel.layout<view = <[d0, d1], i32>>}) attributes {root = #kernel.root<shift>, scalars = ["d0", "d1"]} {
  %0 = transformer.shift_right %r {start = 2 : i64} : tensor<?x?xi32>
  kernel.yield %0 : tensor<?x?xi32>
}

// -----

// Sixteen elements of a patch may belong to several channels of 3 by 3 pixels; each channel
// supplies its own.
// CHECK-LABEL: kernel.func @patches(
// CHECK-SAME: grid(%[[B:.*]] = d0 by 1, %{{.*}} = 4 by 32, %[[J:.*]] = 32 by 16)
// CHECK: scf.for %[[C:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[CHANNEL:.*]] = kernel.slice %{{.*}}[%[[B]], %[[C]]]
// CHECK: kernel.lookup %[[CHANNEL]][
// CHECK: kernel.store
kernel.def @patches(%x: tensor<?x3x6x6xf32> {kernel.layout = #kernel.layout<view = <[d0, 3, 6, 6], f32>>})
    -> (tensor<?x4x27xf32> {kernel.layout = #kernel.layout<view = <[d0, 4, 27], f32>>}) attributes {root = #kernel.root<patches>, scalars = ["d0"]} {
  %0 = transformer.patches %x {size = 3 : i64} : tensor<?x3x6x6xf32> -> tensor<?x4x27xf32>
  kernel.yield %0 : tensor<?x4x27xf32>
}

// -----

// Rows next to their neighbours: the positions before the first and after the last row are out of
// bounds, and their lookup gives 0.
// CHECK-LABEL: kernel.func @unfold(
// CHECK-SAME: grid(%[[B:.*]] = d0 by 1, %{{.*}} = 3 by 32, %{{.*}} = 32 by 16)
// CHECK: %[[INPUT:.*]] = kernel.slice %{{.*}}[%[[B]]]
// CHECK-NOT: scf.for
// CHECK: kernel.lookup %[[INPUT]][
// CHECK: kernel.store
kernel.def @unfold(%x: tensor<?x5x7xf32> {kernel.layout = #kernel.layout<view = <[d0, 5, 7], f32>>})
    -> (tensor<?x3x21xf32> {kernel.layout = #kernel.layout<view = <[d0, 3, 21], f32>>}) attributes {root = #kernel.root<patches>, scalars = ["d0"]} {
  %0 = transformer.unfold %x {size = 3 : i64, stride = 2 : i64} : tensor<?x5x7xf32> -> tensor<?x3x21xf32>
  kernel.yield %0 : tensor<?x3x21xf32>
}

// -----

// The row of a weight is prepended to the rows of each sequence, and positions are added.
// CHECK-LABEL: kernel.func @token(
// CHECK: kernel.lookup
// CHECK: kernel.lookup
// CHECK: arith.select
// CHECK: kernel.gather
// CHECK: kernel.store
kernel.def @token(%t: tensor<1x16xf32> {kernel.layout = #kernel.layout<view = <[1, 16], f32>, storage = weight>},
                  %x: tensor<?x4x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 4, 16], f32>>},
                  %p: tensor<5x16xf32> {kernel.layout = #kernel.layout<view = <[5, 16], f32>, storage = weight>})
    -> (tensor<?x5x16xf32> {kernel.layout = #kernel.layout<view = <[d0, 5, 16], f32>>}) attributes {root = #kernel.root<elementwise>, scalars = ["d0"]} {
  %0 = transformer.concat %t, %x : (tensor<1x16xf32>, tensor<?x4x16xf32>) -> tensor<?x5x16xf32>
  %1 = transformer.position.learned %0, %p : tensor<?x5x16xf32>, tensor<5x16xf32>
  kernel.yield %1 : tensor<?x5x16xf32>
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
