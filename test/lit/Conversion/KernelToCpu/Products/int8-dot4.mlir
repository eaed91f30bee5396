//===- int8-dot4.mlir - Products of bytes ----------------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With vpdpbusd, a word of four codes is one product. Otherwise bytes are widened to 16 bits,
// unsigned on the left and signed on the right. Nothing saturates.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4-vnni --cse | FileCheck %s --check-prefixes=CHECK,QUADS -DFORM=512
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v3-vnni --cse | FileCheck %s --check-prefixes=CHECK,QUADS -DFORM=256
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse | FileCheck %s --check-prefixes=CHECK,APART -DNAME=llvm.x86.avx512.pmaddw.d.512
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v3 --cse | FileCheck %s --check-prefixes=CHECK,APART -DNAME=llvm.x86.avx2.pmadd.wd
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v2 --cse | FileCheck %s --check-prefixes=CHECK,APART -DNAME=llvm.x86.sse2.pmadd.wd

// CHECK-LABEL: func.func @codes(
// CHECK-NOT: pmaddubs
// QUADS: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.[[FORM]]"
// APART-DAG: arith.shrui
// APART-DAG: arith.shrsi
// APART: llvm.call_intrinsic "[[NAME]]"
// CHECK: arith.sitofp
// CHECK: arith.trunci {{.*}} : vector<[[LANES:.*]]xi32> to vector<[[LANES]]xi8>
kernel.func @codes(%x: !kernel.view<[d0, 64], i8>, %w: !kernel.view<[64, 64], i8, panel = 16>, %y: !kernel.view<[d0, 64], f32>, %q: !kernel.view<[d0, 64], i8>)
    scalars(d0) grid(%i = d0 by 96, %j = 64 by 64) {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 64], i8>, !kernel.view<[64, 64], i8, panel = 16> -> tensor<96x64xi32>
  %f = arith.sitofp %c : tensor<96x64xi32> to tensor<96x64xf32>
  kernel.store %f, %y[%i, %j] : tensor<96x64xf32>, !kernel.view<[d0, 64], f32>
  %b = arith.trunci %c : tensor<96x64xi32> to tensor<96x64xi8>
  kernel.store %b, %q[%i, %j] : tensor<96x64xi8>, !kernel.view<[d0, 64], i8>
}
