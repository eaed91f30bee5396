//===- check-supported-operands.mlir - Weights, numbers and offsets ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A construct that the dialect allows and kernels do not support is an error at its place.

// RUN: heddle-opt %s --check-supported --split-input-file --verify-diagnostics

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
