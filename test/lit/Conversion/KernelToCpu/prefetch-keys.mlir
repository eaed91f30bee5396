//===- prefetch-keys.mlir - Few rows over narrow keys ----------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A query over bf16 keys and values that are widened prefetches 4 KiB ahead: a line with each line
// of a panel, and the corresponding lines of each row of values. With eight lanes, or if one
// instruction multiplies pairs, it does not prefetch.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4-bf16 --cse | FileCheck %s --check-prefix=NONE
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v3 --cse | FileCheck %s --check-prefix=NONE
// NONE-NOT: prefetch

// A line has 32 numbers, and 2,048 numbers are 4 KiB.
// CHECK-LABEL: func.func @keys(
// CHECK: scf.for {{.*}} iter_args
// CHECK: %[[LATER:.*]] = llvm.getelementptr %[[LINE:.*]][2048]
// CHECK: "llvm.intr.prefetch"(%[[LATER]])
// CHECK: llvm.load %[[LINE]]
kernel.func @keys(%q: !kernel.view<[d0, 64], bf16>, %k: !kernel.view<[d1, 64], bf16, panel = 16>, %y: !kernel.view<[d0, d1], f32>)
    scalars(d0, d1) grid(%i = d0 by 1, %j = d1 by 16) {
  %c = kernel.contract %q[%i], %k[%j] : !kernel.view<[d0, 64], bf16>, !kernel.view<[d1, 64], bf16, panel = 16> -> tensor<1x16xf32>
  kernel.store %c, %y[%i, %j] : tensor<1x16xf32>, !kernel.view<[d0, d1], f32>
}

// Two rows of 64, two registers per line. The first register prefetches the row 32 rows later, the
// second the row after it.
// CHECK-LABEL: func.func @values(
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[2048]
// CHECK: "llvm.intr.prefetch"(%[[FIRST]])
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %{{.*}}[2128]
// CHECK: "llvm.intr.prefetch"(%[[SECOND]])
kernel.func @values(%p: !kernel.view<[d0, 64], bf16>, %v: !kernel.view<[d1, 64], bf16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0, d1) grid(%i = d0 by 1) {
  %zero = arith.constant 0 : index
  %n = kernel.scalar "d1" : index
  %t = kernel.load %p[%i, %zero] : !kernel.view<[d0, 64], bf16> -> tensor<1x64xbf16>
  %c = kernel.contract_rows %t, %v[%zero] rows(%n) : tensor<1x64xbf16>, !kernel.view<[d1, 64], bf16> -> tensor<1x64xf32>
  kernel.store %c, %y[%i, %zero] : tensor<1x64xf32>, !kernel.view<[d0, 64], f32>
}
