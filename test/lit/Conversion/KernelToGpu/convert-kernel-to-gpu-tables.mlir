//===- convert-kernel-to-gpu-tables.mlir - Lookups -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No index leaves its table, and lookups in matrices are emitted by element.

// RUN: heddle-opt %s --split-input-file --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s
// RUN: heddle-opt %s --split-input-file --convert-kernel-to-gpu --canonicalize --cse --finish-spirv --check-dialects=allowed=spirv

// The unsigned comparison catches negative indices. An index outside the table loads element 0 and
// yields 0.
// CHECK-LABEL: module @lookup
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[INDEX:.*]], %{{.*}} : vector<4xi32>
// CHECK-DAG: %[[LANE:.*]] = vector.extract %[[INDEX]][0]
// CHECK-DAG: %[[HERE:.*]] = vector.extract %[[INSIDE]][0]
// CHECK: %[[SAFE:.*]] = arith.select %[[HERE]], %[[LANE]], %c0
// CHECK: arith.addi %{{.*}}, %[[SAFE]]
// CHECK: %[[FOUND:.*]] = spirv.Load "StorageBuffer" %{{.*}} : i32
// CHECK: arith.select %[[HERE]], %[[FOUND]], %c0
kernel.func @lookup(%t: !kernel.view<[d1], i32>, %y: !kernel.view<[d0, 64], f32>) scalars(d0, d1) grid(%i = d0 by 16) {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %c = kernel.iota columns from %i : tensor<16x64xi32>
  %v = kernel.lookup %t[%c] : !kernel.view<[d1], i32>, tensor<16x64xi32> -> tensor<16x64xi32>
  %f = arith.sitofp %v : tensor<16x64xi32> to tensor<16x64xf32>
  kernel.store %f, %y[%i, %zero] rows(%left) : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
}

// -----

// Only the part of a range inside the table is read. A part outside counts as 0, as does an empty
// range.
// CHECK-LABEL: module @table_range
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %[[BEGIN:.*]], %[[END:.*]] : i32
// CHECK: scf.if %[[SOME]] -> (i32, i32)
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: } else {
// CHECK: scf.yield %c0{{.*}}, %c0
kernel.func @table_range(%t: !kernel.view<[d1], i32>, %y: !kernel.view<[d0, 64], f32>) scalars(d0, d1) grid(%i = d0 by 16) {
  %zero = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %end = arith.addi %i, %c16 : index
  %low, %high = kernel.table_range %t[%i to %end] : !kernel.view<[d1], i32>
  %s = arith.subi %high, %low : i32
  %v = kernel.broadcast %s : i32 -> tensor<16x64xi32>
  %f = arith.sitofp %v : tensor<16x64xi32> to tensor<16x64xf32>
  kernel.store %f, %y[%i, %zero] rows(%left) : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
}

// -----

// Loops insert looked-up values into registers one by one. Indices are computed in the loops only.
// CHECK-LABEL: module @lookup_by_elements
// CHECK: %[[SUMS:.*]]:8 = scf.for
// CHECK: %[[FOUND:.*]]:8 = scf.for %[[ROW:.*]] = %c0{{.*}} to %c4{{.*}} step %c1
// CHECK: %[[LINE:.*]]:2 = scf.for %{{.*}} = %c0{{.*}} to %c8{{.*}} step %c1
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : f32
// CHECK-NOT: spirv.Load
// CHECK: arith.cmpi eq, %[[ROW]], %c0
// CHECK: arith.cmpi eq, %[[ROW]], %c3
// CHECK: scf.yield
// CHECK-NOT: arith.muli
// CHECK: arith.addf %[[SUMS]]#0, %[[FOUND]]#0
kernel.func @lookup_by_elements(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[64, 16], f32, panel = 16>, %t: !kernel.view<[d1], f32>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0, d1) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 8]>} {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %s = kernel.contract %x[%i], %w[%zero] : !kernel.view<[d0, 16], f32>, !kernel.view<[64, 16], f32, panel = 16> -> tensor<16x64xf32>
  %r = kernel.iota rows from %i : tensor<16x64xi32>
  %c = kernel.iota columns from %zero : tensor<16x64xi32>
  %p = arith.muli %r, %c : tensor<16x64xi32>
  %v = kernel.lookup %t[%p] : !kernel.view<[d1], f32>, tensor<16x64xi32> -> tensor<16x64xf32>
  %u = arith.addf %s, %v : tensor<16x64xf32>
  kernel.store %u, %y[%i, %zero] rows(%left) : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
}
