//===- ops.mlir - Projections, heads and functions: valid ops ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every form of the ops without masks, through text, bytecode and the generic form.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK-LABEL: @weight
func.func @weight() -> tensor<4x8xf32> {
  // CHECK: %[[W:.*]] = transformer.weight "encoder.0.ffn.in.weight" : tensor<4x8xf32>
  // CHECK: return %[[W]]
  %w = transformer.weight "encoder.0.ffn.in.weight" : tensor<4x8xf32>
  return %w : tensor<4x8xf32>
}

// CHECK-LABEL: @embedding
func.func @embedding(%ids: tensor<?x?xi32>, %table: tensor<10x7xf32>) -> (tensor<?x?x7xf32>, tensor<?x?x7xf32>) {
  // CHECK: transformer.embedding %{{.*}}, %{{.*}} : (
  %a = transformer.embedding %ids, %table {scale = 1.0 : f32} : (tensor<?x?xi32>, tensor<10x7xf32>) -> tensor<?x?x7xf32>
  // CHECK: transformer.embedding %{{.*}}, %{{.*}} {padding_id = 0 : i64, scale = 2.500000e+00 : f32}
  %b = transformer.embedding %ids, %table {padding_id = 0 : i64, scale = 2.5 : f32} : (tensor<?x?xi32>, tensor<10x7xf32>) -> tensor<?x?x7xf32>
  return %a, %b : tensor<?x?x7xf32>, tensor<?x?x7xf32>
}

