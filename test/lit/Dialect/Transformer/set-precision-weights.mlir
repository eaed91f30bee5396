//===- set-precision-weights.mlir - Weights and tables in codes ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands with scales become codes; with weights of i4, rows have scales for groups of 32
// features.

// RUN: heddle-opt %s --set-precision=dtype=bf16 | FileCheck %s
// RUN: heddle-opt %s --set-precision=dtype=f16 | FileCheck %s --check-prefix=HALF
// RUN: heddle-opt %s --set-precision=dtype=int4 | FileCheck %s --check-prefix=CODES

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
