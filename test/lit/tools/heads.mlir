// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heads of 20 and 10 features, no multiple of a vector: cut out of an input, and put back side by side.

// RUN: %{python} %S/noise.py %t.npy 2 19 60
// RUN: heddle compile %s -o %t.heddle
// RUN: heddle run %t.heddle --input x=%t.npy --verify | FileCheck %s
// RUN: heddle run %t.heddle --input x=%t.npy --verify --device=vulkan | FileCheck %s
// CHECK: verified: 3 launches agree with the reference

// One head is nothing but the row.
// RUN: sed 's/heads = 3/heads = 1/; s/x3x?x20x/x1x?x60x/g; s/return %y/%z = arith.addf %y, %x : tensor<?x?x60xf32> return %z/' %s > %t.one.mlir
// RUN: heddle run %t.one.mlir --input x=%t.npy --verify | FileCheck %s --check-prefix=ONE
// ONE: verified: 4 launches agree with the reference

// Anything but a projection reads whole rows: heads of 20 lie in them side by side, those of 10 are padded
// and put together by a copy.
// RUN: sed 's/return %y/%z = arith.addf %y, %x : tensor<?x?x60xf32> return %z/' %s > %t.row.mlir
// RUN: heddle run %t.row.mlir --input x=%t.npy --verify | FileCheck %s --check-prefix=ROW
// RUN: heddle run %t.row.mlir --input x=%t.npy --verify --device=vulkan | FileCheck %s --check-prefix=ROW
// ROW: verified: 4 launches agree with the reference
// RUN: sed 's/heads = 3/heads = 6/; s/x3x?x20x/x6x?x10x/g' %t.row.mlir > %t.copy.mlir
// RUN: heddle run %t.copy.mlir --input x=%t.npy --verify | FileCheck %s --check-prefix=COPY
// RUN: heddle run %t.copy.mlir --input x=%t.npy --verify --device=vulkan | FileCheck %s --check-prefix=COPY
// RUN: heddle explain %t.copy.mlir | FileCheck %s --check-prefix=WHY
// COPY: verified: 5 launches agree with the reference
// WHY: not fused: uneven-heads (transformer.merge_heads)

func.func @heads(%x: tensor<?x?x60xf32> {transformer.name = "x", transformer.dims = ["B", "T", 60]}) -> (tensor<?x?x60xf32> {transformer.name = "y"}) {
  %h = transformer.split_heads %x {heads = 3 : i64} : tensor<?x?x60xf32> -> tensor<?x3x?x20xf32>
  %a = transformer.attention %h, %h, %h {scale = 0.2 : f32} : (tensor<?x3x?x20xf32>, tensor<?x3x?x20xf32>, tensor<?x3x?x20xf32>) -> tensor<?x3x?x20xf32>
  %y = transformer.merge_heads %a : tensor<?x3x?x20xf32> -> tensor<?x?x60xf32>
  return %y : tensor<?x?x60xf32>
}
