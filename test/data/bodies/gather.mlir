//===- gather.mlir - An embedding ------------------------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scaled row of the table for each id, plus a row of positions. Id 0 gives zeros before the
// position is added.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v2 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 | FileCheck %s
// CHECK: func.func @embed(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-NOT: kernel.

kernel.func @embed(%ids: !kernel.view<[d0], i32>, %table: !kernel.view<[100, 48], f32>, %pos: !kernel.view<[d1, 48], f32>,
                   %y: !kernel.view<[d0, 48], f32>)
    scalars(d0, d1) grid(%i = d0 by 32) {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %d1 = kernel.scalar "d1" : index
  %left = arith.subi %d0, %i : index
  %id = kernel.load %ids[%i] as rows : !kernel.view<[d0], i32> -> tensor<32x1xi32>
  %e = kernel.gather %table[%id], %zero : !kernel.view<[100, 48], f32>, tensor<32x1xi32> -> tensor<32x48xf32>
  %scale = arith.constant dense<2.0> : tensor<32x48xf32>
  %es = arith.mulf %e, %scale : tensor<32x48xf32>
  %none = arith.constant dense<0> : tensor<32x1xi32>
  %pad = arith.cmpi eq, %id, %none : tensor<32x1xi32>
  %padb = kernel.broadcast %pad : tensor<32x1xi1> -> tensor<32x48xi1>
  %zeros = arith.constant dense<0.0> : tensor<32x48xf32>
  %ez = arith.select %padb, %zeros, %es : tensor<32x48xi1>, tensor<32x48xf32>
  %r = kernel.iota rows from %i : tensor<32x1xi32>
  %len = arith.index_cast %d1 : index to i32
  %lens = kernel.broadcast %len : i32 -> tensor<32x1xi32>
  %t = arith.remsi %r, %lens : tensor<32x1xi32>
  %p = kernel.gather %pos[%t], %zero : !kernel.view<[d1, 48], f32>, tensor<32x1xi32> -> tensor<32x48xf32>
  %o = arith.addf %ez, %p : tensor<32x48xf32>
  kernel.store %o, %y[%i, %zero] rows(%left) : tensor<32x48xf32>, !kernel.view<[d0, 48], f32>
}
