//===- matrices.mlir - Products through matrix units ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products on matrix units at level 2. All invocations stage a block of both sides as rows of
// words. Panels are staged word by word. Subgroups multiply matrices of these rows; right matrices
// are loaded column-major. Sums are exchanged through the same memory, one row of matrices at a
// time. A block of 32 of the 40 features is in a loop, half a matrix is after it.

// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-gpu=level=2-16x16x16 --finish-spirv=level=2-16x16x16 | FileCheck %s --check-prefix=SPIRV
// RUN: sed 's/mapping = matrix_few/mapping = few/; s/mapping = matrix,/mapping = staged,/' %s | heddle-opt --convert-kernel-to-gpu=level=1 | FileCheck %s --check-prefix=CHAIN
// RUN: not heddle-opt %s --convert-kernel-to-gpu=level=1 2>&1 | FileCheck %s --check-prefix=LEVEL

// LEVEL: error: 'kernel.contract' op expected products that matrix units of level 1 take, found '!kernel.view<

// CHAIN-NOT: coopmatrix

// CHECK-LABEL: module @halves
// Each of two subgroups has 64 rows and 32 columns: eight matrices of sums.
// CHECK: %[[ZERO:.*]] = spirv.CompositeConstruct %{{.*}} : (f32) -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK-COUNT-8: spirv.Store "Function" %{{.*}}, %[[ZERO]]
// CHECK-NOT: spirv.Store "Function" %{{.*}}, %[[ZERO]]
// CHECK: scf.for
// CHECK: spirv.ControlBarrier
// CHECK: spirv.Store "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-4: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : !spirv.ptr<vector<4xf32>, Workgroup>, i32 -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : !spirv.ptr<vector<4xf32>, Workgroup>, i32 -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// CHECK-COUNT-4: spirv.KHR.CooperativeMatrixMulAdd
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor>
// CHECK-COUNT-4: spirv.KHR.CooperativeMatrixMulAdd
// CHECK: spirv.MemoryBarrier <Subgroup>
// CHECK-COUNT-8: spirv.KHR.CooperativeMatrixMulAdd
// The tail: words after the features are zero.
// CHECK: arith.select
// CHECK-COUNT-8: spirv.KHR.CooperativeMatrixMulAdd
// CHECK-NOT: spirv.KHR.CooperativeMatrixMulAdd
// Sums: a row of two matrices; an invocation reads two rows of eight columns.
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-2: spirv.KHR.CooperativeMatrixStore
// CHECK: spirv.ControlBarrier
// CHECK-COUNT-4: spirv.Load "Workgroup" %{{.*}} : vector<4xf32>
// CHECK: spirv.ControlBarrier
// CHECK: spirv.KHR.CooperativeMatrixStore

// SPIRV-LABEL: spirv.module @halves Logical Vulkan requires #spirv.vce<v1.3
// SPIRV: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory|MakeAvailable|MakeVisible>
// SPIRV: spirv.Store "Workgroup" %{{.*}} ["NonPrivatePointer"] : vector<4xf32>
// SPIRV: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor>, <NonPrivatePointer>
kernel.func @halves(%x: !kernel.view<[d0, 40], f16>, %w: !kernel.view<[32, 40], f16, panel = 16>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 32 by 32) attributes {storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>], plan = #kernel.plan<mapping = matrix, threads = [16, 4], block = 16, ahead = 1>} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 40], f16>, !kernel.view<[32, 40], f16, panel = 16> -> tensor<128x32xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x32xf32>, !kernel.view<[d0, 32], f32>
}

// Few rows: one subgroup multiplies one matrix. Bytes of 128 + code become signed as they are
// staged.
// CHECK-LABEL: module @few
// CHECK: scf.for
// CHECK: arith.xori
// CHECK: scf.if
// CHECK: spirv.KHR.CooperativeMatrixMulAdd %{{.*}}, <ASigned|BSigned|CSigned|ResultSigned> : !spirv.coopmatrix<16x16xi8, Subgroup, MatrixA>, !spirv.coopmatrix<16x16xi8, Subgroup, MatrixB> -> !spirv.coopmatrix<16x16xsi32, Subgroup, MatrixAcc>
kernel.func @few(%x: !kernel.view<[d0, 512], i8>, %w: !kernel.view<[32, 512], i8, panel = 16>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 16, %j = 32 by 16) attributes {few_rows = "d0", storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>], plan = #kernel.plan<mapping = matrix_few_rows, threads = [16, 16], block = 64, ahead = 1>} {
  %c = kernel.contract %x[%i], %w[%j] {centered} : !kernel.view<[d0, 512], i8>, !kernel.view<[32, 512], i8, panel = 16> -> tensor<16x16xi32>
  %f = arith.sitofp %c : tensor<16x16xi32> to tensor<16x16xf32>
  kernel.store %f, %y[%i, %j] : tensor<16x16xf32>, !kernel.view<[d0, 32], f32>
}

