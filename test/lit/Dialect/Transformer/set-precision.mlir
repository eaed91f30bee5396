//===- set-precision.mlir - Operands of products in a narrower type ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of products are rounded once, where they are computed. Weights and states change their
// type; all other values stay f32. Only stored operands become f16: weights, keys and values.

// RUN: heddle-opt %s --set-precision=dtype=bf16 | FileCheck %s
// RUN: heddle-opt %s --set-precision=dtype=f16 | FileCheck %s --check-prefix=HALF
// RUN: heddle-opt %s --set-precision=dtype=int4 | FileCheck %s --check-prefix=CODES
// RUN: heddle-opt %s --set-precision | FileCheck %s --check-prefix=F32
// RUN: not heddle-opt %s --set-precision=cache-dtype=int4 2>&1 | FileCheck %s --check-prefix=NOCACHE
// RUN: not heddle-opt %s --set-precision=dtype=f8 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// NOCACHE: set-precision: cache-dtype: expected f32, bf16, f16 or int8, found int4

// F32: @shared
// F32-NOT: bf16
// UNKNOWN: set-precision: expected f32, bf16, f16, f16-sum, int8, int4 or file, found f8

// CHECK: transformer.state @keys {{.*}} : tensor<?x2x?x8xbf16>
// HALF: transformer.state @keys {{.*}} : tensor<?x2x?x8xf16>
transformer.state @keys {dims = ["B", 2, "P", 8], capacity = 16 : i64} : tensor<?x2x?x8xf32>
// Lengths, and states with readers other than attention, keep their type.
// CHECK: transformer.state @read {{.*}} : tensor<?x2x?x8xf32>
// HALF: transformer.state @read {{.*}} : tensor<?x2x?x8xf32>
transformer.state @read {dims = ["B", 2, "S", 8]} : tensor<?x2x?x8xf32>
// CHECK: transformer.state @lengths {{.*}} : tensor<?xi32>
transformer.state @lengths {dims = ["B"]} : tensor<?xi32>

