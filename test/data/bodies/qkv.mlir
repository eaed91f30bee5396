//===- qkv.mlir - Three projections in one launch --------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries and values are stored to heads as rows, and keys as panels, at row `d3` of a cache of
// `d4` rows. There are two heads of 32; rows of the grid belong to one sequence.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v2 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 | FileCheck %s
// CHECK: func.func @qkv(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-NOT: kernel.

kernel.func @qkv(%x: !kernel.view<[d0, d1, 40], f32>, %wq: !kernel.view<[64, 40], f32, panel = 16>, %wk: !kernel.view<[64, 40], f32, panel = 16>,
                 %wv: !kernel.view<[64, 40], f32, panel = 16>, %q: !kernel.view<[d0, 2, d1|d2, 32], f32>,
                 %k: !kernel.view<[d0, 2, d3|d4, 32], f32, panel = 16>, %v: !kernel.view<[d0, 2, d3|d4, 32], f32>)
    scalars(d0, d1, d2, d3, d4) grid(%b = d0 by 1, %i = d1 by 96) {
  kernel.part(%j = 64 by 32) {
    %d1 = kernel.scalar "d1" : index
    %left = arith.subi %d1, %i : index
    %n = arith.constant 32 : index
    %zero = arith.constant 0 : index
    %h = arith.divui %j, %n : index
    %xb = kernel.slice %x[%b] : !kernel.view<[d0, d1, 40], f32> -> !kernel.view<[d1, 40], f32>
    %c = kernel.contract %xb[%i], %wq[%j] : !kernel.view<[d1, 40], f32>, !kernel.view<[64, 40], f32, panel = 16> -> tensor<96x32xf32>
    kernel.store %c, %q[%b, %h, %i, %zero] rows(%left) : tensor<96x32xf32>, !kernel.view<[d0, 2, d1|d2, 32], f32>
  }
  kernel.part(%j = 64 by 32) {
    %d1 = kernel.scalar "d1" : index
    %past = kernel.scalar "d3" : index
    %left = arith.subi %d1, %i : index
    %n = arith.constant 32 : index
    %zero = arith.constant 0 : index
    %h = arith.divui %j, %n : index
    %row = arith.addi %past, %i : index
    %xb = kernel.slice %x[%b] : !kernel.view<[d0, d1, 40], f32> -> !kernel.view<[d1, 40], f32>
    %c = kernel.contract %xb[%i], %wk[%j] : !kernel.view<[d1, 40], f32>, !kernel.view<[64, 40], f32, panel = 16> -> tensor<96x32xf32>
    kernel.store %c, %k[%b, %h, %row, %zero] rows(%left) : tensor<96x32xf32>, !kernel.view<[d0, 2, d3|d4, 32], f32, panel = 16>
  }
  kernel.part(%j = 64 by 32) {
    %d1 = kernel.scalar "d1" : index
    %past = kernel.scalar "d3" : index
    %left = arith.subi %d1, %i : index
    %n = arith.constant 32 : index
    %zero = arith.constant 0 : index
    %h = arith.divui %j, %n : index
    %row = arith.addi %past, %i : index
    %xb = kernel.slice %x[%b] : !kernel.view<[d0, d1, 40], f32> -> !kernel.view<[d1, 40], f32>
    %c = kernel.contract %xb[%i], %wv[%j] : !kernel.view<[d1, 40], f32>, !kernel.view<[64, 40], f32, panel = 16> -> tensor<96x32xf32>
    kernel.store %c, %v[%b, %h, %row, %zero] rows(%left) : tensor<96x32xf32>, !kernel.view<[d0, 2, d3|d4, 32], f32>
  }
}
