//===- convert-kernel-to-gpu.mlir - Code of one invocation -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bindings, push constants, blocks of words and grid; strided and blocked columns;
// workgroup memory; branches of parts.

// RUN: heddle-opt %s --split-input-file --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @do_nothing
func.func @do_nothing() {
  return
}

// -----

// Four invocations share a row, each with every fourth vec4: a loop over columns, and one branch if
// all rows exist.
// CHECK-LABEL: module @double attributes {kernel.workgroup = array<i32: 64, 1, 1>}
// CHECK-DAG: spirv.GlobalVariable @binding0 bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0])>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @{{.*}} : !spirv.ptr<!spirv.struct<(!spirv.array<6 x i32, stride=4> [0])>, PushConstant>
// CHECK: spirv.func @main()
// CHECK: scf.for
// CHECK: spirv.Load "StorageBuffer" %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}} : vector<4xf32>
// CHECK: scf.if
// CHECK: spirv.Store "StorageBuffer"
// CHECK: spirv.EntryPoint "GLCompute" @main
// CHECK: spirv.ExecutionMode @main "LocalSize", 64, 1, 1
kernel.func @double(%x: !kernel.view<[d0, 128], f32>, %y: !kernel.view<[d0, 128], f32>) scalars(d0) grid(%i = d0 by 32) {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 128], f32> -> tensor<32x128xf32>
  %s = arith.addf %t, %t : tensor<32x128xf32>
  %m = kernel.scalar "d0" : index
  %left = arith.subi %m, %i : index
  kernel.store %s, %y[%i, %z] rows(%left) : tensor<32x128xf32>, !kernel.view<[d0, 128], f32>
}

// -----

// More than 32 words: all but the grid's base are in a buffer, which is read four words at a time.
// CHECK-LABEL: module @words
// CHECK-DAG: spirv.GlobalVariable @binding3 bind(0, 3) : !spirv.ptr<!spirv.struct<(!spirv.array<8 x vector<4xi32>, stride=16> [0, NonWritable])>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @{{.*}} : !spirv.ptr<!spirv.struct<(!spirv.array<3 x i32, stride=4> [0])>, PushConstant>
// CHECK-COUNT-8: spirv.Load "StorageBuffer" %{{.*}} : vector<4xi32>
// CHECK-NEXT: spirv.CompositeExtract %{{.*}}[0 : i32] : vector<4xi32>
// CHECK-NEXT: spirv.CompositeExtract %{{.*}}[1 : i32] : vector<4xi32>
// CHECK-COUNT-3: spirv.Load "PushConstant" %{{.*}} : i32
kernel.func @words(%x: !kernel.view<[a0, 16], f32>, %y: !kernel.view<[a0, 16], f32>)
    scalars(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7) grid(%i = a0 by 16) {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[a0, 16], f32> -> tensor<16x16xf32>
  kernel.store %t, %y[%i, %z] : tensor<16x16xf32>, !kernel.view<[a0, 16], f32>
}

// -----

// Weights have a read-only binding, integers a third one. A product is a chain of fused
// multiply-adds.
// CHECK-LABEL: module @project attributes {kernel.workgroup = array<i32: 64, 1, 1>}
// CHECK-DAG: spirv.GlobalVariable @binding1 bind(0, 1) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0, NonWritable])>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @binding2 bind(0, 2) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0, NonWritable])>, StorageBuffer>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %{{.*}} step %c4{{.*}} iter_args
// CHECK-COUNT-128: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// CHECK-NOT: spirv.ControlBarrier
kernel.func @project(%n: !kernel.view<[1], i32>, %x: !kernel.view<[d0, 32], f32>, %w: !kernel.view<[128, 32], f32, panel = 16>, %y: !kernel.view<[d0, 128], f32>)
    scalars(d0) grid(%i = d0 by 64, %j = 128 by 128)
    attributes {plan = #kernel.plan<mapping = blocked, threads = [8, 8]>, storage = [#kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 32], f32>, !kernel.view<[128, 32], f32, panel = 16> -> tensor<64x128xf32>
  %n32 = kernel.read %n[%z] : !kernel.view<[1], i32> -> i32
  %left = arith.index_cast %n32 : i32 to index
  kernel.store %c, %y[%i, %j] rows(%left) : tensor<64x128xf32>, !kernel.view<[d0, 128], f32>
}

