//===- rounded-rows.mlir - Memory for rounded rows -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows of f32 with weights of f16 name memory for rounded rows, which follows the
// arguments: the rows, then their scales. Launches that read the same rows share it, and it lives from
// the first to the last of them. Products of other types have none.

// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-program{dtype=f16})" | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-program{dtype=f32})" | FileCheck %s --check-prefix=OTHER
// RUN: heddle-opt %s --pass-pipeline="builtin.module(heddle-to-program{dtype=f16-sum})" | FileCheck %s --check-prefix=OTHER

// CHECK: %[[X:.*]] = kernel.buffer "x" argument "B*T*48"
// CHECK: %[[ROWS:.*]] = kernel.buffer "linear_relu_rounded" temporary "B*T*24 + B*T*16" {last = 2}
// CHECK: kernel.launch @linear_relu(%[[X]], %{{.*}}, %[[H:.*]], %[[ROWS]], %[[ROWS]]) at ["0", "0", "0", "0", "B*T*24"] {{.*}} attributes {rounded}
// CHECK: %[[OTHERS:.*]] = kernel.buffer "linear_rounded" temporary "B*T*16 + B*T*16" {first = 1, last = 1}
// CHECK: kernel.launch @linear(%[[H]], %{{.*}}, %{{.*}}, %[[OTHERS]], %[[OTHERS]])
// CHECK: kernel.launch @linear_2(%[[X]], %{{.*}}, %{{.*}}, %[[ROWS]], %[[ROWS]])
// OTHER-NOT: rounded
func.func @run(%x: tensor<?x?x48xf32> {transformer.name = "x", transformer.dims = ["B", "T", 48]}) -> (tensor<?x?x16xf32>, tensor<?x?x16xf32>) {
  %a = transformer.weight "a" : tensor<32x48xf32>
  %b = transformer.weight "b" : tensor<16x32xf32>
  %c = transformer.weight "c" : tensor<16x48xf32>
  %h = transformer.linear %x, %a {activation = #transformer.activation<relu>} : (tensor<?x?x48xf32>, tensor<32x48xf32>) -> tensor<?x?x32xf32>
  %y = transformer.linear %h, %b : (tensor<?x?x32xf32>, tensor<16x32xf32>) -> tensor<?x?x16xf32>
  %z = transformer.linear %x, %c : (tensor<?x?x48xf32>, tensor<16x48xf32>) -> tensor<?x?x16xf32>
  return %y, %z : tensor<?x?x16xf32>, tensor<?x?x16xf32>
}
