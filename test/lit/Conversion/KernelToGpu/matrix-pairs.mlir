//===- matrix-pairs.mlir - Products that share staged rows ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which products of the same rows stage them once.

// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 --finish-spirv=level=2-16x16x16
// RUN: sed 's/mapping = matrix_few/mapping = few/; s/mapping = matrix,/mapping = staged,/' %s | heddle-opt --convert-kernel-to-gpu=level=1 | FileCheck %s --check-prefix=CHAIN

// CHAIN-NOT: coopmatrix

// Two products of the same rows: the rows are staged once, with the columns of both products, and
// each matrix of rows is multiplied by all matrices of columns. A product whose column is computed
// after the first product stays separate. A third product also does, because its columns do not fit
// workgroup memory.
// CHECK-LABEL: module @beside
// CHECK-COUNT-8: spirv.Store "Function"
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-4: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK-NOT: spirv.Store "Workgroup"
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor>
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixMulAdd
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor>
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixMulAdd
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor>
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixMulAdd
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor>
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixMulAdd
// CHECK: spirv.MemoryBarrier <Subgroup>
// CHECK-COUNT-8: spirv.KHR.CooperativeMatrixMulAdd
// Sums of the first product, then of the second.
// CHECK-COUNT-8: spirv.KHR.CooperativeMatrixStore
// CHECK-NOT: spirv.KHR.CooperativeMatrixStore
// CHECK-LABEL: module @behind
// CHECK-COUNT-4: spirv.KHR.CooperativeMatrixStore
// CHECK: spirv.Store "Function"
// CHECK-COUNT-4: spirv.KHR.CooperativeMatrixStore
// CHECK-LABEL: module @third
// CHECK-COUNT-8: spirv.KHR.CooperativeMatrixStore
// CHECK: spirv.Store "Function"
// CHECK-COUNT-4: spirv.KHR.CooperativeMatrixStore
// CHECK-NOT: spirv.KHR.CooperativeMatrixStore
kernel.func @beside(%x: !kernel.view<[d0, 64], bf16>, %v: !kernel.view<[128, 64], bf16, panel = 16>, %w: !kernel.view<[128, 64], bf16, panel = 16>, %y: !kernel.view<[d0, 128], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 128 by 64) attributes {storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<weight>, #kernel.storage<memory>], plan = #kernel.plan<mapping = matrix, threads = [32, 8], block = 16, ahead = 1>} {
  %c = kernel.contract %x[%i], %v[%j] : !kernel.view<[d0, 64], bf16>, !kernel.view<[128, 64], bf16, panel = 16> -> tensor<128x64xf32>
  %one = arith.constant dense<1.0> : tensor<128x64xf32>
  %e = arith.addf %c, %one : tensor<128x64xf32>
  %d = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 64], bf16>, !kernel.view<[128, 64], bf16, panel = 16> -> tensor<128x64xf32>
  %f = arith.mulf %d, %e : tensor<128x64xf32>
  kernel.store %f, %y[%i, %j] : tensor<128x64xf32>, !kernel.view<[d0, 128], f32>
}
kernel.func @behind(%x: !kernel.view<[d0, 64], bf16>, %v: !kernel.view<[128, 64], bf16, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 64 by 64) attributes {storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>], plan = #kernel.plan<mapping = matrix, threads = [32, 8], block = 16, ahead = 1>} {
  %c = kernel.contract %x[%i], %v[%j] : !kernel.view<[d0, 64], bf16>, !kernel.view<[128, 64], bf16, panel = 16> -> tensor<128x64xf32>
  %c64 = arith.constant 64 : index
  %k = arith.addi %j, %c64 : index
  %d = kernel.contract %x[%i], %v[%k] : !kernel.view<[d0, 64], bf16>, !kernel.view<[128, 64], bf16, panel = 16> -> tensor<128x64xf32>
  %f = arith.mulf %d, %c : tensor<128x64xf32>
  kernel.store %f, %y[%i, %j] : tensor<128x64xf32>, !kernel.view<[d0, 64], f32>
}
kernel.func @third(%x: !kernel.view<[d0, 64], bf16>, %v: !kernel.view<[192, 64], bf16, panel = 16>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 64 by 64) attributes {storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>], plan = #kernel.plan<mapping = matrix, threads = [32, 8], block = 16, ahead = 1>} {
  %c64 = arith.constant 64 : index
  %k = arith.addi %j, %c64 : index
  %l = arith.addi %k, %c64 : index
  %c = kernel.contract %x[%i], %v[%j] : !kernel.view<[d0, 64], bf16>, !kernel.view<[192, 64], bf16, panel = 16> -> tensor<128x64xf32>
  %d = kernel.contract %x[%i], %v[%k] : !kernel.view<[d0, 64], bf16>, !kernel.view<[192, 64], bf16, panel = 16> -> tensor<128x64xf32>
  %e = kernel.contract %x[%i], %v[%l] : !kernel.view<[d0, 64], bf16>, !kernel.view<[192, 64], bf16, panel = 16> -> tensor<128x64xf32>
  %f = arith.mulf %d, %c : tensor<128x64xf32>
  %g = arith.addf %f, %e : tensor<128x64xf32>
  kernel.store %g, %y[%i, %j] : tensor<128x64xf32>, !kernel.view<[d0, 64], f32>
}
