//===- masks.mlir - Masks and tables in kernels --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.mask, lookup and table_range keep their text.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

// CHECK-LABEL: kernel.func @masks
kernel.func @masks(%ids: !kernel.view<[d0], i32>, %table: !kernel.view<[d0, d0], i32>) scalars(d0) grid(%i = d0 by 4) {
  %s = arith.constant dense<0.0> : tensor<4x128xf32>
  %bits = arith.constant 3 : i32
  %x = kernel.iota columns from %i : tensor<4x128xi32>
  // CHECK: %[[L:.*]] = kernel.lookup %{{.*}}[%[[X:.*]]] : !kernel.view<[d0], i32>, tensor<4x128xi32> -> tensor<4x128xi32>
  %l = kernel.lookup %ids[%x] : !kernel.view<[d0], i32>, tensor<4x128xi32> -> tensor<4x128xi32>
  // CHECK: kernel.lookup %{{.*}}[%[[L]], %[[X]]] : !kernel.view<[d0, d0], i32>, tensor<4x128xi32>, tensor<4x128xi32> -> tensor<4x128xi32>
  %m = kernel.lookup %table[%l, %x] : !kernel.view<[d0, d0], i32>, tensor<4x128xi32>, tensor<4x128xi32> -> tensor<4x128xi32>
  // CHECK: kernel.table_range %{{.*}}[%[[I:.*]] to %[[I]]] : !kernel.view<[d0], i32>
  %low, %high = kernel.table_range %ids[%i to %i] : !kernel.view<[d0], i32>
  // CHECK: kernel.mask %{{.*}} tiles(%{{.*}}, %{{.*}} by 64) else -1.000000e+30 : tensor<4x128xf32> {
  %t = kernel.mask %s tiles(%bits, %bits by 64) else -1.0e+30 : tensor<4x128xf32> {
    %a = arith.cmpi slt, %m, %x : tensor<4x128xi32>
    // CHECK: kernel.mask.yield %{{.*}} : tensor<4x128xi1>
    kernel.mask.yield %a : tensor<4x128xi1>
  }
}
