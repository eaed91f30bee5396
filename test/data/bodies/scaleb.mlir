//===- scaleb.mlir - Powers of two -----------------------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scaleb is one instruction if the target has it, with zeros below -125. Otherwise the power of two
// is built from its exponent's bits.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse | FileCheck %s --check-prefix=V4
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v3 --cse | FileCheck %s --check-prefix=V3

// V4-LABEL: func.func @scale(
// V4: arith.cmpf uge
// V4: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// V3-LABEL: func.func @scale(
// V3: arith.fptosi
// V3: arith.shli
// V3: arith.cmpf olt
// V3: arith.mulf
kernel.func @scale(%x: !kernel.view<[d0, 16], f32>, %n: !kernel.view<[d0, 16], f32>, %y: !kernel.view<[d0, 16], f32>)
    scalars(d0) grid(%i = d0 by 4) {
  %zero = arith.constant 0 : index
  %a = kernel.load %x[%i, %zero] : !kernel.view<[d0, 16], f32> -> tensor<4x16xf32>
  %b = kernel.load %n[%i, %zero] : !kernel.view<[d0, 16], f32> -> tensor<4x16xf32>
  %c = kernel.scaleb %a by %b : tensor<4x16xf32>
  kernel.store %c, %y[%i, %zero] : tensor<4x16xf32>, !kernel.view<[d0, 16], f32>
}
