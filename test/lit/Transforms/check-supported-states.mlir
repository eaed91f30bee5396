//===- check-supported-states.mlir - States and caches -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct that the dialect allows and kernels do not support is an error at its place.

// RUN: heddle-opt %s --check-supported --split-input-file --verify-diagnostics

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

func.func @keys_as_values(%x: tensor<?x1x?x4xf32> {transformer.dims = ["B", 1, "T", 4]}) -> tensor<?x1x?x4xf32> {
  %k = transformer.cache.append @s, %x : tensor<?x1x?x4xf32> -> tensor<?x1x?x4xf32>
  // expected-error @+1 {{operand 2: expected another value than the content of @s, found the keys of an attention; reading them otherwise is not supported yet, keep a second state}}
  %o = transformer.attention %x, %k, %k {scale = 1.0 : f32} : (tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) -> tensor<?x1x?x4xf32>
  return %o : tensor<?x1x?x4xf32>
}

// -----

transformer.state @s {dims = ["B", 1, "S", 4]} : tensor<?x1x?x4xf32>

func.func @unknown_size(%x: tensor<?x1x?x4xf32> {transformer.dims = ["B", 1, "T", 4]}) {
  // expected-error @+1 {{dimension 2 of @s: expected an argument of the function with a dimension "S" in its transformer.dims, found none}}
  transformer.state.set @s, %x : tensor<?x1x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

func.func @nameless_parents(%p: tensor<?xi32>) {
  // expected-error @+1 {{expected parents to be an argument with a transformer.name, found one without}}
  transformer.cache.reorder %p : tensor<?xi32>
  return
}

// -----

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

func.func @rows_at_any_place(%x: tensor<?x1x?x4xf32>, %p: tensor<?xi32>) {
  // expected-error @+1 {{at: expected an argument with the default {rows_before = "P"}, found another value}}
  %k = transformer.cache.append @s, %x at(%p : tensor<?xi32>) : tensor<?x1x?x4xf32> -> tensor<?x1x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>
transformer.state @t {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

func.func @appends_that_count_otherwise(%x: tensor<?x1x?x4xf32>, %n: tensor<?xi32>, %p: tensor<?xi32> {transformer.default = {rows_before = "P"}}) {
  %k = transformer.cache.append @s, %x at(%p : tensor<?xi32>) count(%n : tensor<?xi32>) : tensor<?x1x?x4xf32> -> tensor<?x1x?x4xf32>
  // expected-error @+1 {{expected at(...) and count(...) as other appends of the function have them, found others}}
  %v = transformer.cache.append @t, %x at(%p : tensor<?xi32>) : tensor<?x1x?x4xf32> -> tensor<?x1x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>
transformer.state @t {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

func.func @appends_of_both_kinds(%x: tensor<?x1x?x4xf32>, %p: tensor<?xi32> {transformer.default = {rows_before = "P"}}) {
  %k = transformer.cache.append @s, %x at(%p : tensor<?xi32>) : tensor<?x1x?x4xf32> -> tensor<?x1x?x4xf32>
  // expected-error @+1 {{expected at(...) as other appends of the function have it, found none}}
  %v = transformer.cache.append @t, %x : tensor<?x1x?x4xf32> -> tensor<?x1x?x4xf32>
  return
}

// -----

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

// expected-error @+1 {{argument 1: expected a transformer.cache.append with at(...) to the length P, whose rows it counts, found none}}
func.func @rows_of_nothing(%x: tensor<?x1x?x4xf32>, %p: tensor<?xi32> {transformer.default = {rows_after = "P"}}) {
  return
}

// -----

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

func.func @rows_that_are_asked_for(%r: tensor<?xi32>) {
  // expected-error @+1 {{rows: expected an argument with the default no_rows_of, found one without}}
  transformer.cache.clear "P" rows(%r : tensor<?xi32>)
  return
}

// -----

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

func.func @rows_of_one_length(%m: tensor<?x?x4xf32> {transformer.name = "m"}, %r: tensor<?xi32> {transformer.default = {no_rows_of = "m"}}) {
  // expected-error @+1 {{rows: expected caches whose sequences have rows of their own number, found a transformer.cache.append to the length "P" without at(...)}}
  transformer.cache.clear "P" rows(%r : tensor<?xi32>)
  return
}

func.func @appends_to_all(%x: tensor<?x1x?x4xf32>) {
  %k = transformer.cache.append @s, %x : tensor<?x1x?x4xf32> -> tensor<?x1x?x4xf32>
  return
}
