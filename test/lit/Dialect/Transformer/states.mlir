//===- states.mlir - States and caches: valid ops ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States and the ops that read, set, extend, empty and permute them, through text
// and bytecode.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --cse --canonicalize | FileCheck %s --check-prefix=EFFECTS

// CHECK: transformer.state @decoder.0.self.key {capacity = 256 : i64, dims = ["B", 8, "P", 64]} : tensor<?x8x?x64xf32>
transformer.state @decoder.0.self.key {dims = ["B", 8, "P", 64], capacity = 256 : i64} : tensor<?x8x?x64xf32>
// CHECK: transformer.state @decoder.0.cross.key {dims = ["B", 8, "S", 64]} : tensor<?x8x?x64xf32>
transformer.state @decoder.0.cross.key {dims = ["B", 8, "S", 64]} : tensor<?x8x?x64xf32>
// CHECK: transformer.state @source.lengths {dims = ["B"]} : tensor<?xi32>
transformer.state @source.lengths {dims = ["B"]} : tensor<?xi32>

// CHECK-LABEL: @start
func.func @start(%k: tensor<?x8x?x64xf32>, %n: tensor<?xi32>) {
  // CHECK: transformer.state.set @decoder.0.cross.key, %{{.*}} : tensor<?x8x?x64xf32>
  transformer.state.set @decoder.0.cross.key, %k : tensor<?x8x?x64xf32>
  transformer.state.set @source.lengths, %n : tensor<?xi32>
  // CHECK: transformer.cache.clear "P"
  transformer.cache.clear "P"
  return
}

// CHECK-LABEL: @replace
func.func @replace(%k: tensor<?x8x?x64xf32> {transformer.name = "memory"}, %r: tensor<?xi32> {transformer.default = {no_rows_of = "memory"}}) {
  transformer.state.set @decoder.0.cross.key, %k : tensor<?x8x?x64xf32>
  // CHECK: transformer.cache.clear "P" rows(%{{.*}} : tensor<?xi32>) pads "S"
  transformer.cache.clear "P" rows(%r : tensor<?xi32>) pads "S"
  return
}

// CHECK-LABEL: @step
func.func @step(%new: tensor<?x8x1x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, i32) {
  // CHECK: transformer.cache.length "P" : i32
  %n = transformer.cache.length "P" : i32
  // CHECK: transformer.cache.append @decoder.0.self.key, %{{.*}} : tensor<?x8x1x64xf32> -> tensor<?x8x?x64xf32>
  %k = transformer.cache.append @decoder.0.self.key, %new : tensor<?x8x1x64xf32> -> tensor<?x8x?x64xf32>
  // CHECK: transformer.state.get @decoder.0.cross.key : tensor<?x8x?x64xf32>
  %m = transformer.state.get @decoder.0.cross.key : tensor<?x8x?x64xf32>
  return %k, %m, %n : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, i32
}

// CHECK-LABEL: @reorder
func.func @reorder(%parents: tensor<?xi32>) {
  // CHECK: transformer.cache.reorder %{{.*}} : tensor<?xi32>
  transformer.cache.reorder %parents : tensor<?xi32>
  return
}

// Appends are never merged or dropped. An unused get is dropped.
// EFFECTS-LABEL: @effects
func.func @effects(%new: tensor<?x8x1x64xf32>) {
  // EFFECTS-COUNT-2: transformer.cache.append
  // EFFECTS-NOT: transformer.state.get
  %a = transformer.cache.append @decoder.0.self.key, %new : tensor<?x8x1x64xf32> -> tensor<?x8x?x64xf32>
  %b = transformer.cache.append @decoder.0.self.key, %new : tensor<?x8x1x64xf32> -> tensor<?x8x?x64xf32>
  %m = transformer.state.get @decoder.0.cross.key : tensor<?x8x?x64xf32>
  // EFFECTS: return
  return
}
