//===- f16-accumulate.mlir - Products of two f16 ---------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With f16 multiply-adds, a block of 256 features is summed in f16 with twice the lanes, and
// widened after its loop. Without them, both sides are widened before the products.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4-fp16 --cse | FileCheck %s -DLANES=16 -DTWICE=32 --check-prefixes=CHECK,ORDERED
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=aarch64-fp16 --cse | FileCheck %s -DLANES=4 -DTWICE=8
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse | FileCheck %s --check-prefix=WIDE
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v2 --cse | FileCheck %s --check-prefix=INTEGERS
// INTEGERS-NOT: f16

// CHECK-LABEL: func.func @product(
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 128 : i64
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %[[BLOCK]] iter_args({{.*}}) -> (vector<[[LANES]]xf32>
// CHECK: scf.for {{.*}} to %[[BLOCK]] step %{{.*}} iter_args({{.*}}) -> (vector<[[TWICE]]xf16>
// CHECK: vector.broadcast %{{.*}} : i32 to vector<[[LANES]]xi32>
// CHECK-NOT: arith.extf
// CHECK: %[[SUM:.*]] = math.fma {{.*}} : vector<[[TWICE]]xf16>
// Loads of the next rows stay after the products of this row, because LLVM spilled hoisted loads.
// ORDERED-NEXT: llvm.inline_asm has_side_effects "", "=v,0,~{memory}" %[[SUM]]
// CHECK-NOT: arith.extf
// CHECK: scf.yield
// CHECK: %[[SORTED:.*]] = vector.shuffle
// CHECK: %[[PARTS:.*]] = arith.extf %[[SORTED]] : vector<[[TWICE]]xf16> to vector<[[TWICE]]xf32>
// CHECK: %[[EVEN:.*]] = vector.shuffle %[[PARTS]], %[[PARTS]]
// CHECK: %[[ODD:.*]] = vector.shuffle %[[PARTS]], %[[PARTS]]
// CHECK: %[[BOTH:.*]] = arith.addf %[[EVEN]], %[[ODD]] : vector<[[LANES]]xf32>
// CHECK: arith.addf %{{.*}}, %[[BOTH]]

// Rows of the left side are widened per register tile, the right side once for all.
// WIDE-LABEL: func.func @product(
// WIDE-NOT: vector<32xf16>
// WIDE: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// WIDE: math.fma {{.*}} : vector<16xf32>
kernel.func @product(%x: !kernel.view<[d0, 768], f16>, %w: !kernel.view<[64, 768], f16, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 96, %j = 64 by 64) {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 768], f16>, !kernel.view<[64, 768], f16, panel = 16> -> tensor<96x64xf32>
  kernel.store %c, %y[%i, %j] : tensor<96x64xf32>, !kernel.view<[d0, 64], f32>
}
