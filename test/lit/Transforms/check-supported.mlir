// RUN: heddle-opt %s --check-supported --split-input-file --verify-diagnostics

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct that the dialect allows and kernels do not support is an error at its place.

// Supported constructs pass: vectors and tables may be arguments, and functions may compute
// nothing.
func.func @built(%x: tensor<?x4xf32>, %b: tensor<4xf32>, %n: i32) -> (tensor<?x4xf32>, tensor<4xf32>) {
  %w = transformer.weight "w" : tensor<4x4xf32>
  %y = transformer.linear %x, %w bias(%b) : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y, %b : tensor<?x4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 0: expected rank 1 or more, found tensor<f32>, which is not supported yet}}
func.func @number(%x: tensor<f32>) {
  return
}

// -----

// expected-error @+1 {{argument 0: expected elements of f32, i32 or i1, found f64, which is not supported yet}}
func.func @element(%x: tensor<?x4xf64>) {
  return
}

// -----

// expected-error @+1 {{argument 0: expected a tensor of known rank, found f32}}
func.func @scalar(%x: f32) {
  return
}

// -----

// expected-error @+1 {{result 0: expected a tensor of known rank, found i32}}
func.func @returned(%n: i32) -> i32 {
  return %n : i32
}

// -----

// expected-error @+1 {{argument 0: expected dimensions below 2^31 and at most 2^40 elements, found tensor<4611686018427387904x4xf32>}}
func.func @long(%x: tensor<4611686018427387904x4xf32>) {
  return
}

// -----

// expected-error @+1 {{argument 0: expected dimensions below 2^31 and at most 2^40 elements}}
func.func @large(%x: tensor<?x2147483647x2147483647x4xf32>) {
  return
}

// -----

func.func @wide(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'transformer.weight' op expected a last dimension of at most 2^20, found tensor<4x2000000000xf32>}}
  %w = transformer.weight "w" : tensor<4x2000000000xf32>
  return
}

// -----

func.func @wide_norm(%x: tensor<?x100000xf32>, %b: tensor<100000xf32>) -> tensor<?x100000xf32> {
  // expected-error @+1 {{'transformer.layer_norm' op expected rows of at most 98304 features, found 100000; wider ones are not supported yet}}
  %y = transformer.layer_norm %x, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x100000xf32>, tensor<100000xf32>, tensor<100000xf32>) -> tensor<?x100000xf32>
  return %y : tensor<?x100000xf32>
}

// -----

func.func @wide_heads(%q: tensor<?x1x?x16xf32>, %v: tensor<?x1x?x7000xf32>) -> tensor<?x1x?x7000xf32> {
  // expected-error @+1 {{'transformer.attention' op expected heads of values of at most 6144 features, found 7000; wider ones are not supported yet}}
  %y = transformer.attention %q, %q, %v {scale = 1.0 : f32} : (tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x7000xf32>) -> tensor<?x1x?x7000xf32>
  return %y : tensor<?x1x?x7000xf32>
}

// -----

transformer.state @s {dims = ["B", 1, "P", 4], capacity = 8 : i64} : tensor<?x1x?x4xf32>

func.func @keys_as_values(%x: tensor<?x1x?x4xf32> {transformer.dims = ["B", 1, "T", 4]}) -> tensor<?x1x?x4xf32> {
  %k = transformer.cache.append @s, %x : tensor<?x1x?x4xf32> -> tensor<?x1x?x4xf32>
  // expected-error @+1 {{operand 2: expected another value than the content of @s, found the keys of an attention; reading them otherwise is not supported yet, keep a second state}}
  %o = transformer.attention %x, %k, %k {scale = 1.0 : f32} : (tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) -> tensor<?x1x?x4xf32>
  return %o : tensor<?x1x?x4xf32>
}

// -----

// expected-error @+1 {{argument 0: expected a transformer.name, as argument 1 has the name "arg0" that it would get, found none}}
func.func @taken(%x: tensor<?x4xf32>, %y: tensor<?x4xf32> {transformer.name = "arg0"}) {
  return
}

// -----

