//===- program-invalid.mlir - Programs: what is refused ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unknown fields and words, sizes that do not parse, launches without an offset an
// argument, definitions without layouts.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected '{'}}
kernel.program @program_fields attributes {dims = []} {
}

// -----

// expected-error @+1 {{expected one of name, dims, state_dims, inputs, outputs, buffers, launches, checks, states, updates, starts_states, reorder_by, replace_by, pads, appends_to, appends_by, appends, kept_rows, spare_rows, needs_session, found sizes}}
kernel.program @program_known_fields {sizes = []} {
}

// -----

kernel.program @buffer_kind {} {
  // expected-error @+1 {{expected one of temporary, argument, state, table, twin, found heap}}
  %x = kernel.buffer "x" heap "16"
}

// -----

kernel.program @buffer_size {} {
  // expected-error @+1 {{expected a size expression, found "B**16"}}
  %x = kernel.buffer "x" argument "B**16"
}

// -----

kernel.program @buffer_generator {} {
  // expected-error @+1 {{'kernel.buffer' op expected a generator for tables, and only for them}}
  %x = kernel.buffer "x" table "16"
}

// -----

kernel.program @weight_layout {} {
  // expected-error @+1 {{expected one of vector, rows, panels, scales, found tiles}}
  %x = kernel.weight "w" [16, 16] tiles
}

// -----

kernel.program @weight_type {} {
  // expected-error @+1 {{expected one of f32, f16, bf16, i32, i64, bool, i8, i4, si8, si6, found f8}}
  %x = kernel.weight "w" [16, 16] panels {type = f8}
}

// -----

kernel.program @input_element {} {
  %x = kernel.buffer "x" argument "16"
  // expected-error @+1 {{expected one of f32, f16, bf16, i32, i64, bool, i8, i4, si8, si6, found word}}
  kernel.input "x" word ["16"] in %x
}

// -----

kernel.program @check_relation {} {
  // expected-error @+1 {{expected one of equal, at_most, found below}}
  kernel.check below "P" "31" "expected less"
}

// -----

kernel.program @launch_offsets {} {
  %x = kernel.buffer "x" argument "16"
  // expected-error @+1 {{'kernel.launch' op expected one offset an argument: 2, found 1}}
  kernel.launch @copy(%x, %x) at ["0"] scalars [] flops "0" bytes "0"
}

// -----

kernel.program @launch_rounded {} {
  %x = kernel.buffer "x" argument "16"
  // expected-error @+1 {{'kernel.launch' op expected 2 arguments of a launch that is rounded, found 1}}
  kernel.launch @copy(%x) at ["0"] scalars [] flops "0" bytes "0" attributes {rounded}
}

// -----

kernel.program @launch_scalars {} {
  %x = kernel.buffer "x" argument "16"
  // expected-error @+1 {{expected a size expression, found "n*"}}
  kernel.launch @copy(%x, %x) at ["0", "0"] scalars ["n*"] flops "0" bytes "0"
}

// -----

kernel.program @input_shape {} {
  %x = kernel.buffer "x" argument "16"
  // expected-error @+1 {{expected string}}
  "kernel.input"(%x) {info = #kernel.port<"x" f32 [16]>} : (!kernel.buffer) -> ()
}

// -----

func.func @output_buffer(%x: tensor<16xf32>) {
  // expected-error @+1 {{'kernel.output' op operand #0 must be}}
  "kernel.output"(%x) {info = #kernel.port<"x" f32 ["16"]>} : (tensor<16xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{'kernel.def' op C2: expected a kernel.layout of argument 0, found none}}
kernel.def @def_c2_none(%x: tensor<16xf32>) attributes {scalars = []} {
  kernel.yield
}

// -----

// expected-error @+1 {{'kernel.def' op C2: expected layouts over the kernel's scalars, found d1}}
kernel.def @def_c2_scalars(%x: tensor<?xf32> {kernel.layout = #kernel.layout<view = <[d1], f32>>}) attributes {scalars = ["d0"]} {
  kernel.yield
}

// -----

// expected-error @+1 {{'kernel.def' op C3: expected one to three plans, found 0}}
kernel.def @def_c3() attributes {plans = []} {
  kernel.yield
}

// -----

// expected-error @+1 {{'kernel.def' op C3: expected a plan with a tile, found #kernel.plan<mapping = cpu_tiles>}}
kernel.def @def_c3_tile() attributes {plans = [#kernel.plan<mapping = cpu_tiles>]} {
  kernel.yield
}

// -----

func.func @yield_parent(%x: tensor<16xf32>) {
  // expected-error @+1 {{'kernel.yield' op expects parent op to be one of 'kernel.group, kernel.def'}}
  kernel.yield %x : tensor<16xf32>
}
