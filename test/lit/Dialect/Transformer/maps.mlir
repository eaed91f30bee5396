//===- maps.mlir - Feature maps: valid ops --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every form of the ops over feature maps, through text, bytecode and the generic form.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK-LABEL: @windows
func.func @windows(%x: tensor<?x?x?x6xf32>, %image: tensor<2x3x20x31xf32>) -> (tensor<?x?x?x54xf32>, tensor<2x10x16x147xf32>) {
  // CHECK: transformer.windows %{{.*}} {size = 3 : i64} : tensor<?x?x?x6xf32> -> tensor<?x?x?x54xf32>
  %a = transformer.windows %x {padding = 0 : i64, size = 3 : i64, stride = 1 : i64} : tensor<?x?x?x6xf32> -> tensor<?x?x?x54xf32>
  // CHECK: transformer.windows %{{.*}} {channels_first, padding = 3 : i64, size = 7 : i64, stride = 2 : i64} : tensor<2x3x20x31xf32> -> tensor<2x10x16x147xf32>
  %b = transformer.windows %image {channels_first, padding = 3 : i64, size = 7 : i64, stride = 2 : i64} : tensor<2x3x20x31xf32> -> tensor<2x10x16x147xf32>
  return %a, %b : tensor<?x?x?x54xf32>, tensor<2x10x16x147xf32>
}

// CHECK-LABEL: @max_pool
func.func @max_pool(%x: tensor<?x9x?x6xf32>) -> tensor<?x5x?x6xf32> {
  // CHECK: transformer.max_pool %{{.*}} {padding = 1 : i64, size = 3 : i64, stride = 2 : i64} : tensor<?x9x?x6xf32> -> tensor<?x5x?x6xf32>
  %y = transformer.max_pool %x {padding = 1 : i64, size = 3 : i64, stride = 2 : i64} : tensor<?x9x?x6xf32> -> tensor<?x5x?x6xf32>
  return %y : tensor<?x5x?x6xf32>
}

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x4x5x6xf32>, %table: tensor<7x6xf32>) -> (tensor<?x20x6xf32>, tensor<?x3x6xf32>, tensor<?x7x6xf32>) {
  // CHECK: %[[ROWS:.*]] = transformer.map_rows %{{.*}} : tensor<?x4x5x6xf32> -> tensor<?x20x6xf32>
  %a = transformer.map_rows %x : tensor<?x4x5x6xf32> -> tensor<?x20x6xf32>
  // CHECK: transformer.slice_rows %[[ROWS]] {count = 3 : i64, first = 17 : i64} : tensor<?x20x6xf32> -> tensor<?x3x6xf32>
  %b = transformer.slice_rows %a {count = 3 : i64, first = 17 : i64} : tensor<?x20x6xf32> -> tensor<?x3x6xf32>
  // CHECK: transformer.repeat_rows %{{.*}}, %{{.*}} : (tensor<?x4x5x6xf32>, tensor<7x6xf32>) -> tensor<?x7x6xf32>
  %c = transformer.repeat_rows %x, %table : (tensor<?x4x5x6xf32>, tensor<7x6xf32>) -> tensor<?x7x6xf32>
  return %a, %b, %c : tensor<?x20x6xf32>, tensor<?x3x6xf32>, tensor<?x7x6xf32>
}

// CHECK-LABEL: @positions
func.func @positions(%x: tensor<?x?x?x6xf32>, %table: tensor<12x6xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x6xf32>) {
  // CHECK: transformer.position.plane %{{.*}} {features = 8 : i64} : tensor<?x?x?x6xf32> -> tensor<?x?x8xf32>
  %a = transformer.position.plane %x {features = 8 : i64} : tensor<?x?x?x6xf32> -> tensor<?x?x8xf32>
  // CHECK: transformer.position.plane %{{.*}} {features = 8 : i64, temperature = 2.000000e+01 : f64}
  %b = transformer.position.plane %x {features = 8 : i64, temperature = 20.0 : f64} : tensor<?x?x?x6xf32> -> tensor<?x?x8xf32>
  // CHECK: transformer.position.resized %{{.*}}, %{{.*}} {columns = 4 : i64} : (tensor<?x?x?x6xf32>, tensor<12x6xf32>) -> tensor<?x?x6xf32>
  %c = transformer.position.resized %x, %table {columns = 4 : i64} : (tensor<?x?x?x6xf32>, tensor<12x6xf32>) -> tensor<?x?x6xf32>
  return %a, %b, %c : tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x6xf32>
}
