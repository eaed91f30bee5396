//===- function-attributes-invalid.mlir - Names and shapes of functions: invalid ops -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of arguments and results that contradict the type or each other.

// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'func.func' op argument 0: transformer.dims: expected 2 entries, one a dimension, found 1}}
func.func private @dims_rank(tensor<?x?xi32> {transformer.dims = ["B"]})

// -----

// expected-error @+1 {{'func.func' op argument 1: transformer.dims: dimension 1: expected 8, found 7}}
func.func private @dims_static(i32, tensor<?x8xf32> {transformer.dims = ["B", 7]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.dims: dimension 0: expected a name of the dynamic dimension, found 4}}
func.func private @dims_dynamic(tensor<?x8xf32> {transformer.dims = [4, 8]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.dims: dimension 1: expected the number 8, found the name "E"}}
func.func private @dims_named_static(tensor<?x8xf32> {transformer.dims = ["B", "E"]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.dims: expected a ranked tensor, found 'i32'}}
func.func private @dims_scalar(i32 {transformer.dims = []})

// -----

// expected-error @+1 {{'func.func' op argument 1: transformer.name: expected a name of its own, found "a" again (argument 0)}}
func.func private @name_twice(i32 {transformer.name = "a"}, i32 {transformer.name = "a"})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.name: expected a name, found ""}}
func.func private @name_empty(i32 {transformer.name = ""})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.nam: expected transformer.name, dims, range, default, port or broadcast}}
func.func private @unknown(i32 {transformer.nam = "a"})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.range: expected low < high, found 5 and 5}}
func.func private @range_order(tensor<?xi32> {transformer.range = [5, 5]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.range: expected a tensor of i32, found 'tensor<?xf32>'}}
func.func private @range_type(tensor<?xf32> {transformer.range = [0, 5]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.default: expected the name of an argument, found "source"}}
func.func private @default_source(tensor<?xi32> {transformer.default = {lengths_of = "source", padding = 0 : i64}})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.default: expected one of lengths_of, zeros_of, no_rows_of, rows_before and rows_after with a name}}
func.func private @default_kind(tensor<?xi32> {transformer.default = {padding = 0 : i64}})

// -----

// expected-error @+1 {{'func.func' op result 0: transformer.dims: expected 1 entries, one a dimension, found 2}}
func.func private @result_dims(i32) -> (tensor<?xf32> {transformer.dims = ["B", 1]})

// -----

// expected-error @+1 {{'func.func' op result 1: transformer.name: expected a name of its own, found "a" again (result 0)}}
func.func private @result_name(i32) -> (i32 {transformer.name = "a"}, i32 {transformer.name = "a"})

// -----

// expected-error @+1 {{'func.func' op result 0: transformer.range: expected transformer.name, dims or port}}
func.func private @result_unknown(i32) -> (tensor<?xi32> {transformer.range = [0, 1]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.port: expected transformer.dims with it, found none}}
func.func private @port_alone(tensor<?x?xi1> {transformer.port = ["B", "S"]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.port: expected ["B", 1, 1, "S"] without dimensions of 1, or with the first two transposed, found ["S", "B"]}}
func.func private @port_order(tensor<?x1x1x?xi1> {transformer.dims = ["B", 1, 1, "S"], transformer.port = ["S", "B"]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.broadcast: expected one size a dimension of 'tensor<?x?xi1>', found 1}}
func.func private @broadcast_rank(tensor<?x?xi1> {transformer.broadcast = ["B"]})

// -----

// expected-error @+1 {{'func.func' op argument 0: transformer.broadcast: expected a list of sizes, found [true]}}
func.func private @broadcast_entry(tensor<?xi1> {transformer.broadcast = [true]})
