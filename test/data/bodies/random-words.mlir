//===- random-words.mlir - Random words of a tile --------------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ten rounds are a loop. Vectors of 64 columns share their blocks if the first column is known
// to be a multiple of 64: two blocks of 8 words a row, or one of 16. Otherwise each vector computes
// its own block and selects the word.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 --cse | FileCheck %s --check-prefixes=CHECK,V4
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v3 --cse | FileCheck %s --check-prefixes=CHECK,V3

// CHECK-LABEL: func.func @shared(
// V4: scf.for {{.*}} -> (vector<16xi32>, vector<16xi32>, vector<16xi32>, vector<16xi32>, i32, i32)
// V3: scf.for {{.*}} -> (vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, i32, i32)
// CHECK-NOT: arith.cmpi eq
// CHECK-LABEL: func.func @own(
// CHECK: scf.for {{.*}} -> (vector
// CHECK: arith.cmpi eq
kernel.func @shared(%y: !kernel.view<[d0, 64], f32>) scalars(d0) grid(%i = d0 by 1) {
  %zero = arith.constant 0 : index
  %n = arith.constant 5 : i32
  %c = kernel.iota columns from %zero : tensor<1x64xi32>
  %w = kernel.random_words (%c, %n, %n, %n) key(%n, %n) : (tensor<1x64xi32>, i32, i32) -> tensor<1x64xi32>
  %f = arith.uitofp %w : tensor<1x64xi32> to tensor<1x64xf32>
  kernel.store %f, %y[%i, %zero] : tensor<1x64xf32>, !kernel.view<[d0, 64], f32>
}

kernel.func @own(%y: !kernel.view<[d0, 64], f32>) scalars(d0) grid(%i = d0 by 1) {
  %zero = arith.constant 0 : index
  %n = arith.constant 5 : i32
  %c = kernel.iota columns from %i : tensor<1x64xi32>
  %w = kernel.random_words (%c, %n, %n, %n) key(%n, %n) : (tensor<1x64xi32>, i32, i32) -> tensor<1x64xi32>
  %f = arith.uitofp %w : tensor<1x64xi32> to tensor<1x64xf32>
  kernel.store %f, %y[%i, %zero] : tensor<1x64xf32>, !kernel.view<[d0, 64], f32>
}
