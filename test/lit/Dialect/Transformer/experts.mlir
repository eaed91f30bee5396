//===- experts.mlir - Mixtures of experts ---------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every form of the ops, through text and bytecode, and the decomposition of the block.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --decompose-ffn | FileCheck %s --check-prefix=FFN
// RUN: heddle-opt %s --set-precision=dtype=int8 | FileCheck %s --check-prefix=INT8

// CHECK-LABEL: @route
func.func @route(%l: tensor<?x?x8xf32>, %b: tensor<8xf32>) -> (tensor<2x?xf32>, tensor<3x?xf32>) {
  // CHECK: transformer.route %{{.*}} {count = 2 : i64} : tensor<?x?x8xf32> -> tensor<2x?xi32>, tensor<2x?xf32>
  %e, %w = transformer.route %l {count = 2 : i64, score = #transformer.router_score<softmax>} : tensor<?x?x8xf32> -> tensor<2x?xi32>, tensor<2x?xf32>
  // CHECK: transformer.route %{{.*}} correction(%{{.*}} : tensor<8xf32>) {count = 3 : i64, normalise, scale = 2.500000e+00 : f32, score = #transformer.router_score<sigmoid>}
  %f, %v = transformer.route %l correction(%b : tensor<8xf32>) {count = 3 : i64, normalise, scale = 2.5 : f32, score = #transformer.router_score<sigmoid>} : tensor<?x?x8xf32> -> tensor<3x?xi32>, tensor<3x?xf32>
  // CHECK: transformer.route %{{.*}} {count = 2 : i64, groups = 4 : i64, used_groups = 2 : i64} : tensor<?x?x8xf32>
  %g, %u = transformer.route %l {count = 2 : i64, groups = 4 : i64, used_groups = 2 : i64} : tensor<?x?x8xf32> -> tensor<2x?xi32>, tensor<2x?xf32>
  // CHECK: transformer.route %{{.*}} {count = 2 : i64, jitter = 2.500000e-01 : f32, score = #transformer.router_score<sparse_mixer>} : tensor<?x?x8xf32>
  %h, %s = transformer.route %l {count = 2 : i64, jitter = 0.25 : f32, score = #transformer.router_score<sparse_mixer>} : tensor<?x?x8xf32> -> tensor<2x?xi32>, tensor<2x?xf32>
  return %w, %v : tensor<2x?xf32>, tensor<3x?xf32>
}

// Only a weight whose product is rounded changes its type; the logits of a router stay exact.
// CHECK-LABEL: @gated
// FFN-LABEL: @gated
// FFN-SAME: %[[X:[a-z0-9]*]]: tensor<?x?x8xf32>
// INT8-LABEL: @gated
func.func @gated(%x: tensor<?x?x8xf32>) -> tensor<?x?x16xf32> {
  // INT8: transformer.linear %{{.*}}, %{{.*}} : (tensor<?x?x8xf32>, tensor<4x8xf32>) -> tensor<?x?x4xf32>
  // INT8: transformer.linear {{.*}} groups({{.*}}) {group_count = 4 : i64} : (tensor<?x8xi8>, tensor<128x8xi8>
  %router = transformer.weight "router" : tensor<4x8xf32>
  %w1 = transformer.weight "in" {stored = array<i64: 4, 32, 8>} : tensor<128x8xf32>
  %g = transformer.weight "gate" {stored = array<i64: 4, 32, 8>} : tensor<128x8xf32>
  %w2 = transformer.weight "out" {stored = array<i64: 4, 16, 32>} : tensor<64x32xf32>
  %logits = transformer.linear %x, %router : (tensor<?x?x8xf32>, tensor<4x8xf32>) -> tensor<?x?x4xf32>
  %e, %w = transformer.route %logits {count = 2 : i64} : tensor<?x?x4xf32> -> tensor<2x?xi32>, tensor<2x?xf32>
  // FFN: %[[E:.*]], %[[W:.*]] = transformer.route
  // FFN: %[[C:.*]] = transformer.experts.counts %[[E]] : tensor<2x?xi32> -> tensor<4xi32>
  // FFN: %[[S:.*]], %[[N:.*]] = transformer.experts.starts %[[C]] : tensor<4xi32> -> tensor<5xi32>, tensor<4xi32>
  // FFN: %[[P:.*]] = transformer.experts.places %[[E]]
  // FFN: %[[R:.*]] = transformer.experts.rows %[[X]], %[[P]]
  // FFN: %[[H:.*]] = transformer.linear %[[R]], %{{.*}} groups(%[[S]], %[[N]]) {group_count = 4 : i64}
  // FFN: %[[G:.*]] = transformer.linear %[[R]], %{{.*}} groups(%[[S]], %[[N]]) {activation = #transformer.activation<silu>, group_count = 4 : i64}
  // FFN: %[[M:.*]] = arith.mulf %[[G]], %[[H]]
  // FFN: %[[T:.*]] = transformer.linear %[[M]], %{{.*}} groups(%[[S]], %[[N]])
  // FFN: %[[Y:.*]] = transformer.experts.sum %[[T]], %[[P]], %[[W]], %[[X]]
  // FFN: return %[[Y]]
  // CHECK: transformer.experts %{{.*}} experts(%{{.*}}, %{{.*}}) in(%{{.*}}) out(%{{.*}}) gate(%{{.*}}) {activation = #transformer.activation<silu>, count = 4 : i64}
  %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) gate(%g) {count = 4 : i64, activation = #transformer.activation<silu>}
     : (tensor<?x?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<128x8xf32>, tensor<64x32xf32>, tensor<128x8xf32>) -> tensor<?x?x16xf32>
  return %y : tensor<?x?x16xf32>
}

// CHECK-LABEL: @with_biases
// FFN-LABEL: @with_biases
func.func @with_biases(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %b1: tensor<64xf32>, %w2: tensor<32x32xf32>, %b2: tensor<32xf32>) -> tensor<?x16xf32> {
  // FFN: transformer.linear {{.*}} bias(%{{.*}}) groups(%{{.*}}) {activation = #transformer.activation<relu>, group_count = 2 : i64}
  // FFN: transformer.linear {{.*}} bias(%{{.*}}) groups(
  // CHECK: transformer.experts %{{.*}} experts(%{{.*}}) in(%{{.*}}, %{{.*}}) out(%{{.*}}, %{{.*}}) {
  %y = transformer.experts %x experts(%e, %w) in(%w1, %b1) out(%w2, %b2) {count = 2 : i64, activation = #transformer.activation<relu>}
     : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<64xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// A gate with a limit or an offset is an op of its own.
// CHECK-LABEL: @limited
// FFN-LABEL: @limited
func.func @limited(%x: tensor<?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>, %w1: tensor<64x8xf32>, %b: tensor<64xf32>, %g: tensor<64x8xf32>, %w2: tensor<32x32xf32>) -> tensor<?x16xf32> {
  // FFN: %[[H:.*]] = transformer.linear {{.*}} bias(%{{.*}}) groups({{.*}}) {group_count = 2 : i64}
  // FFN: %[[G:.*]] = transformer.linear {{.*}} bias(%{{.*}}) groups({{.*}}) {group_count = 2 : i64}
  // FFN: transformer.gate %[[G]], %[[H]] {activation = #transformer.activation<quick_gelu>, limit = 7.000000e+00 : f32, offset = 1.000000e+00 : f32} : tensor<?x32xf32>
  // CHECK: transformer.experts {{.*}} {activation = #transformer.activation<quick_gelu>, count = 2 : i64, limit = 7.000000e+00 : f32, offset = 1.000000e+00 : f32}
  %y = transformer.experts %x experts(%e, %w) in(%w1, %b) out(%w2) gate(%g, %b) {count = 2 : i64, activation = #transformer.activation<quick_gelu>, limit = 7.0 : f32, offset = 1.0 : f32}
     : (tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<64x8xf32>, tensor<64xf32>, tensor<32x32xf32>, tensor<64x8xf32>, tensor<64xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// CHECK-LABEL: @limited_ffn
// FFN-LABEL: @limited_ffn
func.func @limited_ffn(%x: tensor<?x8xf32>, %w1: tensor<32x8xf32>, %g: tensor<32x8xf32>, %w2: tensor<16x32xf32>) -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  // FFN: transformer.gate %{{.*}}, %{{.*}} {activation = #transformer.activation<silu>, limit = 5.000000e-01 : f32} : tensor<?x32xf32>
  // CHECK: transformer.ffn {{.*}} gate(%{{.*}}) {activation = #transformer.activation<silu>, limit = 5.000000e-01 : f32}
  %y = transformer.ffn %x in(%w1) out(%w2) gate(%g) {activation = #transformer.activation<silu>, limit = 0.5 : f32}
     : (tensor<?x8xf32>, tensor<32x8xf32>, tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<?x16xf32>
  // CHECK: transformer.gate %{{.*}}, %{{.*}} {offset = 2.000000e+00 : f32} : tensor<?x8xf32>
  %z = transformer.gate %x, %x {offset = 2.0 : f32} : tensor<?x8xf32>
  return %y, %z : tensor<?x16xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: @scale_rows
func.func @scale_rows(%x: tensor<?x?x8xf32>, %g: tensor<?x?x1xf32>) -> tensor<?x?x8xf32> {
  // CHECK: transformer.scale_rows %{{.*}}, %{{.*}} : tensor<?x?x8xf32>, tensor<?x?x1xf32>
  %y = transformer.scale_rows %x, %g : tensor<?x?x8xf32>, tensor<?x?x1xf32>
  return %y : tensor<?x?x8xf32>
}
