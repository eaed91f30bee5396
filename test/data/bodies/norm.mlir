//===- norm.mlir - Layer normalisation -------------------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two row reductions, the second one over centred values.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v2 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 | FileCheck %s
// CHECK: func.func @norm(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-NOT: kernel.

kernel.func @norm(%x: !kernel.view<[d0, 80], f32>, %g: !kernel.view<[80], f32>, %b: !kernel.view<[80], f32>, %y: !kernel.view<[d0, 80], f32>)
    scalars(d0) grid(%i = d0 by 32) {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %h = kernel.load %x[%i, %zero] : !kernel.view<[d0, 80], f32> -> tensor<32x80xf32>
  %s = kernel.reduce add %h : tensor<32x80xf32> -> tensor<32x1xf32>
  %n = arith.constant dense<80.0> : tensor<32x1xf32>
  %mean = arith.divf %s, %n : tensor<32x1xf32>
  %mb = kernel.broadcast %mean : tensor<32x1xf32> -> tensor<32x80xf32>
  %d = arith.subf %h, %mb : tensor<32x80xf32>
  %d2 = arith.mulf %d, %d : tensor<32x80xf32>
  %s2 = kernel.reduce add %d2 : tensor<32x80xf32> -> tensor<32x1xf32>
  %var = arith.divf %s2, %n : tensor<32x1xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<32x1xf32>
  %ve = arith.addf %var, %eps : tensor<32x1xf32>
  %sd = math.sqrt %ve : tensor<32x1xf32>
  %one = arith.constant dense<1.0> : tensor<32x1xf32>
  %rs = arith.divf %one, %sd : tensor<32x1xf32>
  %rb = kernel.broadcast %rs : tensor<32x1xf32> -> tensor<32x80xf32>
  %nn = arith.mulf %d, %rb : tensor<32x80xf32>
  %gl = kernel.load %g[%zero] : !kernel.view<[80], f32> -> tensor<1x80xf32>
  %gb = kernel.broadcast %gl : tensor<1x80xf32> -> tensor<32x80xf32>
  %bl = kernel.load %b[%zero] : !kernel.view<[80], f32> -> tensor<1x80xf32>
  %bb = kernel.broadcast %bl : tensor<1x80xf32> -> tensor<32x80xf32>
  %m = arith.mulf %nn, %gb : tensor<32x80xf32>
  %o = arith.addf %m, %bb : tensor<32x80xf32>
  kernel.store %o, %y[%i, %zero] rows(%left) : tensor<32x80xf32>, !kernel.view<[d0, 80], f32>
}
