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

// All of the first window lies in the second one, whatever the offset is.
func.func @a_window_outside_itself(%x: !x) -> !x {
  %a = transformer.mask.window before = 3 after = 0
  %b = transformer.mask.window before = 5 after = 1
  %n = transformer.mask.not %b
  %m = transformer.mask.and %a, %n
  // expected-warning @+1 {{the mask allows no key to any query}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// One key stays: four before the query.
func.func @a_window_around_another(%x: !x) -> !x {
  %a = transformer.mask.window before = 4 after = 0
  %b = transformer.mask.window before = 3 after = 1
  %n = transformer.mask.not %b
  %m = transformer.mask.and %a, %n
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

func.func @causal_and_not_causal(%x: !x, %n: tensor<?xi32>) -> !x {
  %a = transformer.mask.causal offset(%n : tensor<?xi32>)
  %b = transformer.mask.causal offset(%n : tensor<?xi32>)
  %w = transformer.mask.window before = 2 after = 0 offset(%n : tensor<?xi32>)
  %not = transformer.mask.not %b
  // Neither side is left: causal, and a window that is part of it.
  %or = transformer.mask.or %a, %w
  %m = transformer.mask.and %or, %not
  // expected-warning @+1 {{the mask allows no key to any query}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

func.func @offsets_of_their_own(%x: !x, %n: i32, %p: i32) -> !x {
  %a = transformer.mask.causal offset(%n : i32)
  %b = transformer.mask.causal offset(%p : i32)
  %not = transformer.mask.not %b
  %m = transformer.mask.and %a, %not
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

func.func @a_table_and_its_opposite(%x: !x, %n: tensor<?xi32>, %t: tensor<?x1x1x?xi1>) -> !x {
  %keep = transformer.mask.dense %t : tensor<?x1x1x?xi1>
  %again = transformer.mask.dense %t : tensor<?x1x1x?xi1>
  %l = transformer.mask.lengths %n : tensor<?xi32>
  %both = transformer.mask.and %keep, %l
  %hide = transformer.mask.or %again, %l
  %not = transformer.mask.not %hide
  %m = transformer.mask.and %both, %not
  // expected-warning @+1 {{the mask allows no key to any query}}
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}
