// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys after a sequence's count do not exist: a score that replaces those of hidden pairs does not count for them, and a
// sequence without keys gives zeros. Weights and log-sum-exp agree with the reference; a count past the keys is an error.

// RUN: %{python} %S/noise.py %t.npy 3 1 20 4
// RUN: %{python} -c "import sys; sys.path.insert(0, '%S'); import npy; npy.write('%t.counts.npy', 'i4', (3,), [7, 20, 0]); npy.write('%t.past.npy', 'i4', (3,), [7, 21, 0])"
// RUN: heddle run %s --input q=%t.npy --input n=%t.counts.npy --verify | FileCheck %s
// RUN: heddle run %s --input q=%t.npy --input n=%t.counts.npy --verify --device=vulkan | FileCheck %s
// RUN: not heddle run %s --input q=%t.npy --input n=%t.past.npy 2>&1 | FileCheck %s --check-prefix=PAST
// CHECK-DAG: verified:
// PAST: error: {{.*}}n{{.*}}21

func.func @attend(%q: tensor<?x1x?x4xf32> {transformer.name = "q", transformer.dims = ["B", 1, "T", 4]},
                  %n: tensor<?xi32> {transformer.name = "n", transformer.dims = ["B"]})
    -> (tensor<?x1x?x4xf32> {transformer.name = "o"}, tensor<?x1x?xf32> {transformer.name = "l"}, tensor<?x1x?x?xf32> {transformer.name = "w"},
        tensor<?x1x?x4xf32> {transformer.name = "p"}) {
  %m = transformer.mask.where {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %some = arith.cmpi sge, %i, %j : i32
    transformer.yield %some : i1
  }
  %o, %l, %w = transformer.attention %q, %q, %q mask(%m) counts(%n : tensor<?xi32>) {scale = 1.0 : f32, hidden_score = -0.5 : f32}
    : (tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) -> tensor<?x1x?x4xf32> lse tensor<?x1x?xf32> weights tensor<?x1x?x?xf32>
  %p = transformer.attention %q, %q, %q counts(%n : tensor<?xi32>) {scale = 1.0 : f32}
    : (tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) -> tensor<?x1x?x4xf32>
  return %o, %l, %w, %p : tensor<?x1x?x4xf32>, tensor<?x1x?xf32>, tensor<?x1x?x?xf32>, tensor<?x1x?x4xf32>
}
