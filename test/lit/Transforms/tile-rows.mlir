//===- tile-rows.mlir - Bodies that walk over rows -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, pooling, softmax and losses: statistics of a row, in order.

// RUN: heddle-opt %s --plan-kernels=target=cpu --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: heddle-opt %s --plan-kernels=target=vulkan --tile-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU

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
