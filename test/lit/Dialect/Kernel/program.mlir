//===- program.mlir - Programs keep their text ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every op of the program stage, through text and bytecode.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

// CHECK-LABEL: kernel.program @do_nothing {} {
kernel.program @do_nothing {} {
}

// CHECK-LABEL: kernel.program @step {dims = ["B"], state_dims = ["P"], updates = {{\[}}["P", "P + 1"]], needs_session} {
kernel.program @step {dims = ["B"], state_dims = ["P"], updates = [["P", "P + 1"]], needs_session} {
  // CHECK: %[[X:.*]] = kernel.buffer "x" argument "B*16"{{$}}
  %x = kernel.buffer "x" argument "B*16"
  // CHECK: kernel.buffer "h" temporary "B*16" {last = 1}
  %h = kernel.buffer "h" temporary "B*16" {first = 0, last = 1}
  // CHECK: kernel.buffer "pos" table "512" {generator = "sinusoidal(16)"}
  %t = kernel.buffer "pos" table "512" {generator = "sinusoidal(16)"}
  // CHECK: %[[W:.*]] = kernel.weight "w" [16, 16] panels {type = bf16, column_group = 8}
  %w = kernel.weight "w" [16, 16] panels {column_group = 8, type = bf16}
  // CHECK: kernel.input "x" f32 ["B", "16"] {dense} in %[[X]]
  kernel.input "x" f32 ["B", "16"] {dense} in %x
  // CHECK: kernel.input "n" i32 ["B"] {range = ["0", "B - 1"], bounded_by = ["s"], fallback = lengths_of "x" {padding = 3}} in %[[X]] attributes {note}
  kernel.input "n" i32 ["B"] {fallback = lengths_of "x" {padding = 3}, range = ["0", "B - 1"], bounded_by = ["s"]} in %x attributes {note}
  // CHECK: kernel.check at_most "P" "31" "expected \22at most\22 31, found {left}"
  kernel.check at_most "P" "31" "expected \"at most\" 31, found {left}"
  // CHECK: kernel.launch @linear(%[[X]], %[[W]], %{{.*}}) at ["0", "0", "P*16"] scalars ["B"] flops "B*512" bytes "0"{{$}}
  kernel.launch @linear(%x, %w, %h) at ["0", "0", "P*16"] scalars ["B"] flops "B*512" bytes "0"
  // CHECK: kernel.launch @linear(%[[X]], %[[W]], %{{.*}}, %{{.*}}, %{{.*}}) at ["0", "0", "P*16", "0", "B*8"] scalars ["B"] flops "B*512" bytes "0" attributes {rounded}
  kernel.launch @linear(%x, %w, %h, %h, %h) at ["0", "0", "P*16", "0", "B*8"] scalars ["B"] flops "B*512" bytes "0" attributes {rounded}
  // CHECK: kernel.output "y" f32 ["B", "16"] in %{{.*}}
  kernel.output "y" f32 ["B", "16"] in %h
}
