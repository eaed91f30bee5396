// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of which every score is replaced is a plain mean, whatever the score: neither the device nor the reference may
// lose it beside the log-sum-exp, which is as large.

// RUN: %{python} %S/noise.py %t.npy 2 1 3 4
// RUN: sed 's/SCORE/-1.0e9/' %s > %t.near.mlir
// RUN: heddle run %t.near.mlir --input q=%t.npy --verify | FileCheck %s
// RUN: heddle run %t.near.mlir --input q=%t.npy --verify --device=vulkan | FileCheck %s
// RUN: sed 's/SCORE/-1.0e25/' %s > %t.far.mlir
// RUN: heddle run %t.far.mlir --input q=%t.npy --verify | FileCheck %s
// RUN: sed 's/SCORE/-3.4e38/' %s > %t.last.mlir
// RUN: heddle run %t.last.mlir --input q=%t.npy --verify | FileCheck %s
// CHECK: verified:

func.func @attend(%q: tensor<?x1x?x4xf32> {transformer.name = "q", transformer.dims = ["B", 1, "T", 4]})
    -> (tensor<?x1x?x4xf32> {transformer.name = "o"}, tensor<?x1x?xf32> {transformer.name = "l"}, tensor<?x1x?x?xf32> {transformer.name = "w"}) {
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %zero = arith.constant 0 : i32
    %some = arith.cmpi ne, %i, %zero : i32
    transformer.yield %some : i1
  }
  %o, %l, %w = transformer.attention %q, %q, %q mask(%m) {scale = 1.0 : f32, hidden_score = SCORE : f32}
    : (tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) -> tensor<?x1x?x4xf32> lse tensor<?x1x?xf32> weights tensor<?x1x?x?xf32>
  return %o, %l, %w : tensor<?x1x?x4xf32>, tensor<?x1x?xf32>, tensor<?x1x?x?xf32>
}
