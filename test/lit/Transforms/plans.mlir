//===- plans.mlir - Plans of tiled bodies per target -----------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of definitions. On the CPU, long products with weights use blocks of features, and loops
// over keys surround the rows. On a GPU, a smaller tile has a smaller workgroup.

// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=cpu})" | FileCheck %s --check-prefix=CPU
// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan})" | FileCheck %s --check-prefix=GPU
// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan level=1})" | FileCheck %s --check-prefix=TEAM
// RUN: not heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan level=7})" 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: error: plan-kernels: expected one of 0, 1, 1-dot, {{.*}} as level of Vulkan devices, found 7

// CPU: @linear({{.*}}plan = #kernel.plan<mapping = cpu_tiles, tile = [128, 32], block = 512, ahead = 1>
// CPU: @norm({{.*}}plan = #kernel.plan<mapping = cpu_tiles, tile = [32, 32]>
// CPU: @relayout({{.*}}plan = #kernel.plan<mapping = cpu_tiles, tile = [32, 16]>
// CPU: @attention({{.*}}plan = #kernel.plan<mapping = cpu_strips, tile = [96, 512]>
// GPU: @linear({{.*}}plan = #kernel.plan<mapping = blocked, tile = [64, 32], threads = [8, 8]>
// GPU: @linear_few({{.*}}few_rows = "d0"{{.*}}plan = #kernel.plan<mapping = few_rows, tile = [8, 16], threads = [8, 16], block = 32, ahead = 2>
// GPU: @norm({{.*}}plan = #kernel.plan<mapping = strided, tile = [16, 32], threads = [16, 4]>
// GPU: @relayout({{.*}}plan = #kernel.plan<mapping = strided, tile = [32, 16], threads = [16, 4]>
// GPU: @attention({{.*}}plan = #kernel.plan<mapping = blocked, tile = [32, 64], threads = [4, 4]>
// TEAM: @linear({{.*}}plan = #kernel.plan<mapping = staged, tile = [128, 32], threads = [16, 4], block = 8, ahead = 2>
// TEAM: @linear_few({{.*}}few_rows = "d0"{{.*}}plan = #kernel.plan<mapping = few_rows, tile = [8, 16], threads = [8, 16], block = 32, ahead = 2>
// TEAM: @norm({{.*}}plan = #kernel.plan<mapping = strided, tile = [8, 32], threads = [8, 8]>
// TEAM: @attention({{.*}}plan = #kernel.plan<mapping = own_rows, tile = [64, 64], threads = [64, 1]>
func.func @f(%x: tensor<?x?x2048xf32> {transformer.name = "x", transformer.dims = ["B", "S", 2048]}) -> tensor<?x?x32xf32> {
  %w = transformer.weight "w" : tensor<32x2048xf32>
  %g = transformer.weight "g" : tensor<32xf32>
  %y = transformer.linear %x, %w : (tensor<?x?x2048xf32>, tensor<32x2048xf32>) -> tensor<?x?x32xf32>
  %n = transformer.rms_norm %y, %g {epsilon = 1.0e-05 : f32} : (tensor<?x?x32xf32>, tensor<32xf32>) -> tensor<?x?x32xf32>
  %h = transformer.split_heads %n {heads = 2 : i64} : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %a = transformer.attention %h, %h, %h {scale = 0.25 : f32} : (tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32>
  %o = transformer.merge_heads %a : tensor<?x2x?x16xf32> -> tensor<?x?x32xf32>
  return %o : tensor<?x?x32xf32>
}

// From level 1, layers of at most 2048 columns have tiles of half the width, so that more
// workgroups take part. Their blocks are half as long, with two in flight, except for codes, which
// are loaded after the products. With matrix units, layers have twice the invocations and blocks of
// four steps. Blocks of few rows take 32 KiB, and several rows are staged in parts.
// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan level=2-16x16x16})" | FileCheck %s --check-prefix=UNITS
// TEAM: @linear_2({{.*}}4096 by 128){{.*}}threads = [16, 16], block = 16, ahead = 1>
// TEAM: @linear_3({{.*}}2048 by 64){{.*}}threads = [16, 8], block = 8, ahead = 2>
// UNITS: @linear_2({{.*}}4096 by 128){{.*}}mapping = matrix, tile = [128, 128], threads = [16, 16], block = 
// UNITS: @linear_2_few({{.*}}threads = [16, 16], block = 512, ahead = 1, rowBlock = 64>
// UNITS: @linear_3({{.*}}2048 by 64){{.*}}threads = [32, 8], block = 32, ahead = 1>
// UNITS: @linear_3_few({{.*}}threads = [16, 16], block = 512, ahead = 1, rowBlock = 64>
func.func @columns(%x: tensor<?x4096xf32> {transformer.name = "x", transformer.dims = ["M", 4096]}) -> (tensor<?x4096xf32>, tensor<?x2048xf32>) {
  %v = transformer.weight "v" : tensor<4096x4096xbf16>
  %w = transformer.weight "u" : tensor<2048x4096xbf16>
  %r = arith.truncf %x : tensor<?x4096xf32> to tensor<?x4096xbf16>
  %y = transformer.linear %r, %v : (tensor<?x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<?x4096xf32>
  %z = transformer.linear %r, %w : (tensor<?x4096xbf16>, tensor<2048x4096xbf16>) -> tensor<?x2048xf32>
  return %y, %z : tensor<?x4096xf32>, tensor<?x2048xf32>
}

// A kernel rounds the rows of f16 before matrix units multiply them. The product is the product of
// rows that are f16, with a scale for each. Few rows are rounded by the kernel that multiplies them.
// TEAM-NOT: @linear_4_rounded
// UNITS: @linear_4(%{{.*}}f32>, %{{.*}}f16, panel = 16>, %{{.*}}f32>, %[[ROWS:.*]]: !kernel.view<[d0, 4096], f16>, %[[SCALES:.*]]: !kernel.view<[d0, 1], f32>){{.*}}threads = [16, 16], block = 16, ahead = 1, rounded = true>
// UNITS: kernel.contract %[[ROWS]]
// UNITS: kernel.load %[[SCALES]]
// UNITS: @linear_4_few({{.*}}mapping = matrix_few_rows{{.*}}block = 512, ahead = 1, rowBlock = 64>
// UNITS: @linear_4_rounded({{.*}}mapping = wide_rows, tile = [1, 4096], threads = [1, 256]>{{.*}}rounds
func.func @halves(%x: tensor<?x4096xf32> {transformer.name = "x", transformer.dims = ["M", 4096]}) -> tensor<?x4096xf32> {
  %w = transformer.weight "half" : tensor<4096x4096xf16>
  %y = transformer.linear %x, %w : (tensor<?x4096xf32>, tensor<4096x4096xf16>) -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}

// Matrix units compute the two products of a gated layer together. Tiles have half the width for
// the same number of sums. Blocks hold the columns of both products and are as long as the blocks
// of wide tiles.
// TEAM: @linear2_relu_mul({{.*}}4096 by 128){{.*}}mapping = staged, tile = [128, 128], threads = [16, 16], block = 
// UNITS: @linear2_relu_mul({{.*}}4096 by 64){{.*}}threads = [32, 8], block = 16, ahead = 1>
// UNITS: @linear2_relu_mul_few({{.*}}block = 256, ahead = 1, rowBlock = 64>
func.func @gated(%x: tensor<?x512xf32> {transformer.name = "x", transformer.dims = ["M", 512]}) -> tensor<?x4096xf32> {
  %v = transformer.weight "gate" : tensor<4096x512xbf16>
  %w = transformer.weight "up" : tensor<4096x512xbf16>
  %r = arith.truncf %x : tensor<?x512xf32> to tensor<?x512xbf16>
  %g = transformer.linear %r, %v {activation = #transformer.activation<relu>} : (tensor<?x512xbf16>, tensor<4096x512xbf16>) -> tensor<?x4096xf32>
  %u = transformer.linear %r, %w : (tensor<?x512xbf16>, tensor<4096x512xbf16>) -> tensor<?x4096xf32>
  %y = arith.mulf %g, %u : tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
