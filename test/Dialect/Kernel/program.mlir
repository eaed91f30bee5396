//===- program.mlir - Programs keep their text ---------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op of the program stage, through text and bytecode.
//
//===----------------------------------------------------------------------===//

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

// CHECK-LABEL: kernel.program @do_nothing attributes {dims = [], state_dims = [], updates = []} {
kernel.program @do_nothing attributes {dims = [], state_dims = [], updates = []} {
}

// CHECK-LABEL: kernel.program @step
kernel.program @step attributes {dims = ["B"], state_dims = ["P"], updates = ["P", "P + 1"]} {
  // CHECK: %[[X:.*]] = kernel.buffer "x" argument "B*16"
  %x = kernel.buffer "x" argument "B*16"
  // CHECK: kernel.buffer "h" temporary "B*16" {last = 1 : i64}
  %h = kernel.buffer "h" temporary "B*16" {last = 1 : i64}
  // CHECK: kernel.buffer "pos" table "512" {generator = "sinusoidal(16)"}
  %t = kernel.buffer "pos" table "512" {generator = "sinusoidal(16)"}
  // CHECK: %[[W:.*]] = kernel.weight "w" panels [16, 16] groups(0, 8)
  %w = kernel.weight "w" panels [16, 16] groups(0, 8)
  // CHECK: kernel.input "x" in %[[X]] : f32 ["B", "16"] {dense}
  kernel.input "x" in %x : f32 ["B", "16"] {dense}
  // CHECK: kernel.check at_most "P", "31", "expected at most 31, found {left}"
  kernel.check at_most "P", "31", "expected at most 31, found {left}"
  // CHECK: kernel.launch @linear(%[[X]], %[[W]], %{{.*}}) at ["0", "0", "P*16"] scalars ["B"] {flops = "B*512"}
  kernel.launch @linear(%x, %w, %h) at ["0", "0", "P*16"] scalars ["B"] {flops = "B*512"} : !kernel.buffer, !kernel.buffer, !kernel.buffer
  // CHECK: kernel.output "y" in %{{.*}} : f32 ["B", "16"]
  kernel.output "y" in %h : f32 ["B", "16"]
}
