// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse --split-input-file | FileCheck %s

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Software prefetch of panels, results and rows.

// The fifth pointer is the data that the thread reads next; null: the adjacent panels. A step of
// the 8 x 48 fragment prefetches two lines of each of three panels, one line of its result and one
// of its addend, but not all at once. Sixteen fragments share the panels in sixteen turns of a
// sixteenth of the 768 lines each. Eight fragments use eight turns, fewer use four.
// CHECK-LABEL: func.func @product(
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %arg0[4]
// CHECK: %[[NEXT:.*]] = llvm.load %[[PLACE]]
// CHECK: %[[MANY:.*]] = arith.select %{{.*}}, %c3_i64, %c4_i64
// CHECK: %[[BITS:.*]] = arith.select %{{.*}}, %c2_i64, %[[MANY]]
// CHECK: %[[GOES_ON:.*]] = llvm.icmp "eq" %[[NEXT]]
// CHECK: arith.select %[[GOES_ON]], %{{.*}}, %[[NEXT]] : !llvm.ptr
// CHECK: arith.shrui %c12288_i64, %[[BITS]]
// CHECK: scf.for {{.*}} -> (vector<16xf32>
// CHECK-COUNT-6: "llvm.intr.prefetch"{{.*}} rw = 0
// CHECK-NEXT: arith.divui
// CHECK-NOT: "llvm.intr.prefetch"{{.*}} rw = 0
// CHECK: "llvm.intr.prefetch"{{.*}} rw =
// CHECK: "llvm.intr.prefetch"{{.*}} rw =
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: math.fma
kernel.func @product(%x: !kernel.view<[d0, 768], f32>, %w: !kernel.view<[96, 768], f32, panel = 16>, %r: !kernel.view<[d0, 96], f32>,
                     %y: !kernel.view<[d0, 96], f32>) scalars(d0) grid(%i = d0 by 128, %j = 96 by 48)
    attributes {plan = #kernel.plan<mapping = cpu_tiles, ahead = 1>} {
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 768], f32>, !kernel.view<[96, 768], f32, panel = 16> -> tensor<128x48xf32>
  %t = kernel.load %r[%i, %j] : !kernel.view<[d0, 96], f32> -> tensor<128x48xf32>
  %s = arith.addf %c, %t : tensor<128x48xf32>
  kernel.store %s, %y[%i, %j] rows(%left) : tensor<128x48xf32>, !kernel.view<[d0, 96], f32>
}

// -----

// An address that is not known yet is not prefetched.
// CHECK-LABEL: func.func @later(
// CHECK-NOT: "llvm.intr.prefetch"{{.*}} rw = 1
// CHECK: return
kernel.func @later(%x: !kernel.view<[d0, 64], f32>, %w: !kernel.view<[96, 64], f32, panel = 16>, %y: !kernel.view<[2, d0, 96], f32>)
    scalars(d0) grid(%i = d0 by 32, %j = 96 by 48) attributes {plan = #kernel.plan<mapping = cpu_tiles, ahead = 1>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  scf.for %n = %zero to %two step %one {
    %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 64], f32>, !kernel.view<[96, 64], f32, panel = 16> -> tensor<32x48xf32>
    %here = kernel.slice %y[%n] : !kernel.view<[2, d0, 96], f32> -> !kernel.view<[d0, 96], f32>
    kernel.store %c, %here[%i, %j] : tensor<32x48xf32>, !kernel.view<[d0, 96], f32>
  }
}

// -----

// Rows in a kernel without products: the first load prefetches the next rows once.
// CHECK-LABEL: func.func @rows(
// CHECK-COUNT-4: "llvm.intr.prefetch"{{.*}} rw = 0
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: return
kernel.func @rows(%x: !kernel.view<[d0, 768], f32>, %y: !kernel.view<[d0, 768], f32>) scalars(d0) grid(%i = d0 by 4) {
  %zero = arith.constant 0 : index
  %step = arith.constant 16 : index
  %end = arith.constant 768 : index
  scf.for %c = %zero to %end step %step {
    %t = kernel.load %x[%i, %c] : !kernel.view<[d0, 768], f32> -> tensor<4x16xf32>
    kernel.store %t, %y[%i, %c] : tensor<4x16xf32>, !kernel.view<[d0, 768], f32>
  }
  scf.for %c = %zero to %end step %step {
    %t = kernel.load %x[%i, %c] : !kernel.view<[d0, 768], f32> -> tensor<4x16xf32>
    kernel.store %t, %y[%i, %c] : tensor<4x16xf32>, !kernel.view<[d0, 768], f32>
  }
}

// -----

// Rows as wide as a vocabulary would evict each other from the caches.
// CHECK-LABEL: func.func @wide(
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: return
kernel.func @wide(%x: !kernel.view<[d0, 50000], f32>, %y: !kernel.view<[d0, 50000], f32>) scalars(d0) grid(%i = d0 by 4) {
  %zero = arith.constant 0 : index
  %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 50000], f32> -> tensor<4x16xf32>
  kernel.store %t, %y[%i, %zero] : tensor<4x16xf32>, !kernel.view<[d0, 50000], f32>
}
