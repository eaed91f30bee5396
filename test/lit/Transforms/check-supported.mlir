//===- check-supported.mlir - Types, sizes and names ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct that the dialect allows and kernels do not support is an error at its place.
// Supported constructs pass: vectors and tables may be arguments, and functions may compute
// nothing.

// RUN: heddle-opt %s --check-supported --split-input-file --verify-diagnostics

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
