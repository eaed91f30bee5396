//===- program-invalid.mlir - Programs: what is refused ------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unknown words, sizes that do not parse, launches without an offset an argument.
//
//===----------------------------------------------------------------------===//

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'kernel.program' op requires attribute 'dims'}}
kernel.program @program_dims attributes {state_dims = [], updates = []} {
}

// -----

kernel.program @buffer_kind attributes {dims = [], state_dims = [], updates = []} {
  // expected-error @+1 {{'kernel.buffer' op expected kind to be one of}}
  %x = kernel.buffer "x" heap "16"
}

// -----

kernel.program @buffer_size attributes {dims = [], state_dims = [], updates = []} {
  // expected-error @+1 {{'kernel.buffer' op expected a size expression, found "B**16"}}
  %x = kernel.buffer "x" argument "B**16"
}

// -----

kernel.program @buffer_generator attributes {dims = [], state_dims = [], updates = []} {
  // expected-error @+1 {{'kernel.buffer' op expected a generator for tables, and only for them}}
  %x = kernel.buffer "x" table "16"
}

// -----

kernel.program @weight_layout attributes {dims = [], state_dims = [], updates = []} {
  // expected-error @+1 {{'kernel.weight' op expected layout to be one of}}
  %x = kernel.weight "w" tiles [16, 16] groups(0, 0)
}

// -----

kernel.program @check_relation attributes {dims = [], state_dims = [], updates = []} {
  // expected-error @+1 {{'kernel.check' op expected relation to be one of}}
  kernel.check below "P", "31", "expected less"
}

// -----

kernel.program @launch_offsets attributes {dims = [], state_dims = [], updates = []} {
  %x = kernel.buffer "x" argument "16"
  // expected-error @+1 {{'kernel.launch' op expected one offset an argument: 2, found 1}}
  kernel.launch @copy(%x, %x) at ["0"] scalars [] : !kernel.buffer, !kernel.buffer
}

// -----

kernel.program @input_shape attributes {dims = [], state_dims = [], updates = []} {
  %x = kernel.buffer "x" argument "16"
  // expected-error @+1 {{'kernel.input' op attribute 'shape' failed to satisfy constraint: string array attribute}}
  "kernel.input"(%x) {name = "x", element = "f32", shape = [16]} : (!kernel.buffer) -> ()
}

// -----

func.func @output_buffer(%x: tensor<16xf32>) {
  // expected-error @+1 {{'kernel.output' op operand #0 must be}}
  "kernel.output"(%x) {name = "x", element = "f32", shape = ["16"]} : (tensor<16xf32>) -> ()
  return
}

// -----

func.func @yield_parent(%x: tensor<16xf32>) {
  // expected-error @+1 {{'kernel.yield' op expects parent op to be one of 'kernel.group, kernel.def'}}
  kernel.yield %x : tensor<16xf32>
}
