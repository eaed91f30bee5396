//===- without-matrices.mlir - Attention without matrix units ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Returned weights and their attention are computed without matrix units. Attention in
// other functions of the model then is as well, so that all have the same bits.

// RUN: heddle-opt %s --split-input-file --set-precision=dtype=f16 | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: heddle-opt %s --split-input-file --set-precision | FileCheck %s --check-prefixes=CHECK,F32
// F32-NOT: without_matrices

// CHECK-LABEL: @decode(
func.func @decode(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>) -> tensor<?x8x?x?xf32> {
  // NARROW: transformer.attention {{.*}}transformer.without_matrices
  %o, %w = transformer.attention %q, %k, %k {scale = 0.125 : f32} : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> weights tensor<?x8x?x?xf32>
  return %w : tensor<?x8x?x?xf32>
}
// CHECK-LABEL: @step(
func.func @step(%q: tensor<?x8x1x64xf32>, %k: tensor<?x8x?x64xf32>) -> tensor<?x8x1x64xf32> {
  // NARROW: transformer.attention {{.*}}transformer.without_matrices
  %o = transformer.attention %q, %k, %k {scale = 0.125 : f32} : (tensor<?x8x1x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x1x64xf32>
  return %o : tensor<?x8x1x64xf32>
}

// -----

// CHECK-LABEL: @alone(
func.func @alone(%q: tensor<?x8x1x64xf32>, %k: tensor<?x8x?x64xf32>) -> tensor<?x8x1x64xf32> {
  // NARROW-NOT: without_matrices
  %o = transformer.attention %q, %k, %k {scale = 0.125 : f32} : (tensor<?x8x1x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x1x64xf32>
  return %o : tensor<?x8x1x64xf32>
}
