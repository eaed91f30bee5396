//===- attention-gradient.mlir - Kernels of attention's gradients -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradients of attention read keys and values, or queries and gradients, in panels, and some of
// them as rows too. A causal mask bounds the keys of a tile of queries, and the queries of a tile of
// keys. Masks without a band skip chunks.

// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=cpu})" | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan})" | FileCheck %s --check-prefix=GPU
// GPU: kernel.func @query_gradient{{.*}}plan = #kernel.plan<mapping = blocked, tile = [32, 64], threads = [8, 16]>
// GPU: kernel.func @key_gradient{{.*}}plan = #kernel.plan<mapping = blocked, tile = [32, 64], threads = [8, 16]>

// One copy of the keys serves attention and the gradient of the queries. Values are copied
// for the query gradient, and queries and gradients for the key gradient.
// CHECK: kernel.launch @pack_keys(%[[K:[0-9]+]], %[[PANELS:[0-9]+]])
// CHECK: kernel.launch @attention(%{{[0-9]+}}, %[[PANELS]],
// CHECK: kernel.launch @pack_keys_2(
// CHECK: kernel.launch @query_gradient(%{{[0-9]+}}, %[[PANELS]],{{.*}} %[[K]],
// CHECK: kernel.launch @pack_keys_3(
// CHECK: kernel.launch @pack_keys_4(
// CHECK-NOT: kernel.launch @pack_keys
// CHECK: kernel.launch @key_gradient(%{{[0-9]+}}, %[[K]],

// CHECK-LABEL: kernel.func @query_gradient(
// CHECK: plan = #kernel.plan<mapping = cpu_strips, tile = [96, 512]>
// CHECK: kernel.contract {{.*}} columns
// CHECK: kernel.contract {{.*}} columns
// CHECK: kernel.contract_rows
// CHECK-NOT: kernel.contract_rows

// Heads that share keys are an outer loop, and causal masks bound the queries from below.
// CHECK-LABEL: kernel.func @key_gradient(
// CHECK: scf.for {{.*}} -> (tensor<96x16xf32>, tensor<96x32xf32>)
// CHECK: scf.for {{.*}} -> (tensor<96x16xf32>, tensor<96x32xf32>)
// CHECK: kernel.contract {{.*}} columns(%{{[0-9]+}}) from
// CHECK: kernel.contract {{.*}} columns(%{{[0-9]+}}) from
// CHECK: kernel.contract_rows
// CHECK: kernel.contract_rows
func.func @gradients(%q: tensor<?x4x?x16xf32> {transformer.name = "q", transformer.dims = ["B", 4, "T", 16]},
                     %k: tensor<?x2x?x16xf32> {transformer.name = "k", transformer.dims = ["B", 2, "T", 16]},
                     %v: tensor<?x2x?x32xf32> {transformer.name = "v", transformer.dims = ["B", 2, "T", 32]},
                     %g: tensor<?x4x?x32xf32> {transformer.name = "g", transformer.dims = ["B", 4, "T", 32]})
    -> (tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x32xf32>) {
  %m = transformer.mask.causal
  %o = transformer.attention %q, %k, %v mask(%m) {scale = 0.25 : f32}
    : (tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x32xf32>) -> tensor<?x4x?x32xf32>
  %x, %s = transformer.attention.statistics %q, %k mask(%m) {scale = 0.25 : f32} : (tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x4x?xf32>
  %dq, %d = transformer.attention.query_gradient %q, %k, %v, %g, %o, %x, %s mask(%m) {scale = 0.25 : f32}
    : (tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x32xf32>, tensor<?x4x?x32xf32>, tensor<?x4x?x32xf32>, tensor<?x4x?xf32>) -> (tensor<?x4x?x16xf32>, tensor<?x4x?xf32>)
  %dk, %dv = transformer.attention.key_gradient %q, %k, %v, %g, %x, %s, %d mask(%m) {scale = 0.25 : f32}
    : (tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x32xf32>, tensor<?x4x?x32xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>) -> (tensor<?x2x?x16xf32>, tensor<?x2x?x32xf32>)
  return %dq, %dk, %dv : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x32xf32>
}
