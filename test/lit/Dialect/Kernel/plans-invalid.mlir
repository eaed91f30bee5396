//===- plans-invalid.mlir - Broken constraints of plans -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans with fields of other mappings (#kernel.plan, C6 and C7). kernels-invalid.mlir has C1 to C5.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{C6: expected rounded only with mapping matrix, found staged}}
kernel.func @plan_c6(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = staged, threads = [8, 16], block = 8, ahead = 1, rounded = true>} {
}

// -----

// expected-error @+1 {{C7: expected a row block that divides the block of mapping matrix_few_rows, found 24 of mapping matrix_few_rows}}
kernel.func @plan_c7(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = matrix_few_rows, threads = [8, 16], block = 64, ahead = 1, rowBlock = 24>} {
}
