//===- warn-empty-masks.mlir - Masks that allow nothing ------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warning where nothing is provably allowed, silence where something may be.
//
//===----------------------------------------------------------------------===//

// RUN: heddle-opt %s --warn-empty-masks --verify-diagnostics

!x = tensor<?x2x?x4xf32>

func.func @do_nothing(%x: !x, %n: i32, %ns: tensor<?xi32>) -> !x {
  %c = transformer.mask.causal offset(%n : i32)
  %w = transformer.mask.window before = 3 after = 0
  %l = transformer.mask.lengths %ns : tensor<?xi32>
  %cw = transformer.mask.and %c, %w
  %m = transformer.mask.and %cw, %l
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

func.func @windows_that_do_not_meet(%x: !x) -> !x {
  %five = arith.constant 5 : i32
  %zero = arith.constant 0 : i32
  %a = transformer.mask.window before = 3 after = 0 offset(%five : i32)
  %b = transformer.mask.causal offset(%zero : i32)
  %m = transformer.mask.and %a, %b
  // expected-warning @+1 {{the mask allows no key to any query}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

func.func @a_mask_and_its_opposite(%x: !x, %ids: tensor<?x?xi32>, %ns: tensor<?xi32>) -> !x {
  %d = transformer.mask.documents %ids, %ids : tensor<?x?xi32>, tensor<?x?xi32>
  %l = transformer.mask.lengths %ns : tensor<?xi32>
  %n = transformer.mask.not %d
  %ln = transformer.mask.and %l, %n
  %m = transformer.mask.and %d, %ln
  // expected-warning @+1 {{the mask allows no key to any query}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

func.func @lengths_of_nothing(%x: tensor<2x2x?x4xf32>) -> tensor<2x2x?x4xf32> {
  %zero = arith.constant dense<0> : tensor<2xi32>
  %m = transformer.mask.lengths %zero : tensor<2xi32>
  // expected-warning @+1 {{the mask allows no key to any query}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<2x2x?x4xf32>, tensor<2x2x?x4xf32>, tensor<2x2x?x4xf32>) -> tensor<2x2x?x4xf32>
  return %o : tensor<2x2x?x4xf32>
}

// Keys 8 and more, of 8.
func.func @keys_that_are_not_there(%x: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %eight = arith.constant 8 : i32
    %c = arith.cmpi sge, %j, %eight : i32
    transformer.yield %c : i1
  }
  // expected-warning @+1 {{the mask allows no key to any query}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %o : tensor<1x2x8x4xf32>
}
