//===- states-invalid.mlir - States: invalid ops -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case a constraint, named after it.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'transformer.state' op C1: expected 4 entries in dims, one a dimension, found 2}}
transformer.state @state_c1_rank {dims = ["B", "S"]} : tensor<?x8x?x4xf32>

// -----

// expected-error @+1 {{'transformer.state' op C2: dimension 1 of the type is 8: expected it in dims, found 7 : i64}}
transformer.state @state_c2_size {dims = ["B", 7, "S", 4]} : tensor<?x8x?x4xf32>

// -----

// expected-error @+1 {{'transformer.state' op C2: dimension 2 of the type is dynamic: expected a name in dims, found 5 : i64}}
transformer.state @state_c2_name {dims = ["B", 8, 5, 4]} : tensor<?x8x?x4xf32>

// -----

// expected-error @+1 {{'transformer.state' op C3: expected a state with a capacity to have rank 4, or rank 3 of scales, and a dynamic dimension 2}}
transformer.state @state_c3_rank {dims = ["B", "S", 4], capacity = 8 : i64} : tensor<?x?x4xf32>

// -----

// expected-error @+1 {{'transformer.state' op C3: expected a positive capacity, found 0}}
transformer.state @state_c3_capacity {dims = ["B", 8, "S", 4], capacity = 0 : i64} : tensor<?x8x?x4xf32>

// -----

// expected-error @+1 {{'transformer.state' op C4: expected a dynamic dimension 0 (batch)}}
transformer.state @state_c4_batch {dims = [2, 8, "S", 4]} : tensor<2x8x?x4xf32>

// -----

// expected-error @+1 {{'transformer.state' op C5: expected a positive window with a capacity, found 4 without one}}
transformer.state @state_c5_capacity {dims = ["B", 8, "S", 4], window = 4 : i64} : tensor<?x8x?x4xf32>

// -----

// expected-error @+1 {{'transformer.state' op C5: expected a positive window with a capacity, found 0}}
transformer.state @state_c5_window {dims = ["B", 8, "S", 4], capacity = 8 : i64, window = 0 : i64} : tensor<?x8x?x4xf32>

// -----

func.func @state_set_c1_name(%x: tensor<?x8x?x4xf32>) {
  // expected-error @+1 {{'transformer.state.set' op C1: expected the name of a transformer.state, found @none}}
  transformer.state.set @none, %x : tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @state_set_c2_capacity(%x: tensor<?x8x?x4xf32>) {
  // expected-error @+1 {{'transformer.state.set' op C2: expected a state without a capacity, found @c; use transformer.cache.append}}
  transformer.state.set @c, %x : tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @state_set_c3_type(%x: tensor<?x8x?x5xf32>) {
  // expected-error @+1 {{'transformer.state.set' op C3: expected value of the state's type 'tensor<?x8x?x4xf32>', found 'tensor<?x8x?x5xf32>'}}
  transformer.state.set @s, %x : tensor<?x8x?x5xf32>
  return
}

// -----

func.func @state_get_c1_name() {
  // expected-error @+1 {{'transformer.state.get' op C1: expected the name of a transformer.state, found @none}}
  %x = transformer.state.get @none : tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @state_get_c2_type() {
  // expected-error @+1 {{'transformer.state.get' op C2: expected a result of the state's type 'tensor<?x8x?x4xf32>', found 'tensor<?x7x?x4xf32>'}}
  %x = transformer.state.get @s : tensor<?x7x?x4xf32>
  return
}
