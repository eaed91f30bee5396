//===- keep-rows.mlir - Keys and values in the type of caches ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States, and keys and values that are marked as kept, get the type of caches, whatever the
// operands of products are. Keys and values of encoders follow the products. Codes have states of
// scales.

// RUN: heddle-opt %s --set-precision=cache-dtype=int8 | FileCheck %s
// RUN: heddle-opt %s --set-precision=cache-dtype=int8 | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --set-precision="dtype=bf16 cache-dtype=f32" | FileCheck %s --check-prefix=WIDE
// RUN: heddle-opt %s --set-precision="dtype=bf16 cache-dtype=f16" | FileCheck %s --check-prefix=HALF

// CHECK: transformer.state @keys {{.*}}window = 4{{.*}} : tensor<?x2x?x8xi8>
// CHECK-NEXT: transformer.state @keys.scale {capacity = 16 : i64, dims = ["B", 2, "P"], window = 4 : i64} : tensor<?x2x?xf32>
// WIDE: transformer.state @keys {{.*}} : tensor<?x2x?x8xf32>
// HALF: transformer.state @keys {{.*}} : tensor<?x2x?x8xf16>
transformer.state @keys {dims = ["B", 2, "P", 8], capacity = 16 : i64, window = 4 : i64} : tensor<?x2x?x8xf32>
// CHECK: transformer.state @memory {{.*}} : tensor<?x2x?x8xi8>
// CHECK-NEXT: transformer.state @memory.scale {dims = ["B", 2, "S"]} : tensor<?x2x?xf32>
transformer.state @memory {dims = ["B", 2, "S", 8]} : tensor<?x2x?x8xf32>

// CHECK-LABEL: @start
// CHECK: %[[Q:.*]], %[[E:.*]] = transformer.cache.quantize
// CHECK-NEXT: transformer.state.set @memory, %[[Q]]
// CHECK-NEXT: transformer.state.set @memory.scale, %[[E]]
func.func @start(%m: tensor<?x2x?x8xf32>) {
  transformer.state.set @memory, %m : tensor<?x2x?x8xf32>
  return
}

// CHECK-LABEL: @step
// CHECK: %[[M:.*]] = transformer.state.get @memory : tensor<?x2x?x8xi8>
// CHECK: %[[ME:.*]] = transformer.state.get @memory.scale : tensor<?x2x?xf32>
// CHECK: %[[Q:.*]], %[[E:.*]] = transformer.cache.quantize %{{.*}} : tensor<?x2x?x8xf32> -> tensor<?x2x?x8xi8>, tensor<?x2x?xf32>
// CHECK-NEXT: %[[K:.*]] = transformer.cache.append @keys, %[[Q]] at(%[[P:.*]] : tensor<?xi32>) : tensor<?x2x?x8xi8> -> tensor<?x2x?x8xi8>
// CHECK-NEXT: %[[KE:.*]] = transformer.cache.append @keys.scale, %[[E]] at(%[[P]] : tensor<?xi32>) : tensor<?x2x?xf32> -> tensor<?x2x?xf32>
// CHECK: transformer.attention %{{.*}}, %[[K]], %[[M]] key_scales(%[[KE]] : tensor<?x2x?xf32>) value_scales(%[[ME]] : tensor<?x2x?xf32>)
// WIDE-LABEL: @step
// WIDE: %[[R:.*]] = arith.truncf %{{.*}} to tensor<?x2x?x8xbf16>
// WIDE-NOT: truncf
// WIDE: transformer.attention %[[R]], {{.*}} : (tensor<?x2x?x8xbf16>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>)
// HALF-LABEL: @step
// HALF: transformer.attention {{.*}} : (tensor<?x2x?x8xbf16>, tensor<?x2x?x8xf16>, tensor<?x2x?x8xf16>)
func.func @step(%x: tensor<?x2x?x8xf32>, %p: tensor<?xi32>) -> tensor<?x2x?x8xf32> {
  %m = transformer.state.get @memory : tensor<?x2x?x8xf32>
  %k = transformer.cache.append @keys, %x at(%p : tensor<?xi32>) : tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  %o = transformer.attention %x, %k, %m {scale = 1.0 : f32} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  return %o : tensor<?x2x?x8xf32>
}

// CHECK-LABEL: @whole
// CHECK: transformer.attention {{.*}} {scale = 1.000000e+00 : f32} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>)
// CHECK: %[[Q:.*]], %[[E:.*]] = transformer.cache.quantize
// CHECK-NOT: cache.quantize
// CHECK: transformer.attention %{{.*}}, %[[Q]], %[[Q]] key_scales(%[[E]] : tensor<?x2x?xf32>) value_scales(%[[E]] : tensor<?x2x?xf32>) {scale
// WIDE-LABEL: @whole
// WIDE: transformer.attention {{.*}} : (tensor<?x2x?x8xbf16>, tensor<?x2x?x8xbf16>, tensor<?x2x?x8xbf16>)
// WIDE: transformer.attention {{.*}} : (tensor<?x2x?x8xbf16>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>)
func.func @whole(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
  %y = transformer.attention %x, %x, %x {scale = 1.0 : f32} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  %o = transformer.attention %y, %y, %y {kept, scale = 1.0 : f32} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  return %o : tensor<?x2x?x8xf32>
}

// Only values are kept, keys are not.
// CHECK: transformer.state @values {{.*}} : tensor<?x2x?x8xi8>
transformer.state @values {dims = ["B", 2, "S", 8]} : tensor<?x2x?x8xf32>
// CHECK-LABEL: @values_alone
// CHECK: %[[V:.*]] = transformer.state.get @values : tensor<?x2x?x8xi8>
// CHECK-NEXT: %[[VE:.*]] = transformer.state.get @values.scale : tensor<?x2x?xf32>
// CHECK: transformer.attention %[[X:.*]], %[[X]], %[[V]] value_scales(%[[VE]] : tensor<?x2x?xf32>) {{.*}} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xi8>)
func.func @values_alone(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
  %v = transformer.state.get @values : tensor<?x2x?x8xf32>
  %o = transformer.attention %x, %x, %v {scale = 1.0 : f32} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  return %o : tensor<?x2x?x8xf32>
}
