// RUN: heddle-opt %s --split-attention-weights --group-kernels --outline-kernels --plan-kernels=target=cpu --tile-kernels | sed -E -f %S/Inputs/tiles.sed > %t.cpu
// RUN: heddle-opt %s --split-attention-weights --group-kernels --outline-kernels --plan-kernels=target=vulkan --tile-kernels | sed -E -f %S/Inputs/tiles.sed > %t.vulkan
// RUN: diff %t.cpu %t.vulkan
// RUN: FileCheck %s --input-file=%t.cpu

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both devices get the same body for a kernel: without tile sizes and plans, the texts are equal.

// CHECK: kernel.func @linear3_heads
// CHECK: kernel.func @attention
// CHECK: kernel.func @linear_relu_add
// CHECK: kernel.func @norm
// CHECK: kernel.func @weights
func.func @layer(%x: tensor<?x?x64xf32> {transformer.dims = ["B", "S", 64]}, %n: tensor<?xi32> {transformer.dims = ["B"]}) -> (tensor<?x?x64xf32>, tensor<?x?x?xf32>) {
  %w = transformer.weight "w" : tensor<64x64xf32>
  %g = transformer.weight "g" : tensor<64xf32>
  %q = transformer.linear %x, %w : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %k = transformer.linear %x, %w : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %v = transformer.linear %x, %w : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %qh = transformer.split_heads %q {heads = 1 : i64} : tensor<?x?x64xf32> -> tensor<?x1x?x64xf32>
  %kh = transformer.split_heads %k {heads = 1 : i64} : tensor<?x?x64xf32> -> tensor<?x1x?x64xf32>
  %vh = transformer.split_heads %v {heads = 1 : i64} : tensor<?x?x64xf32> -> tensor<?x1x?x64xf32>
  %m0 = transformer.mask.lengths %n : tensor<?xi32>
  %m1 = transformer.mask.causal
  %m = transformer.mask.and %m0, %m1
  %o, %a = transformer.attention %qh, %kh, %vh mask(%m) {scale = 0.125 : f32, average_weights}
    : (tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>) -> tensor<?x1x?x64xf32> weights tensor<?x?x?xf32>
  %c = transformer.merge_heads %o : tensor<?x1x?x64xf32> -> tensor<?x?x64xf32>
  %y = transformer.linear %c, %w bias(%g) {activation = #transformer.activation<relu>} : (tensor<?x?x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x?x64xf32>
  %r = arith.addf %y, %x : tensor<?x?x64xf32>
  %z = transformer.layer_norm %r, %g, %g {epsilon = 1.0e-5 : f32} : (tensor<?x?x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x?x64xf32>
  return %z, %a : tensor<?x?x64xf32>, tensor<?x?x?xf32>
}
