//===- set-precision.mlir - Operands of products in a narrower type ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of products are rounded once, where they are computed. Weights and states
// change their type; all other values stay f32. Only stored operands become f16:
// weights, keys and values. Operands with scales become codes; with weights of i4, rows
// have scales for groups of 32 features.

// RUN: heddle-opt %s --set-precision=dtype=bf16 | FileCheck %s
// RUN: heddle-opt %s --set-precision=dtype=f16 | FileCheck %s --check-prefix=HALF
// RUN: heddle-opt %s --set-precision=dtype=int4 | FileCheck %s --check-prefix=CODES
// RUN: heddle-opt %s --set-precision | FileCheck %s --check-prefix=F32
// RUN: not heddle-opt %s --set-precision=cache-dtype=int4 2>&1 | FileCheck %s --check-prefix=NOCACHE
// NOCACHE: set-precision: cache-dtype: expected f32, bf16, f16 or int8, found int4
// RUN: not heddle-opt %s --set-precision=dtype=f8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
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

// A block with weights of the checkpoint becomes two products, each with its own codes.
// CODES-LABEL: @ffn_of_weights
// CODES: transformer.linear {{.*}} : (tensor<?x4xi8>, tensor<6x4xi4>, tensor<?x2xf32>) -> tensor<?x6xf32>
// CODES: transformer.linear {{.*}} : (tensor<?x6xi8>, tensor<4x6xi4>, tensor<?x2xf32>) -> tensor<?x4xf32>
func.func @ffn_of_weights(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %in = transformer.weight "in" : tensor<6x4xf32>
  %out = transformer.weight "out" : tensor<4x6xf32>
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

// Two heads of 6 features are padded, which would tear groups of 32 columns apart, so their weight
// has no codes. Two heads of 8 features and a single head are not padded.
// CODES-LABEL: @heads
// CODES-DAG: transformer.weight "of6" : tensor<6x12xbf16>
// CODES-DAG: transformer.weight "of8" : tensor<6x16xi4>
// CODES-DAG: transformer.weight "lone" : tensor<6x8xi4>
func.func @heads(%x: tensor<?x2x?x6xf32>, %y: tensor<?x2x?x8xf32>, %z: tensor<?x1x?x8xf32>) -> (tensor<?x?x6xf32>, tensor<?x?x6xf32>, tensor<?x?x6xf32>) {
  %a = transformer.merge_heads %x : tensor<?x2x?x6xf32> -> tensor<?x?x12xf32>
  %b = transformer.merge_heads %y : tensor<?x2x?x8xf32> -> tensor<?x?x16xf32>
  %v = transformer.weight "of6" : tensor<6x12xf32>
  %w = transformer.weight "of8" : tensor<6x16xf32>
  %0 = transformer.linear %a, %v : (tensor<?x?x12xf32>, tensor<6x12xf32>) -> tensor<?x?x6xf32>
  %1 = transformer.linear %b, %w : (tensor<?x?x16xf32>, tensor<6x16xf32>) -> tensor<?x?x6xf32>
  %c = transformer.merge_heads %z : tensor<?x1x?x8xf32> -> tensor<?x?x8xf32>
  %u = transformer.weight "lone" : tensor<6x8xf32>
  %2 = transformer.linear %c, %u : (tensor<?x?x8xf32>, tensor<6x8xf32>) -> tensor<?x?x6xf32>
  return %0, %1, %2 : tensor<?x?x6xf32>, tensor<?x?x6xf32>, tensor<?x?x6xf32>
}

// The table of an embedding is also the matrix of a product, so both types are stored.
// CODES-LABEL: @tied
// CODES-DAG: %[[CT:.*]] = transformer.weight "table" : tensor<10x4xf32>
// CODES-DAG: %[[CW:.*]] = transformer.weight "table" : tensor<10x4xi4>
// CODES: transformer.embedding %{{.*}}, %[[CT]]
// CODES: transformer.linear %{{.*}}, %[[CW]]
// CHECK-LABEL: @tied
func.func @tied(%ids: tensor<?xi32>) -> tensor<?x10xf32> {
  // CHECK-DAG: %[[T:.*]] = transformer.weight "table" : tensor<10x4xf32>
  // CHECK-DAG: %[[W:.*]] = transformer.weight "table" : tensor<10x4xbf16>
  // CHECK: transformer.embedding %{{.*}}, %[[T]]
  // CHECK: transformer.linear %{{.*}}, %[[W]]
  %t = transformer.weight "table" : tensor<10x4xf32>
  %e = transformer.embedding %ids, %t : (tensor<?xi32>, tensor<10x4xf32>) -> tensor<?x4xf32>
  %y = transformer.linear %e, %t : (tensor<?x4xf32>, tensor<10x4xf32>) -> tensor<?x10xf32>
  return %y : tensor<?x10xf32>
}

// Weights for scores of classes have eight bits if other weights have four.
// CODES-LABEL: @classes
// CODES: %[[CQ:.*]], %[[CS:.*]] = transformer.quantize %{{.*}} : tensor<?x32xf32> -> tensor<?x32xi8>, tensor<?x1xf32>
// CODES: %[[W8:.*]] = transformer.weight "classifier" : tensor<10x32xi8>
// CODES: transformer.linear %[[CQ]], %[[W8]] scales(%[[CS]], %{{.*}}) {classes}
// CHECK-LABEL: @classes
func.func @classes(%x: tensor<?x32xf32>) -> tensor<?x10xf32> {
  // CHECK: transformer.linear {{.*}} {classes} : (tensor<?x32xbf16>, tensor<10x32xbf16>) -> tensor<?x10xf32>
  %w = transformer.weight "classifier" : tensor<10x32xf32>
  %y = transformer.linear %x, %w {classes} : (tensor<?x32xf32>, tensor<10x32xf32>) -> tensor<?x10xf32>
  return %y : tensor<?x10xf32>
}

// Embedding tables that are weights are stored in the requested type, codes with scales of rows.
// CHECK-LABEL: @table
// HALF-LABEL: @table
// CODES-LABEL: @table
func.func @table(%ids: tensor<?xi32>, %given: tensor<10x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: transformer.weight "table" : tensor<10x8xbf16>
  // CHECK: transformer.embedding {{.*}} : (tensor<?xi32>, tensor<10x8xbf16>) -> tensor<?x8xf32>
  // CHECK: transformer.embedding {{.*}} : (tensor<?xi32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  // HALF: transformer.embedding {{.*}} : (tensor<?xi32>, tensor<10x8xf16>) -> tensor<?x8xf32>
  // CODES-DAG: %[[T:.*]] = transformer.weight "table" : tensor<10x8xi8>
  // CODES-DAG: %[[S:.*]] = transformer.weight "table" {scales, stored = array<i64: 10, 8>} : tensor<2x10xf32>
  // CODES: transformer.embedding %{{.*}}, %[[T]] scales(%[[S]]) : (tensor<?xi32>, tensor<10x8xi8>, tensor<2x10xf32>) -> tensor<?x8xf32>
  %w = transformer.weight "table" : tensor<10x8xf32>
  %0 = transformer.embedding %ids, %w : (tensor<?xi32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  %1 = transformer.embedding %ids, %given : (tensor<?xi32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
