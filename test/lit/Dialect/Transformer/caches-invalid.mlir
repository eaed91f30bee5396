//===- caches-invalid.mlir - Caches: invalid ops -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case a constraint, named after it.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

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
