//===- bf16-widened.mlir - Products of bf16 as f32 -------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without vdpbf16ps, 512-bit code widens the rows of a register tile before its loop. Weights are
// widened when they are loaded, never in memory. The odd feature of each pair is multiplied first.
// Narrower vectors split the words of both sides in the loop.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v3 --cse | FileCheck %s --check-prefix=SPLITS

// CHECK-LABEL: func.func @features(
// CHECK-NOT: scf.if
// CHECK-NOT: vector.shuffle
// CHECK: llvm.store %{{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} iter_args
// CHECK: %[[LOW:.*]] = arith.shli
// CHECK: %[[HIGH:.*]] = arith.andi
// CHECK: %[[EVEN:.*]] = arith.bitcast %[[LOW]]
// CHECK: %[[ODD:.*]] = arith.bitcast %[[HIGH]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[ROWS:.*]][%{{.*}}] :
// CHECK: llvm.getelementptr %[[AT]][1]
// CHECK: %[[SUM:.*]] = math.fma %{{.*}}, %[[ODD]]
// CHECK: math.fma %{{.*}}, %[[EVEN]], %[[SUM]]
// CHECK: scf.yield
// SPLITS-LABEL: func.func @features(
// SPLITS-NOT: vector.shuffle
kernel.func @features(%x: !kernel.view<[d0, 64], bf16>, %w: !kernel.view<[48, 64], bf16, panel = 16>, %y: !kernel.view<[d0, 48], f32>)
    scalars(d0) grid(%i = d0 by 96, %j = 48 by 48) attributes {
    storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 64], bf16>, !kernel.view<[48, 64], bf16, panel = 16> -> tensor<96x48xf32>
  kernel.store %c, %y[%i, %j] : tensor<96x48xf32>, !kernel.view<[d0, 48], f32>
}

// Seven features of bf16 are four words. Each word is split, and odd products come first.
// SPLITS-LABEL: func.func @pairs(
// SPLITS: scf.for
// SPLITS: %[[A:.*]] = vector.broadcast %{{.*}} : i32 to vector<8xi32>
// SPLITS: %[[SUM:.*]] = math.fma
// SPLITS: math.fma %{{.*}}, %{{.*}}, %[[SUM]]
// SPLITS: llvm.store %{{.*}} : vector<8xi16>, !llvm.ptr
kernel.func @pairs(%x: !kernel.view<[d0, 7], bf16>, %w: !kernel.view<[16, 7], bf16, panel = 16>, %y: !kernel.view<[d0, 16], bf16>)
    scalars(d0) grid(%i = d0 by 32, %j = 16 by 16) {
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 7], bf16>, !kernel.view<[16, 7], bf16, panel = 16> -> tensor<32x16xf32>
  %r = arith.truncf %c : tensor<32x16xf32> to tensor<32x16xbf16>
  kernel.store %r, %y[%i, %j] rows(%left) : tensor<32x16xbf16>, !kernel.view<[d0, 16], bf16>
}
