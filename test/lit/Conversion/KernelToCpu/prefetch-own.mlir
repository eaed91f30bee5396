// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v3 --cse --split-input-file | FileCheck %s

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On eight lanes a single row of bf16 is bound by its sums. It prefetches the lines that it reads
// four steps later, one for each of the four words of a step.

// CHECK-LABEL: func.func @row(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-4: "llvm.intr.prefetch"{{.*}} rw = 0
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: math.fma
kernel.func @row(%x: !kernel.view<[d0, 768], bf16>, %w: !kernel.view<[96, 768], bf16, panel = 16>, %y: !kernel.view<[d0, 96], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 96 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, ahead = 1>,
    storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 768], bf16>, !kernel.view<[96, 768], bf16, panel = 16> -> tensor<128x16xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x16xf32>, !kernel.view<[d0, 96], f32>
}

// -----

// In f32 a word is one number, and a row is bound by memory.
// CHECK-LABEL: func.func @full(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>)
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: math.fma
kernel.func @full(%x: !kernel.view<[d0, 768], f32>, %w: !kernel.view<[96, 768], f32, panel = 16>, %y: !kernel.view<[d0, 96], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 96 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, ahead = 1>,
    storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>]} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 768], f32>, !kernel.view<[96, 768], f32, panel = 16> -> tensor<128x16xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x16xf32>, !kernel.view<[d0, 96], f32>
}
