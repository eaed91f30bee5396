//===- tile-tables.mlir - Bodies that look rows up -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows from tables, neighbours and images: an index selects each element.

// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s

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