// CHECK-LABEL: @unfold
func.func @unfold(%x: tensor<?x7x6xf32>) -> (tensor<?x7x18xf32>, tensor<?x3x35xf32>) {
  // CHECK: transformer.unfold %{{.*}} {size = 3 : i64} : tensor<?x7x6xf32> -> tensor<?x7x18xf32>
  %a = transformer.unfold %x {size = 3 : i64, stride = 1 : i64} : tensor<?x7x6xf32> -> tensor<?x7x18xf32>
  // CHECK: transformer.unfold %{{.*}} {channels_first, size = 5 : i64, stride = 2 : i64} : tensor<?x7x6xf32> -> tensor<?x3x35xf32>
  %b = transformer.unfold %x {channels_first, size = 5 : i64, stride = 2 : i64} : tensor<?x7x6xf32> -> tensor<?x3x35xf32>
  return %a, %b : tensor<?x7x18xf32>, tensor<?x3x35xf32>
}

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<?x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>) {
  // CHECK: transformer.linear %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  %a = transformer.linear %x, %w : (tensor<?x8xf32>, tensor<6x8xf32>) -> tensor<?x6xf32>
  // CHECK: transformer.linear %{{.*}}, %{{.*}} bias(%{{.*}}) {activation = #transformer.activation<gelu_tanh>}
  %y = transformer.linear %x, %w bias(%b) {activation = #transformer.activation<gelu_tanh>} : (tensor<?x8xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  return %a, %y : tensor<?x6xf32>, tensor<?x6xf32>
}

// CHECK-LABEL: @ffn
func.func @ffn(%x: tensor<?x?x8xf32>, %w1: tensor<6x8xf32>, %b1: tensor<6xf32>, %w2: tensor<8x6xf32>, %b2: tensor<8xf32>) -> tensor<?x?x8xf32> {
  // CHECK: transformer.ffn %{{.*}} in(%{{.*}}, %{{.*}}) out(%{{.*}}, %{{.*}}) {activation = #transformer.activation<silu>}
  %a = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) {activation = #transformer.activation<silu>} : (tensor<?x?x8xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  // CHECK: transformer.ffn %{{[^ ]*}} in(%{{[^,]*}}) out(%{{[^,]*}}, %{{[^,]*}}) :
  %b = transformer.ffn %a in(%w1) out(%w2, %b2) : (tensor<?x?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  // CHECK: transformer.ffn %{{[^ ]*}} in(%{{[^,]*}}) out(%{{[^,]*}}) gate(%{{[^,]*}}, %{{[^,]*}}) {activation
  %c = transformer.ffn %a in(%w1) out(%w2) gate(%w1, %b1) {activation = #transformer.activation<gelu>} : (tensor<?x?x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<?x?x8xf32>
  return %b : tensor<?x?x8xf32>
}

// CHECK-LABEL: @heads
func.func @heads(%x: tensor<2x?x12xf32>) -> tensor<2x?x12xf32> {
  // CHECK: transformer.split_heads %{{.*}} {heads = 3 : i64} : tensor<2x?x12xf32> -> tensor<2x3x?x4xf32>
  %h = transformer.split_heads %x {heads = 3 : i64} : tensor<2x?x12xf32> -> tensor<2x3x?x4xf32>
  // CHECK: transformer.merge_heads %{{.*}} : tensor<2x3x?x4xf32> -> tensor<2x?x12xf32>
  %y = transformer.merge_heads %h : tensor<2x3x?x4xf32> -> tensor<2x?x12xf32>
  return %y : tensor<2x?x12xf32>
}

// CHECK-LABEL: @function_attributes
// CHECK-SAME: {transformer.dims = ["B", "S"], transformer.name = "source", transformer.range = [0, 1000]}
func.func @function_attributes(
    %ids: tensor<?x?xi32> {transformer.name = "source", transformer.dims = ["B", "S"], transformer.range = [0, 1000]},
    %len: tensor<?xi32> {transformer.name = "source.lengths", transformer.dims = ["B"], transformer.default = {lengths_of = "source", padding = 0 : i64}})
    -> (tensor<?xi32> {transformer.name = "lengths", transformer.dims = ["B"]}) {
  return %len : tensor<?xi32>
}

// Shapes that callers see: without dimensions of 1, or with the first two dimensions transposed.
// CHECK-LABEL: func @function_ports(
// CHECK-SAME: transformer.port = ["B", "S"]
// CHECK-SAME: transformer.port = ["T", "B", 4]
func.func @function_ports(
    %keep: tensor<?x1x1x?xi1> {transformer.name = "keep", transformer.dims = ["B", 1, 1, "S"], transformer.port = ["B", "S"]},
    %x: tensor<?x?x4xf32> {transformer.name = "x", transformer.dims = ["B", "T", 4], transformer.port = ["T", "B", 4]})
    -> (tensor<?x?x4xf32> {transformer.name = "y", transformer.dims = ["B", "T", 4], transformer.port = ["T", "B", 4]}) {
  return %x : tensor<?x?x4xf32>
}

// CHECK-LABEL: @head_products
func.func @head_products(%x: tensor<?x4x?x8xf32>, %w: tensor<64x8xf32>) -> tensor<?x4x?x16xf32> {
  // CHECK: transformer.head_products %{{.*}}, %{{.*}} {scale = 5.000000e-01 : f32} : (tensor<?x4x?x8xf32>, tensor<64x8xf32>) -> tensor<?x4x?x16xf32>
  %y = transformer.head_products %x, %w {scale = 0.5 : f32} : (tensor<?x4x?x8xf32>, tensor<64x8xf32>) -> tensor<?x4x?x16xf32>
  return %y : tensor<?x4x?x16xf32>
}

// CHECK-LABEL: @conv1x1
func.func @conv1x1(%x: tensor<?x8xf32>, %w: tensor<6x8x1xf32>, %b: tensor<6xf32>) -> tensor<?x6xf32> {
  // CHECK: transformer.weight "w" {stored = array<i64: 6, 8, 1>} : tensor<6x8xf32>
  %m = transformer.weight "w" {stored = array<i64: 6, 8, 1>} : tensor<6x8xf32>
  // CHECK: transformer.conv1x1 %{{.*}}, %{{.*}} bias(%{{.*}}) {activation = #transformer.activation<relu>}
  %y = transformer.conv1x1 %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x8xf32>, tensor<6x8x1xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
