//===- kernels-invalid.mlir - Kernels, their parts and plans: invalid ops ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each verifier names its constraint.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @group_c1(%x: tensor<?x16xf32>) {
  // expected-error @+1 {{C1: expected body arguments of 'tensor<?x16xf32>'}}
  %y = kernel.group(%x) "g" {root = #kernel.root<norm>} : (tensor<?x16xf32>) -> tensor<?x16xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    kernel.yield %a : tensor<?x8xf32>
  }
  return
}

// -----

// expected-error @+1 {{expected kernel.yield of 'tensor<4xf32>', found 'tensor<2xf32>'}}
kernel.def @def_c1(%a: tensor<2xf32>) -> tensor<4xf32> {
  kernel.yield %a : tensor<2xf32>
}

// -----

// expected-error @+1 {{C1: expected an extent over the kernel's scalars, found d1}}
kernel.func @func_c1(%x: !kernel.view<[d1, 64], f32>) scalars(d0) grid(%i = d0 by 1) {
}

// -----

// expected-error @+1 {{C2: expected a positive tile, found 0}}
kernel.func @func_c2() scalars(d0) grid(%i = d0 by 0) {
}

// -----

// expected-error @+1 {{C3: expected a view as argument 0, found 'i32'}}
kernel.func @func_c3(%x: i32) scalars(d0) grid(%i = d0 by 1) {
}

// -----

// expected-error @+1 {{C4: expected nothing beside kernel.part, found arith.constant}}
kernel.func @func_c4() scalars(d0) grid(%i = d0 by 1) {
  %c = arith.constant 0 : index
  kernel.part(%j = 4 by 1) {
  }
}

// -----

kernel.func @part_c1() scalars(d0) grid(%i = d0 by 1) {
  // expected-error @+1 {{C1: expected a positive tile, found 0}}
  kernel.part(%j = 4 by 0) {
  }
}

// -----

kernel.func @scalar_c1() scalars(d0) grid(%i = d0 by 1) {
  // expected-error @+1 {{C1: expected a scalar of the kernel, found n}}
  %n = kernel.scalar "n" : index
}

// -----

// expected-error @+1 {{C7: expected a product over features in a body with mapping staged, found none}}
kernel.func @func_c7(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = staged, threads = [4, 4], block = 16, ahead = 1>} {
}

// -----

// expected-error @+1 {{C7: expected a product over rows in a body with mapping own_rows, found none}}
kernel.func @func_c7_rows(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = own_rows, threads = [16, 1]>} {
}

// -----

// expected-error @+1 {{C7: expected no product in a body with mapping strided}}
kernel.func @func_c7_strided(%x: !kernel.view<[4, 8], f32>, %w: !kernel.view<[16, 8], f32, panel = 16>) scalars() grid(%i = 4 by 4) attributes {plan = #kernel.plan<mapping = strided, threads = [4, 4]>} {
  %t = kernel.contract %x[%i], %w[%i] : !kernel.view<[4, 8], f32>, !kernel.view<[16, 8], f32, panel = 16> -> tensor<4x16xf32>
}

// -----

// expected-error @+1 {{C1: expected two positive threads of mapping blocked, found 1}}
kernel.func @plan_c1(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = blocked, threads = [4]>} {
}

// -----

// expected-error @+1 {{C1: expected no threads of mapping cpu_tiles, found 2}}
kernel.func @plan_c1_cpu(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, threads = [4, 4]>} {
}

// -----

// expected-error @+1 {{C2: expected a positive block of mapping few_rows, found 0}}
kernel.func @plan_c2(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = few_rows, threads = [8, 16]>} {
}

// -----

// expected-error @+1 {{C3: expected a tile of positive rows and columns, found array<i64: 16>}}
kernel.func @plan_c3(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, tile = [16]>} {
}

// -----

// expected-error @+1 {{C3: expected a tile of positive rows and columns, found array<i64: 16, 0>}}
kernel.func @plan_c3_zero(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, tile = [16, 0]>} {
}

// -----

// expected-error @+1 {{C4: expected 1 or 2 buffers of mapping staged, found 3}}
kernel.func @plan_c4(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = staged, threads = [8, 16], block = 8, buffers = 3>} {
}

// -----

// expected-error @+1 {{C5: expected at least one block ahead of mapping staged, found 0}}
kernel.func @plan_c5(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = staged, threads = [8, 16], block = 8>} {
}

// -----

// expected-error @+1 {{C4: expected one buffer of mapping blocked, found 2}}
kernel.func @plan_c4_unstaged(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = blocked, threads = [8, 16], buffers = 2>} {
}

// -----

// expected-error @+1 {{C8: expected a grid axis of 32 rows, as the tile of the plan, found none}}
kernel.func @func_c8(%x: !kernel.view<[d0, 16], f32>) scalars(d0) grid(%i = d0 by 16) attributes {plan = #kernel.plan<mapping = cpu_tiles, tile = [32, 16]>} {
}

// -----

// expected-error @+1 {{C6: expected the scalar of a grid axis as few_rows, found "d1"}}
kernel.func @func_c6_few_rows_of_no_axis(%x: !kernel.view<[d0, d1], f32>) scalars(d0, d1) grid(%i = d0 by 8) attributes {few_rows = "d1"} {
}
