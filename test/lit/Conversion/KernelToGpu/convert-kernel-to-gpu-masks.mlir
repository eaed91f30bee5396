//===- convert-kernel-to-gpu-masks.mlir - Masks --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A predicate has a branch of its own, and an expensive one is emitted once, in a loop.

// RUN: heddle-opt %s --split-input-file --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s
// RUN: heddle-opt %s --split-input-file --convert-kernel-to-gpu --canonicalize --cse --finish-spirv --check-dialects=allowed=spirv

// The tile is full if bit 0 of %full is set; nothing is compared then. The branch is uniform in a
// workgroup.
// CHECK-LABEL: module @mask
// CHECK: %[[TILE:.*]]:8 = scf.for
// CHECK: %[[BIT:.*]] = arith.andi %{{.*}}, %c1
// CHECK: %[[FULL:.*]] = arith.cmpi ne, %[[BIT]], %c0
// CHECK: scf.if %[[FULL]] -> (vector<4xf32>
// CHECK-NEXT: scf.yield %[[TILE]]#0
// CHECK: } else {
// CHECK: %[[TRUTH:.*]] = arith.cmpi slt
// CHECK: arith.select %[[TRUTH]], %[[TILE]]#0, %{{.*}} : vector<4xi1>, vector<4xf32>
kernel.func @mask(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[64, 16], f32, panel = 16>, %y: !kernel.view<[d0, 64], f32>) scalars(d0, d1, d2) grid(%i = d0 by 16)
    attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 8]>} {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %d1 = kernel.scalar "d1" : index
  %d2 = kernel.scalar "d2" : index
  %full = arith.index_cast %d1 : index to i32
  %n = arith.index_cast %d2 : index to i32
  %left = arith.subi %d0, %i : index
  %visited = arith.constant -1 : i32
  %t = kernel.contract %x[%i], %w[%zero] : !kernel.view<[d0, 16], f32>, !kernel.view<[64, 16], f32, panel = 16> -> tensor<16x64xf32>
  %m = kernel.mask %t tiles(%visited, %full by 64) else -1.0 : tensor<16x64xf32> {
    %c = kernel.iota columns from %zero : tensor<16x64xi32>
    %ns = kernel.broadcast %n : i32 -> tensor<16x64xi32>
    %in = arith.cmpi slt, %c, %ns : tensor<16x64xi32>
    kernel.mask.yield %in : tensor<16x64xi1>
  }
  kernel.store %m, %y[%i, %zero] rows(%left) : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
}

// -----

// A row's registers are selected before the next row is compared, because drivers keep predicates
// in scalar registers.
// CHECK-LABEL: module @rows
// CHECK: scf.if
// CHECK: } else {
// CHECK-COUNT-2: arith.cmpi sle
// CHECK-NOT: arith.cmpi sle
// CHECK-COUNT-2: arith.select %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK: arith.cmpi sle
kernel.func @rows(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[64, 16], f32, panel = 16>, %y: !kernel.view<[d0, 64], f32>) scalars(d0, d1) grid(%i = d0 by 16)
    attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 8]>} {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %d1 = kernel.scalar "d1" : index
  %full = arith.index_cast %d1 : index to i32
  %left = arith.subi %d0, %i : index
  %visited = arith.constant -1 : i32
  %t = kernel.contract %x[%i], %w[%zero] : !kernel.view<[d0, 16], f32>, !kernel.view<[64, 16], f32, panel = 16> -> tensor<16x64xf32>
  %m = kernel.mask %t tiles(%visited, %full by 64) else -1.0 : tensor<16x64xf32> {
    %c = kernel.iota columns from %zero : tensor<16x64xi32>
    %r = kernel.iota rows from %i : tensor<16x64xi32>
    %in = arith.cmpi sle, %c, %r : tensor<16x64xi32>
    kernel.mask.yield %in : tensor<16x64xi1>
  }
  kernel.store %m, %y[%i, %zero] rows(%left) : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
}

// -----

// A predicate that looks up elements is emitted once, in loops over rows and columns that pack 32
// results into a word.
// CHECK-LABEL: module @mask_by_elements
// CHECK: } else {
// CHECK: %[[WORD:.*]] = scf.for %[[ROW:.*]] = %c0{{.*}} to %c4{{.*}} step %c1{{.*}} iter_args(%[[OLD:.*]] = %c0{{.*}}) -> (i32)
// CHECK: %[[BITS:.*]] = scf.for %[[COLUMN:.*]] = %c0{{.*}} to %c8{{.*}} step %c1{{.*}} iter_args(%[[SET:.*]] = %c0{{.*}}) -> (i32)
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : i32
// CHECK-NOT: spirv.Load
// CHECK: arith.shli %c1{{.*}}, %[[COLUMN]]
// CHECK: arith.ori %[[SET]]
// CHECK: arith.shli %[[BITS]]
// CHECK: arith.ori %[[OLD]]
// CHECK: vector.broadcast %[[WORD]] : i32 to vector<4xi32>
// CHECK-COUNT-8: arith.select %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK-NOT: spirv.Load
kernel.func @mask_by_elements(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[64, 16], f32, panel = 16>, %t: !kernel.view<[d1], i32>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0, d1, d2) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 8]>} {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %d2 = kernel.scalar "d2" : index
  %full = arith.index_cast %d2 : index to i32
  %left = arith.subi %d0, %i : index
  %visited = arith.constant -1 : i32
  %s = kernel.contract %x[%i], %w[%zero] : !kernel.view<[d0, 16], f32>, !kernel.view<[64, 16], f32, panel = 16> -> tensor<16x64xf32>
  %m = kernel.mask %s tiles(%visited, %full by 64) else -1.0 : tensor<16x64xf32> {
    %r = kernel.iota rows from %i : tensor<16x64xi32>
    %c = kernel.iota columns from %zero : tensor<16x64xi32>
    %p = arith.addi %r, %c : tensor<16x64xi32>
    %v = kernel.lookup %t[%p] : !kernel.view<[d1], i32>, tensor<16x64xi32> -> tensor<16x64xi32>
    %in = arith.cmpi slt, %v, %c : tensor<16x64xi32>
    kernel.mask.yield %in : tensor<16x64xi1>
  }
  kernel.store %m, %y[%i, %zero] rows(%left) : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
}