// CHECK-LABEL: @do_nothing
// HALF-LABEL: @do_nothing
// HALF-NOT: xf16
func.func @do_nothing(%x: tensor<?x4xbf16>, %w: tensor<8x4xbf16>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: transformer.linear
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: return
  %0 = transformer.linear %x, %w : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xf32>
  %1 = arith.addf %0, %y : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// Two readers share one rounded value; the residual reads the original one.
// CHECK-LABEL: @shared
// HALF-LABEL: @shared
// CODES-LABEL: @shared
// CODES: %[[Q:.*]], %[[S:.*]] = transformer.quantize %{{.*}} : tensor<?x8xf32> -> tensor<?x8xi8>, tensor<?x2xf32>
// CODES-NOT: transformer.quantize
// CODES: transformer.weight "w" : tensor<8x8xi4>
// CODES: transformer.weight "b" : tensor<8xf32>
// CODES: transformer.linear %[[Q]], %{{.*}} scales(%[[S]]) : (tensor<?x8xi8>, tensor<8x8xi4>, tensor<8xf32>, tensor<?x2xf32>) -> tensor<?x8xf32>
// CODES: transformer.linear %[[Q]], %{{.*}} scales(%[[S]]) : (tensor<?x8xi8>, tensor<8x8xi4>, tensor<?x2xf32>) -> tensor<?x8xf32>
// HALF-NOT: truncf
// HALF: transformer.weight "w" : tensor<8x8xf16>
// HALF: transformer.weight "b" : tensor<8xf32>
// HALF: transformer.linear {{.*}} : (tensor<?x8xf32>, tensor<8x8xf16>, tensor<8xf32>) -> tensor<?x8xf32>
// HALF: transformer.linear {{.*}} : (tensor<?x8xf32>, tensor<8x8xf16>) -> tensor<?x8xf32>
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
func.func @shared(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = arith.truncf %[[X]] : tensor<?x8xf32> to tensor<?x8xbf16>
  // CHECK-NOT: truncf
  // CHECK: %[[W:.*]] = transformer.weight "w" : tensor<8x8xbf16>
  // CHECK: transformer.weight "b" : tensor<8xf32>
  // CHECK: %[[Y:.*]] = transformer.linear %[[R]], %[[W]] bias(%{{.*}}) : (tensor<?x8xbf16>, tensor<8x8xbf16>, tensor<8xf32>) -> tensor<?x8xf32>
  // CHECK: %[[Z:.*]] = transformer.linear %[[R]], %[[W]] : (tensor<?x8xbf16>, tensor<8x8xbf16>) -> tensor<?x8xf32>
  // CHECK: arith.addf %[[Y]], %[[X]] : tensor<?x8xf32>
  %w = transformer.weight "w" : tensor<8x8xf32>
  %b = transformer.weight "b" : tensor<8xf32>
  %0 = transformer.linear %x, %w bias(%b) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %2 = arith.addf %0, %x : tensor<?x8xf32>
  %3 = arith.addf %1, %2 : tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// Operands that are not weights of the checkpoint are not quantised.
// CODES-LABEL: @ffn
// CODES: transformer.ffn {{.*}} : (tensor<?x4xbf16>, tensor<6x4xbf16>, tensor<4x6xbf16>) -> tensor<?x4xf32>
// CODES-NOT: i4
// CHECK-LABEL: @ffn
// HALF-LABEL: @ffn
// HALF-COUNT-2: arith.truncf
// HALF: transformer.ffn {{.*}} : (tensor<?x4xf32>, tensor<6x4xf16>, tensor<4x6xf16>) -> tensor<?x4xf32>
func.func @ffn(%x: tensor<?x4xf32>, %in: tensor<6x4xf32>, %out: tensor<4x6xf32>) -> tensor<?x4xf32> {
  // CHECK-COUNT-3: arith.truncf
  // CHECK: transformer.ffn {{.*}} : (tensor<?x4xbf16>, tensor<6x4xbf16>, tensor<4x6xbf16>) -> tensor<?x4xf32>
  %y = transformer.ffn %x in(%in) out(%out) : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: @cached
// HALF-LABEL: @cached
// HALF-SAME: %[[HQ:.*]]: tensor<?x2x?x8xf32>, %[[HK:.*]]: tensor<?x2x?x8xf32>, %{{.*}}: tensor<?x2x?x8xf32>
// HALF: %[[HR:.*]] = arith.truncf %[[HK]] : tensor<?x2x?x8xf32> to tensor<?x2x?x8xf16>
// HALF: %[[HALL:.*]] = transformer.cache.append @keys, %[[HR]] : tensor<?x2x?x8xf16> -> tensor<?x2x?x8xf16>
// HALF: transformer.attention %[[HQ]], %[[HALL]], %{{.*}} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf16>, tensor<?x2x?x8xf16>) -> tensor<?x2x?x8xf32>
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x?x8xf32>, %[[K:.*]]: tensor<?x2x?x8xf32>, %[[V:.*]]: tensor<?x2x?x8xf32>
func.func @cached(%q: tensor<?x2x?x8xf32>, %k: tensor<?x2x?x8xf32>, %v: tensor<?x2x?x8xf32>, %n: tensor<?xi32>) -> (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) {
  // CHECK-DAG: %[[QR:.*]] = arith.truncf %[[Q]]
  // CHECK-DAG: %[[KR:.*]] = arith.truncf %[[K]]
  // CHECK: %[[ALL:.*]] = transformer.cache.append @keys, %[[KR]] : tensor<?x2x?x8xbf16> -> tensor<?x2x?x8xbf16>
  // CHECK: transformer.state.set @read, %[[V]] : tensor<?x2x?x8xf32>
  // CHECK: %[[GOT:.*]] = transformer.state.get @read : tensor<?x2x?x8xf32>
  // CHECK: %[[GR:.*]] = arith.truncf %[[GOT]]
  // CHECK: transformer.attention %[[QR]], %[[ALL]], %[[GR]] {{.*}} : (tensor<?x2x?x8xbf16>, tensor<?x2x?x8xbf16>, tensor<?x2x?x8xbf16>) -> tensor<?x2x?x8xf32>
  // CHECK: return %{{.*}}, %[[GOT]]
  transformer.state.set @lengths, %n : tensor<?xi32>
  %keys = transformer.cache.append @keys, %k : tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  transformer.state.set @read, %v : tensor<?x2x?x8xf32>
  %values = transformer.state.get @read : tensor<?x2x?x8xf32>
  %o = transformer.attention %q, %keys, %values {scale = 1.0 : f32} : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  return %o, %values : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
}