// expected-error @+1 {{result 1: expected a transformer.name, as result 0 has the name "out1" that it would get, found none}}
func.func @taken_result(%x: tensor<?x4xf32>) -> (tensor<?x4xf32> {transformer.name = "out1"}, tensor<?x4xf32>) {
  return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// expected-error @+1 {{expected names of printable UTF-8, found "a\FF"}}
func.func @bytes(%x: tensor<?x4xf32> {transformer.name = "a\FF"}) {
  return
}

// -----

func.func @newline() {
  // expected-error @+1 {{expected names of printable UTF-8, found "a\0Ab"}}
  %w = transformer.weight "a\0Ab" : tensor<4xf32>
  return
}

// -----

func.func @vectors(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'arith.addf' op expected tensors of f32 and rank 2 or more, found 'tensor<?xf32>', which is not supported yet}}
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @matrix_argument(%x: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{operand 1: expected a transformer.weight, found an argument; matrices that are no weights are not supported yet}}
  %y = transformer.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @matrix_constant(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = arith.constant dense<1.0> : tensor<4x4xf32>
  %v = transformer.weight "v" : tensor<4x4xf32>
  %b = transformer.weight "b" : tensor<4xf32>
  // expected-error @+1 {{operand 3: expected a transformer.weight, found arith.constant; matrices that are no weights are not supported yet}}
  %y = transformer.ffn %x in(%v, %b) out(%w) : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @vector_constant(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %g = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @+1 {{operand 1: expected an argument or a transformer.weight, found a constant tensor, which is not supported yet}}
  %y = transformer.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f32} : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @weight_as_term(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = transformer.weight "w" : tensor<2x4xf32>
  // expected-error @+1 {{operand 1: expected an argument or the result of an op, found a transformer.weight; weights that are computed with are not supported yet, make it an argument}}
  %y = arith.addf %x, %w : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

func.func @weight_as_result() -> tensor<2x4xf32> {
  %w = transformer.weight "w" : tensor<2x4xf32>
  // expected-error @+1 {{'func.return' op operand 0: expected an argument or the result of an op, found a transformer.weight}}
  return %w : tensor<2x4xf32>
}

// -----

func.func @weight_of_rank_3(%q: tensor<?x2x3x4xf32>) -> tensor<?x2x3x4xf32> {
  // expected-error @+1 {{'transformer.weight' op expected a vector or a matrix, found rank 4, which is not supported yet}}
  %t = transformer.weight "t" : tensor<1x1x3x3xf32>
  %b = transformer.bias.dense %t : tensor<1x1x3x3xf32>
  %o = transformer.attention %q, %q, %q bias(%b) {scale = 1.0 : f32} : (tensor<?x2x3x4xf32>, tensor<?x2x3x4xf32>, tensor<?x2x3x4xf32>) -> tensor<?x2x3x4xf32>
  return %o : tensor<?x2x3x4xf32>
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

// -----

func.func @any_offset(%x: tensor<?x?x4xf32>, %n: i32) -> tensor<?x?x4xf32> {
  // expected-error @+1 {{offset: expected a transformer.cache.length or an argument with the default rows_before, found another number, which is not supported yet}}
  %y = transformer.position.sinusoidal %x offset(%n : i32) : tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}

// -----

func.func @any_rotary_offset(%x: tensor<?x2x?x4xf32>, %n: i32) -> tensor<?x2x?x4xf32> {
  // expected-error @+1 {{offset: expected a transformer.cache.length or an argument with the default rows_before, found another number, which is not supported yet}}
  %y = transformer.rotary %x offset(%n : i32) : tensor<?x2x?x4xf32>
  return %y : tensor<?x2x?x4xf32>
}

// -----

func.func @any_learned_offset(%x: tensor<?x?x4xf32>, %n: i32) -> tensor<?x?x4xf32> {
  %t = transformer.weight "t" : tensor<9x4xf32>
  // expected-error @+1 {{offset: expected a transformer.cache.length or an argument with the default rows_before, found another number, which is not supported yet}}
  %y = transformer.position.learned %x, %t offset(%n : i32) : tensor<?x?x4xf32>, tensor<9x4xf32>
  return %y : tensor<?x?x4xf32>
}

// -----

func.func @convolution_argument(%x: tensor<?x?x4xf32>, %w: tensor<4x4x1xf32>) -> tensor<?x?x4xf32> {
  // expected-error @+1 {{operand 1: expected a transformer.weight, found an argument; matrices that are no weights are not supported yet}}
  %y = transformer.conv1x1 %x, %w : (tensor<?x?x4xf32>, tensor<4x4x1xf32>) -> tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}

// -----

// Numbers of groups are not checked when a kernel runs, so callers cannot give them.
func.func @groups(%x: tensor<?x16xf32>, %s: tensor<3xi32>, %n: tensor<2xi32>) -> tensor<?x16xf32> {
  %w = transformer.weight "w" : tensor<32x16xf32>
  // expected-error @+1 {{expected groups that are the results of one transformer.experts.starts, found other values}}
  %y = transformer.linear %x, %w groups(%s, %n) {group_count = 2 : i64} : (tensor<?x16xf32>, tensor<32x16xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
