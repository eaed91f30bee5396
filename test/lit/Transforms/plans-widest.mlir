//===- plans-widest.mlir - Tiles of 256 columns on matrix units -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An experiment gives products on matrix units the widest tiles, with two buffers. The form for few
// rows, layers of at most 2048 columns and levels with 32 KiB of workgroup memory keep their tiles.

// RUN: env HEDDLE_PLAN_ROWS=matrix/widest=8,1,2 heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan level=2-16x16x16 dtype=f16})" | FileCheck %s --check-prefix=WIDEST
// RUN: env HEDDLE_PLAN_ROWS=matrix/widest=8,1,2 heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan level=2-8x8x8 dtype=f16})" | FileCheck %s --check-prefix=SMALL
// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan level=2-16x16x16 dtype=f16})" | FileCheck %s --check-prefix=USUAL
// RUN: env HEDDLE_PLAN_ROWS=matrix/widest=8,1,2 heddle-opt %s --pass-pipeline="builtin.module(heddle-to-tiled{target=vulkan level=2-16x16x16 dtype=f16})" | heddle-opt --convert-kernel-to-gpu=level=2-16x16x16 | FileCheck %s --check-prefix=CODE

// WIDEST: @linear_relu({{.*}}plan = #kernel.plan<mapping = matrix, tile = [128, 256], threads = [16, 16], block = 8, ahead = 1, buffers = 2, rounded = true>
// WIDEST: @linear_relu_few({{.*}}plan = #kernel.plan<mapping = matrix_few_rows, tile = [16, 16], threads = [16, 16]
// WIDEST: @linear({{.*}}plan = #kernel.plan<mapping = matrix, tile = [128, 64]
// SMALL: @linear_relu({{.*}}plan = #kernel.plan<mapping = matrix, tile = [64, 128], threads = [8, 16], block = 16, ahead = 1, rounded = true>
// USUAL: @linear_relu({{.*}}plan = #kernel.plan<mapping = matrix, tile = [128, 128], threads = [16, 16], block = 16, ahead = 1, rounded = true>

// A block has 384 rows of three vec4s, in two buffers. A subgroup has 64 x 64 sums: for 16 features
// it loads four matrices of each side and multiplies sixteen times. An iteration has two blocks.
// CODE: spirv.GlobalVariable @{{.*}} : !spirv.ptr<!spirv.array<2304 x vector<4xf32>>, Workgroup>
// CODE: scf.for %{{.*}} step %c16_i32
// CODE: spirv.ControlBarrier
// CODE-COUNT-4: CooperativeMatrixLoad %{{.*}}, <RowMajor>
// CODE-COUNT-16: spirv.KHR.CooperativeMatrixMulAdd
// CODE-NOT: spirv.KHR.CooperativeMatrixMulAdd
// CODE: spirv.ControlBarrier
// CODE-NOT: spirv.ControlBarrier
// CODE: scf.yield
func.func @f(%x: tensor<?x4096xf32> {transformer.name = "x", transformer.dims = ["M", 4096]}) -> tensor<?x2048xf32> {
  %w = transformer.weight "w" : tensor<4096x4096xf32>
  %v = transformer.weight "v" : tensor<2048x4096xf32>
  %h = transformer.linear %x, %w {activation = #transformer.activation<relu>} : (tensor<?x4096xf32>, tensor<4096x4096xf32>) -> tensor<?x4096xf32>
  %y = transformer.linear %h, %v : (tensor<?x4096xf32>, tensor<2048x4096xf32>) -> tensor<?x2048xf32>
  return %y : tensor<?x2048xf32>
}
