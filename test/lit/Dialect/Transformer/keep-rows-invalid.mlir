//===- keep-rows-invalid.mlir - Caches that cannot have a type of their own ===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A requested type of caches is never dropped silently; a type that follows from products is.

// RUN: heddle-opt %s --set-precision=cache-dtype=int8 --verify-diagnostics
// RUN: heddle-opt %s --set-precision="dtype=bf16" | FileCheck %s
// RUN: heddle-opt %s --set-precision="dtype=bf16 cache-dtype=f32" | FileCheck %s

// CHECK: transformer.state @values {{.*}} : tensor<?x2x?x8xf32>
// expected-error @+1 {{'transformer.state' op expected only attention to read what is kept as 'i8', found 'transformer.merge_heads'}}
transformer.state @values {dims = ["B", 2, "S", 8]} : tensor<?x2x?x8xf32>

func.func @read(%q: tensor<?x2x?x8xf32>, %k: tensor<?x2x?x8xf32>) -> (tensor<?x2x?x8xf32>, tensor<?x?x16xf32>) {
  %v = transformer.state.get @values : tensor<?x2x?x8xf32>
  %o = transformer.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  %m = transformer.merge_heads %v : tensor<?x2x?x8xf32> -> tensor<?x?x16xf32>
  return %o, %m : tensor<?x2x?x8xf32>, tensor<?x?x16xf32>
}
