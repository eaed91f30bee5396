//===- int8-dot4.mlir - Products of bytes ----------------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A load reads four words of four products each, computed as floats. The sums of a block of
// features are exact, and are added to integers after the block. A word of the result holds four
// elements.

// RUN: heddle-opt %s --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: module @quads
// CHECK-DAG: @binding0 bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0])>, StorageBuffer>
// CHECK: scf.for {{.*}} -> (vector<4xf32>
// CHECK: arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK: arith.uitofp %{{.*}} : vector<4xi32> to vector<4xf32>
// CHECK: arith.sitofp %{{.*}} : vector<4xi32> to vector<4xf32>
// CHECK-COUNT-4: math.fma %{{.*}} : vector<4xf32>
// CHECK: scf.yield
// CHECK: arith.fptosi %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK-COUNT-3: arith.ori %{{.*}} : i32
// CHECK: spirv.Store "StorageBuffer" %{{.*}} : f32
kernel.func @quads(%x: !kernel.view<[d0, 32], i8>, %w: !kernel.view<[16, 32], i8, panel = 16>, %y: !kernel.view<[d0, 16], i8>)
    scalars(d0) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%z] : !kernel.view<[d0, 32], i8>, !kernel.view<[16, 32], i8, panel = 16> -> tensor<32x16xi32>
  %r = arith.trunci %c : tensor<32x16xi32> to tensor<32x16xi8>
  kernel.store %r, %y[%i, %z] : tensor<32x16xi8>, !kernel.view<[d0, 16], i8>
}

// The 128 of a centered product is subtracted from each byte of the row.
// CHECK-LABEL: module @centered
// CHECK: arith.constant dense<-1.280000e+02> : vector<4xf32>
// CHECK-COUNT-4: math.fma %{{.*}} : vector<4xf32>
kernel.func @centered(%x: !kernel.view<[d0, 32], i8>, %w: !kernel.view<[16, 32], i8, panel = 16>, %y: !kernel.view<[d0, 16], i8>)
    scalars(d0) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%z] {centered} : !kernel.view<[d0, 32], i8>, !kernel.view<[16, 32], i8, panel = 16> -> tensor<32x16xi32>
  %r = arith.trunci %c : tensor<32x16xi32> to tensor<32x16xi8>
  kernel.store %r, %y[%i, %z] : tensor<32x16xi8>, !kernel.view<[d0, 16], i8>
}

// Few rows: an iteration has two words of four products each, and loads each word of a row alone.
// CHECK-LABEL: module @few
// CHECK: spirv.ControlBarrier
// CHECK: scf.for %{{.*}} step %c2_i32
// CHECK: spirv.Load "Workgroup" %{{.*}} : f32
// CHECK-COUNT-8: math.fma %{{.*}} : vector<4xf32>
// CHECK-NOT: math.fma
// CHECK: scf.yield
kernel.func @few(%x: !kernel.view<[d0, 512], i8>, %w: !kernel.view<[32, 512], i8, panel = 16>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 8, %j = 32 by 16) attributes {few_rows = "d0", plan = #kernel.plan<mapping = few_rows, threads = [8, 16], block = 64, ahead = 1>} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 512], i8>, !kernel.view<[32, 512], i8, panel = 16> -> tensor<8x16xi32>
  %f = arith.sitofp %c : tensor<8x16xi32> to tensor<8x16xf32>
  kernel.store %f, %y[%i, %j] : tensor<8x16xf32>, !kernel.view<[d0, 32], f32>
}