// -----

// Sums of rows: the four invocations of a row exchange lanes through workgroup memory.
// CHECK-LABEL: module @sum
// CHECK: spirv.GlobalVariable @shared3 : !spirv.ptr<!spirv.array<64 x vector<4xf32>>, Workgroup>
// CHECK: scf.for
// CHECK: arith.addf %{{.*}} : vector<4xf32>
// CHECK: spirv.Store "Workgroup"
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
// CHECK-COUNT-4: spirv.Load "Workgroup"
// CHECK-COUNT-3: arith.addf %{{.*}} : vector<4xf32>
kernel.func @sum(%x: !kernel.view<[d0, 80], f32>, %y: !kernel.view<[d0], f32>) scalars(d0) grid(%i = d0 by 16) {
  %z = arith.constant 0 : index
  %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 80], f32> -> tensor<16x80xf32>
  %s = kernel.reduce add %t : tensor<16x80xf32> -> tensor<16x1xf32>
  %m = kernel.scalar "d0" : index
  %left = arith.subi %m, %i : index
  kernel.store_vector %s, %y[%i] rows(%left) : tensor<16x1xf32>, !kernel.view<[d0], f32>
}

// -----

// A tile on the left is staged once. A sum that is not finite restarts without the products that
// the mask hides.
// CHECK-LABEL: module @weigh
// CHECK: spirv.GlobalVariable @shared0 : !spirv.ptr<!spirv.array<512 x vector<4xf32>>, Workgroup>
// CHECK: spirv.Store "Workgroup"
// CHECK: spirv.ControlBarrier
// CHECK-NOT: spirv.ControlBarrier
// CHECK: scf.for
// CHECK: math.fma
// CHECK: arith.cmpi sge, %{{.*}} : vector<4xi32>
// CHECK: %[[FROM:.*]] = arith.select %{{.*}}, %c0_i32, %{{.*}} : i32
// CHECK: scf.for %{{.*}} = %[[FROM]]
// CHECK: arith.cmpf oeq
kernel.func @weigh(%q: !kernel.view<[d0, 32], f32>, %k: !kernel.view<[d0, 32], f32, panel = 16>, %v: !kernel.view<[d0, 32], f32>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 8]>} {
  %z = arith.constant 0 : index
  %m = kernel.scalar "d0" : index
  %s = kernel.contract %q[%i], %k[%z] : !kernel.view<[d0, 32], f32>, !kernel.view<[d0, 32], f32, panel = 16> -> tensor<32x64xf32>
  %o = kernel.contract_rows %s, %v[%z] rows(%m) {guarded} : tensor<32x64xf32>, !kernel.view<[d0, 32], f32> -> tensor<32x32xf32>
  %left = arith.subi %m, %i : index
  kernel.store %o, %y[%i, %z] rows(%left) : tensor<32x32xf32>, !kernel.view<[d0, 32], f32>
}

// -----

// Parts are branches that are uniform in a workgroup.
// CHECK-LABEL: module @parts
// CHECK: %[[HERE:.*]] = arith.cmpi slt, %{{.*}}, %c2_i32
// CHECK: scf.if %[[HERE]] {
// CHECK: math.fma
// CHECK: } else {
// CHECK: math.fma
kernel.func @parts(%x: !kernel.view<[d0, 16], f32>, %w: !kernel.view<[32, 16], f32, panel = 16>, %y: !kernel.view<[d0, 32], f32>, %u: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>, storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>, #kernel.storage<memory>]} {
  kernel.part(%j = 32 by 16) {
    %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 16], f32>, !kernel.view<[32, 16], f32, panel = 16> -> tensor<32x16xf32>
    kernel.store %c, %y[%i, %j] : tensor<32x16xf32>, !kernel.view<[d0, 32], f32>
  }
  kernel.part(%j = 32 by 16) {
    %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 16], f32>, !kernel.view<[32, 16], f32, panel = 16> -> tensor<32x16xf32>
    kernel.store %c, %u[%i, %j] : tensor<32x16xf32>, !kernel.view<[d0, 32], f32>
  }
}