// i4 codes: a block has two groups. Staging expands a word of eight features to two words of bytes
// and stores pairs of scales with them. The integer sums of a group start at zero and are converted
// to f32. Each invocation adds its elements to the chains; two matrices with the numbers of rows
// and columns identify these elements.
// CHECK-LABEL: module @groups
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : !spirv.ptr<vector<4xf32>, Workgroup>, i32 -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor> : !spirv.ptr<vector<4xf32>, Workgroup>, i32 -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK: scf.for
// CHECK: spirv.ControlBarrier
// CHECK: arith.constant dense<252645135> : vector<2xi32>
// CHECK: spirv.Store "Workgroup" %{{.*}} : vector<2xf32>
// CHECK: spirv.ControlBarrier
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor> : {{.*}} -> !spirv.coopmatrix<16x16xi8, Subgroup, MatrixB>
// CHECK: %[[NONE:.*]] = spirv.CompositeConstruct %{{.*}} : (si32) -> !spirv.coopmatrix<16x16xsi32, Subgroup, MatrixAcc>
// CHECK: %[[FIRST:.*]] = spirv.KHR.CooperativeMatrixMulAdd %{{.*}}, %{{.*}}, %[[NONE]], <ASigned|BSigned|CSigned|ResultSigned>
// CHECK: %[[SECOND:.*]] = spirv.KHR.CooperativeMatrixMulAdd %{{.*}}, %{{.*}}, %[[FIRST]]
// CHECK: spirv.ConvertSToF %[[SECOND]] : !spirv.coopmatrix<16x16xsi32, Subgroup, MatrixAcc> to !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK: %[[LENGTH:.*]] = spirv.KHR.CooperativeMatrixLength : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[LENGTH]]
// CHECK: %[[SCALE:.*]] = arith.mulf
// CHECK: %[[SUM:.*]] = math.fma %{{.*}}, %[[SCALE]], %{{.*}} : f32
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[SUM]] : f32
// CHECK: heddle.unrolled
// Two groups of eight matrices are in the loop, one is after it.
// CHECK-COUNT-23: spirv.ConvertSToF
// CHECK-NOT: spirv.ConvertSToF
// CHECK: spirv.KHR.CooperativeMatrixStore %{{.*}} : !spirv.ptr<vector<4xf32>, Workgroup>, !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// SPIRV-LABEL: spirv.module @groups
// SPIRV: spirv.mlir.loop control(Unroll)
kernel.func @groups(%x: !kernel.view<[d0, 75], i8>, %s: !kernel.view<[d0, 6], f32>, %w: !kernel.view<[32, 75], i4, panel = 16>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 32 by 32) attributes {storage = [#kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>], plan = #kernel.plan<mapping = matrix, threads = [16, 4], block = 16, ahead = 1>} {
  %c = kernel.contract_groups %x[%i], %w[%j] scales(%s : !kernel.view<[d0, 6], f32>) : !kernel.view<[d0, 75], i8>, !kernel.view<[32, 75], i4, panel = 16> -> tensor<128x32xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x32xf32>, !kernel.view<[d0, 32], f32>
}

// bf16: a word holds two features, as with f16.
// CHECK-LABEL: module @narrow
// CHECK: spirv.KHR.CooperativeMatrixMulAdd %{{.*}}, %{{.*}}, %{{[0-9]+}} : !spirv.coopmatrix<16x16xbf16, Subgroup, MatrixA>, !spirv.coopmatrix<16x16xbf16, Subgroup, MatrixB> -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
kernel.func @narrow(%x: !kernel.view<[d0, 40], bf16>, %w: !kernel.view<[32, 40], bf16, panel = 16>, %y: !kernel.view<[d0, 32], f32>)
    scalars(d0) grid(%i = d0 by 128, %j = 32 by 32) attributes {storage = [#kernel.storage<memory>, #kernel.storage<weight>, #kernel.storage<memory>], plan = #kernel.plan<mapping = matrix, threads = [16, 4], block = 16, ahead = 1>} {
  %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 40], bf16>, !kernel.view<[32, 40], bf16, panel = 16> -> tensor<128x32xf32>
  kernel.store %c, %y[%i, %j] : tensor<128x32xf32>, !kernel.view<[d0, 32], f32>
}
