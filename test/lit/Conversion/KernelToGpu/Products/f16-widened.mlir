//===- f16-widened.mlir - Weights of f16 -----------------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A word holds two features, which are widened one after the other. A specialization constant
// states whether the device keeps denormals: if so, an instruction widens, else integer arithmetic.
// The left side is f32.

// RUN: heddle-opt %s --convert-kernel-to-gpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: module @halves
// CHECK: spirv.SpecConstant @keepsHalves spec_id(0) = false
// CHECK: %[[KEEPS:.*]] = spirv.mlir.referenceof @keepsHalves : i1
// CHECK: %[[WORDS:.*]] = arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK: arith.andi %[[WORDS]]
// CHECK: arith.shrui %[[WORDS]]
// CHECK: spirv.GL.UnpackHalf2x16
// CHECK: vector.broadcast %[[KEEPS]] : i1 to vector<4xi1>
// CHECK: arith.subf
// CHECK: arith.subf
// CHECK: math.fma
// CHECK: spirv.Store "StorageBuffer" %{{.*}} : f32
kernel.func @halves(%x: !kernel.view<[d0, 32], f32>, %w: !kernel.view<[16, 32], f16, panel = 16>, %y: !kernel.view<[d0, 16], f16>)
    scalars(d0) grid(%i = d0 by 32) attributes {plan = #kernel.plan<mapping = blocked, threads = [4, 4]>} {
  %z = arith.constant 0 : index
  %c = kernel.contract %x[%i], %w[%z] : !kernel.view<[d0, 32], f32>, !kernel.view<[16, 32], f16, panel = 16> -> tensor<32x16xf32>
  %r = arith.truncf %c : tensor<32x16xf32> to tensor<32x16xf16>
  kernel.store %r, %y[%i, %z] : tensor<32x16xf16>, !kernel.view<[d0, 16], f16>
}
