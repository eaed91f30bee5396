//===- f16-widened.mlir - Products with f16 --------------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The right side is widened once into scratch before the large register tile runs, and in registers
// by tiles of few rows. For fewer than 24 rows, the large tile also widens weights in registers.
// x86-64-v2 has no instruction that widens f16.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v2 --cse | FileCheck %s --check-prefix=INTEGERS
// INTEGERS-NOT: f16

// CHECK-LABEL: func.func @features(
// CHECK: %[[SCRATCH:.*]] = llvm.alloca %{{.*}} x f32
// CHECK: scf.if
// CHECK: arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: llvm.store %{{.*}} : vector<16xf32>
// CHECK: scf.for
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: math.fma
// CHECK: arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: math.fma
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xf16>
kernel.func @features(%x: !kernel.view<[d0, 64], f32>, %w: !kernel.view<[64, 64], f16, panel = 16>, %y: !kernel.view<[d0, 64], f16>)
    scalars(d0) grid(%i = d0 by 96, %j = 64 by 64) {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 64], f32>, !kernel.view<[64, 64], f16, panel = 16> -> tensor<96x64xf32>
  %r = arith.truncf %c : tensor<96x64xf32> to tensor<96x64xf16>
  kernel.store %r, %y[%i, %j] : tensor<96x64xf16>, !kernel.view<[d0, 64], f16>
}

// CHECK-LABEL: func.func @weights(
// CHECK: %[[FROM:.*]] = arith.constant 24
// CHECK: %[[MANY:.*]] = arith.cmpi uge, %{{.*}}, %[[FROM]]
// CHECK: %[[PACKED:.*]] = arith.select %[[MANY]], %[[LARGE:[^,]*]],
// CHECK: scf.if
// CHECK: scf.for %{{.*}} to %[[PACKED]] step
// CHECK-NOT: arith.extf
// CHECK: scf.for %{{.*}} = %[[PACKED]] to %[[LARGE]] step
// CHECK: arith.extf
kernel.func @weights(%x: !kernel.view<[d0, 64], f32>, %w: !kernel.view<[48, 64], f16, panel = 16>, %y: !kernel.view<[d0, 48], f32>)
    scalars(d0) grid(%i = d0 by 96, %j = 48 by 48) attributes {
    storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 64], f32>, !kernel.view<[48, 64], f16, panel = 16> -> tensor<96x48xf32>
  kernel.store %c, %y[%i, %j] : tensor<96x48xf32>, !kernel.view<[d0, 48], f32>
}

// CHECK-LABEL: func.func @keys(
// CHECK: scf.if
// CHECK: arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: llvm.store %{{.*}} : vector<16xf32>
// CHECK: vector.reduction <or>
kernel.func @keys(%p: !kernel.view<[d0, 64], f32>, %v: !kernel.view<[d1, 64], f16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0, d1) grid(%i = d0 by 96) {
  %zero = arith.constant 0 : index
  %n = kernel.scalar "d1" : index
  %t = kernel.load %p[%i, %zero] : !kernel.view<[d0, 64], f32> -> tensor<96x64xf32>
  %c = kernel.contract_rows %t, %v[%zero] rows(%n) {guarded} : tensor<96x64xf32>, !kernel.view<[d1, 64], f16> -> tensor<96x64xf32>
  kernel.store %c, %y[%i, %zero] : tensor<96x64xf32>, !kernel.view<[d0, 64], f32>
}
