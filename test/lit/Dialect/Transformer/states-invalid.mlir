//===- states-invalid.mlir - States and caches: invalid ops --------------===//
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

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_append_c1_no_capacity(%x: tensor<?x8x1x4xf32>) {
  // expected-error @+1 {{'transformer.cache.append' op C1: expected a state with a capacity, found @s; use transformer.state.set}}
  %k = transformer.cache.append @s, %x : tensor<?x8x1x4xf32> -> tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_append_c2_heads(%x: tensor<?x7x1x4xf32>) {
  // expected-error @+1 {{'transformer.cache.append' op C2: expected heads of rows equal to the state's 8, found 7}}
  %k = transformer.cache.append @c, %x : tensor<?x7x1x4xf32> -> tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_append_c2_capacity(%x: tensor<?x8x17x4xf32>) {
  // expected-error @+1 {{'transformer.cache.append' op C2: expected at most 16 rows, the capacity, found 17}}
  %k = transformer.cache.append @c, %x : tensor<?x8x17x4xf32> -> tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>

func.func @cache_append_c2_rank(%x: tensor<?x8x1xf32>) {
  // expected-error @+1 {{'transformer.cache.append' op C2: expected rows of the state's rank 4, found 'tensor<?x8x1xf32>'}}
  %k = transformer.cache.append @c, %x : tensor<?x8x1xf32> -> tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_append_c3_type(%x: tensor<?x8x1x4xf32>) {
  // expected-error @+1 {{'transformer.cache.append' op C3: expected a result of the state's type 'tensor<?x8x?x4xf32>', found 'tensor<?x8x1x4xf32>'}}
  %k = transformer.cache.append @c, %x : tensor<?x8x1x4xf32> -> tensor<?x8x1x4xf32>
  return
}

// -----

transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_append_c4_count_alone(%x: tensor<?x8x1x4xf32>, %n: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.cache.append' op C4: expected at(...) with count(...), found none}}
  %k = transformer.cache.append @c, %x count(%n : tensor<?xi32>) : tensor<?x8x1x4xf32> -> tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64, window = 4 : i64} : tensor<?x8x?x4xf32>
func.func @cache_append_c5_window(%x: tensor<?x8x1x4xf32>) {
  // expected-error @+1 {{'transformer.cache.append' op C5: expected at(...) for the state @c, which has a window, found none}}
  %k = transformer.cache.append @c, %x : tensor<?x8x1x4xf32> -> tensor<?x8x?x4xf32>
  return
}

// -----

transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
// expected-error @+1 {{argument 1: transformer.default: expected the length of a transformer.state with a capacity, found "Q"}}
func.func @rows_before_of_what(%x: tensor<?x8x1x4xf32>, %p: tensor<?xi32> {transformer.default = {rows_before = "Q"}}) {
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_length_c1_dim() {
  // expected-error @+1 {{'transformer.cache.length' op C1: expected the length of a transformer.state with a capacity, found "S"}}
  %n = transformer.cache.length "S" : i32
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_clear_c1_dim() {
  // expected-error @+1 {{'transformer.cache.clear' op C1: expected the length of a transformer.state with a capacity, found "Q"}}
  transformer.cache.clear "Q"
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_clear_c2_pads(%r: tensor<?xi32>) {
  // expected-error @+1 {{'transformer.cache.clear' op C2: expected pads to be a dimension of a transformer.state without a capacity, found "B"}}
  transformer.cache.clear "P" rows(%r : tensor<?xi32>) pads "B"
  return
}

// -----

transformer.state @s {dims = ["B", 8, "S", 4]} : tensor<?x8x?x4xf32>
transformer.state @c {dims = ["B", 8, "P", 4], capacity = 16 : i64} : tensor<?x8x?x4xf32>
func.func @cache_clear_c2_rows() {
  // expected-error @+1 {{'transformer.cache.clear' op C2: expected rows(...) with pads "S", found none}}
  transformer.cache.clear "P" pads "S"
  return
}

// -----

func.func @cache_reorder_rank(%p: tensor<?x?xi32>) {
  // expected-error @+1 {{'transformer.cache.reorder' op operand #0 must be 1D tensor of 32-bit signless integer values}}
  transformer.cache.reorder %p : tensor<?x?xi32>
  return
}
