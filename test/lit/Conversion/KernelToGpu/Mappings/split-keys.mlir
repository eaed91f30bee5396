//===- split-keys.mlir - Chunks of keys by groups of invocations -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapping `split_keys` with `threads = [4, 16]`: each of four groups of sixteen invocations takes a
// chunk of 64 keys. The first group merges the results in workgroup memory, in order.

// RUN: heddle-opt %s --convert-kernel-to-gpu --split-input-file --verify-diagnostics --canonicalize --cse | FileCheck %s

// CHECK-LABEL: module @step
// CHECK-SAME: kernel.workgroup = array<i32: 64, 1, 1>
// CHECK-DAG: !spirv.array<64 x vector<4xf32>>, Workgroup
// CHECK-DAG: !spirv.array<32 x vector<4xf32>>, Workgroup
// CHECK: scf.for %[[FIRST:.*]] = %c0_i32 to %[[END:.*]] step %c256_i32
// A group without a chunk has the first group's chunk and no iterations.
// CHECK: %[[OWN:.*]] = arith.addi %[[FIRST]], %{{.*}} : i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[OWN]], %[[END]] : i32
// CHECK: arith.select %[[EXISTS]], %[[OWN]], %[[FIRST]] : i32
// All loads of an iteration precede its products.
// CHECK: scf.for
// CHECK-COUNT-16: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: math.fma
// The tail of the keys is one iteration, which reads rows after the last as the last.
// CHECK: scf.for
// CHECK: math.fma
// CHECK: scf.for
// CHECK: arith.minsi
// CHECK: spirv.ControlBarrier
// CHECK: scf.for %{{.*}} = %c0_i32 to %{{.*}} step %c1_i32
// CHECK-NOT: spirv.ControlBarrier
// CHECK: arith.addf
kernel.func @step(%q: !kernel.view<[1, 32], f32>, %k: !kernel.view<[d0, 32], f32, panel = 16>, %v: !kernel.view<[d0, 32], f32>, %y: !kernel.view<[1, 32], f32>)
    scalars(d0) grid(%i = 1 by 1) attributes {plan = #kernel.plan<mapping = split_keys, threads = [4, 16]>} {
  %z = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<1x32xf32>
  %n = kernel.scalar "d0" : index
  %sum = scf.for %c = %z to %n step %c64 iter_args(%before = %zero) -> (tensor<1x32xf32>) {
    %left = arith.subi %n, %c : index
    %count = arith.minsi %left, %c64 : index
    %s = kernel.contract %q[%i], %k[%c] : !kernel.view<[1, 32], f32>, !kernel.view<[d0, 32], f32, panel = 16> -> tensor<1x64xf32>
    %o = kernel.contract_rows %s, %v[%c] rows(%count) {guarded} : tensor<1x64xf32>, !kernel.view<[d0, 32], f32> -> tensor<1x32xf32>
    %next = arith.addf %before, %o : tensor<1x32xf32>
    scf.yield %next : tensor<1x32xf32>
  }
  kernel.store %sum, %y[%i, %z] : tensor<1x32xf32>, !kernel.view<[1, 32], f32>
}

// -----

// Groups exchange tiles, but no scalars.
kernel.func @scalar(%q: !kernel.view<[1, 32], f32>, %k: !kernel.view<[d0, 32], f32, panel = 16>, %v: !kernel.view<[d0, 32], f32>, %y: !kernel.view<[1, 32], f32>)
    scalars(d0) grid(%i = 1 by 1) attributes {plan = #kernel.plan<mapping = split_keys, threads = [4, 16]>} {
  %z = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<1x32xf32>
  %n = kernel.scalar "d0" : index
  %sum:2 = scf.for %c = %z to %n step %c64 iter_args(%before = %zero, %keys = %z) -> (tensor<1x32xf32>, index) {
    %left = arith.subi %n, %c : index
    // expected-error @+1 {{expected tiles to be merged, found 'index'}}
    %count = arith.minsi %left, %c64 : index
    %s = kernel.contract %q[%i], %k[%c] : !kernel.view<[1, 32], f32>, !kernel.view<[d0, 32], f32, panel = 16> -> tensor<1x64xf32>
    %o = kernel.contract_rows %s, %v[%c] rows(%count) {guarded} : tensor<1x64xf32>, !kernel.view<[d0, 32], f32> -> tensor<1x32xf32>
    %next = arith.addf %before, %o : tensor<1x32xf32>
    %all = arith.addi %keys, %count : index
    scf.yield %next, %all : tensor<1x32xf32>, index
  }
  kernel.store %sum#0, %y[%i, %z] : tensor<1x32xf32>, !kernel.view<[1, 32], f32>
}
