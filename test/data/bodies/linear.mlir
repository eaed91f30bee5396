//===- linear.mlir - A linear layer with its epilogue ----------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bias, relu and a residual on the accumulators of one contraction.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v2 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 | FileCheck %s
// CHECK: func.func @linear(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-NOT: kernel.

kernel.func @linear(%x: !kernel.view<[d0, 768], f32>, %w: !kernel.view<[3072, 768], f32, panel = 16>, %b: !kernel.view<[3072], f32>,
                    %r: !kernel.view<[d0, 3072], f32>, %y: !kernel.view<[d0, 3072], f32>)
    scalars(d0) grid(%i = d0 by 96, %j = 3072 by 64) attributes {plan = #kernel.plan<mapping = cpu_tiles, ahead = 1>} {
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 768], f32>, !kernel.view<[3072, 768], f32, panel = 16> -> tensor<96x64xf32>
  %t = kernel.load %b[%j] : !kernel.view<[3072], f32> -> tensor<1x64xf32>
  %tb = kernel.broadcast %t : tensor<1x64xf32> -> tensor<96x64xf32>
  %h = arith.addf %c, %tb : tensor<96x64xf32>
  %zero = arith.constant dense<0.0> : tensor<96x64xf32>
  %p = arith.cmpf ogt, %h, %zero : tensor<96x64xf32>
  %a = arith.select %p, %h, %zero : tensor<96x64xi1>, tensor<96x64xf32>
  %res = kernel.load %r[%i, %j] : !kernel.view<[d0, 3072], f32> -> tensor<96x64xf32>
  %g = arith.addf %a, %res : tensor<96x64xf32>
  kernel.store %g, %y[%i, %j] rows(%left) : tensor<96x64xf32>, !kernel.view<[d0, 3072], f32>
}
