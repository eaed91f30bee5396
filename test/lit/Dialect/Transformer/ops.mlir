//===- ops.mlir - Projections, norms, heads: valid ops -------------------===//
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

// CHECK-LABEL: @position_sinusoidal
func.func @position_sinusoidal(%x: tensor<?x?x7xf32>, %n: i32) -> tensor<?x?x7xf32> {
  // CHECK: transformer.position.sinusoidal %{{.*}} {scale = 5.000000e-01 : f32} : tensor<?x?x7xf32>
  %a = transformer.position.sinusoidal %x {scale = 0.5 : f32} : tensor<?x?x7xf32>
  // CHECK: transformer.position.sinusoidal %{{.*}} offset(%{{.*}} : i32) : tensor<?x?x7xf32>
  %b = transformer.position.sinusoidal %a offset(%n : i32) {scale = 1.0 : f32} : tensor<?x?x7xf32>
  return %b : tensor<?x?x7xf32>
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

// CHECK-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<?x?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x?x8xf32> {
  // CHECK: transformer.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = {{.*}} : f32}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
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

// CHECK-LABEL: @pool
func.func @pool(%x: tensor<?x?x7xf32>, %n: tensor<?xi32>, %p: tensor<1x?x7xf32>) -> (tensor<?x7xf32>, tensor<?x7xf32>, tensor<?x7xf32>) {
  // CHECK: transformer.pool %{{.*}} {kinds = [#transformer.pooling<last>]} : tensor<?x?x7xf32> -> tensor<?x7xf32>
  %a = transformer.pool %x {kinds = [#transformer.pooling<last>]} : tensor<?x?x7xf32> -> tensor<?x7xf32>
  // CHECK: transformer.pool %{{.*}} lengths(%{{.*}} : tensor<?xi32>) {kinds = [#transformer.pooling<mean>]}
  %b = transformer.pool %x lengths(%n : tensor<?xi32>) {kinds = [#transformer.pooling<mean>]} : tensor<?x?x7xf32> -> tensor<?x7xf32>
  // CHECK: transformer.pool %{{.*}} documents(%{{.*}} : tensor<?xi32>) {kinds = [#transformer.pooling<cls>]}
  %c = transformer.pool %p documents(%n : tensor<?xi32>) {kinds = [#transformer.pooling<cls>]} : tensor<1x?x7xf32> -> tensor<?x7xf32>
  return %a, %b, %c : tensor<?x7xf32>, tensor<?x7xf32>, tensor<?x7xf32>
}

// CHECK-LABEL: @side_by_side
func.func @side_by_side(%x: tensor<?x?x7xf32>) -> tensor<?x14xf32> {
  // CHECK: transformer.pool %{{.*}} {kinds = [#transformer.pooling<cls>, #transformer.pooling<max>]} : tensor<?x?x7xf32> -> tensor<?x14xf32>
  %a = transformer.pool %x {kinds = [#transformer.pooling<cls>, #transformer.pooling<max>]} : tensor<?x?x7xf32> -> tensor<?x14xf32>
  return %a : tensor<?x14xf32>
}

// CHECK-LABEL: @head_products
func.func @head_products(%x: tensor<?x4x?x8xf32>, %w: tensor<64x8xf32>) -> tensor<?x4x?x16xf32> {
  // CHECK: transformer.head_products %{{.*}}, %{{.*}} {scale = 5.000000e-01 : f32} : (tensor<?x4x?x8xf32>, tensor<64x8xf32>) -> tensor<?x4x?x16xf32>
  %y = transformer.head_products %x, %w {scale = 0.5 : f32} : (tensor<?x4x?x8xf32>, tensor<64x8xf32>) -> tensor<?x4x?x16xf32>
  return %y : tensor<?x4x?x16xf32>
}

// CHECK-LABEL: @normalize
func.func @normalize(%x: tensor<?x?x7xf32>) -> tensor<?x7xf32> {
  // CHECK: transformer.pool %{{.*}} {kinds = [#transformer.pooling<max>]}
  %a = transformer.pool %x {kinds = [#transformer.pooling<max>]} : tensor<?x?x7xf32> -> tensor<?x7xf32>
  // CHECK: transformer.normalize %{{.*}} : tensor<?x7xf32>
  %b = transformer.normalize %a {epsilon = 1.0e-12 : f32} : tensor<?x7xf32>
  // CHECK: transformer.normalize %{{.*}} {epsilon = {{.*}} : f32} : tensor<?x7xf32>
  %c = transformer.normalize %b {epsilon = 1.0e-6 : f32} : tensor<?x7xf32>
  return %c : tensor<?x7xf32>
}

// CHECK-LABEL: @norms_of_heads
func.func @norms_of_heads(%x: tensor<?x2x?x8xf32>, %g: tensor<2x8xf32>) -> tensor<?x2x?x8xf32> {
  // CHECK: transformer.rms_norm %{{.*}} : (tensor<?x2x?x8xf32>, tensor<2x8xf32>) -> tensor<?x2x?x8xf32>
  %a = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x2x?x8xf32>, tensor<2x8xf32>) -> tensor<?x2x?x8xf32>
  // CHECK: transformer.layer_norm %{{.*}} : (tensor<?x2x?x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<?x2x?x8xf32>
  %b = transformer.layer_norm %a, %g, %g {epsilon = 1.0e-6 : f32} : (tensor<?x2x?x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<?x2x?x8xf32>
  // CHECK: transformer.softcap %{{.*}} {cap = 3.000000e+01 : f32} : tensor<?x2x?x8xf32>
  %c = transformer.softcap %b {cap = 30.0 : f32} : tensor<?x2x?x8xf32>
  return %c : tensor<?x2x?x8xf32>
}

// CHECK-LABEL: @norms
func.func @norms(%x: tensor<?x?x8xf32>, %g: tensor<8xf32>) -> tensor<?x?x8xf32> {
  // CHECK: transformer.layer_norm %{{.*}} {epsilon = {{.*}} : f32, root = false}
  %a = transformer.layer_norm %x, %g, %g {epsilon = 1.0e-8 : f32, root = false} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  // CHECK: transformer.rms_norm %{{.*}}, %{{.*}} {epsilon = {{.*}} : f32} : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %b = transformer.rms_norm %a, %g {epsilon = 1.0e-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  // CHECK: transformer.softmax %{{.*}} : tensor<?x?x8xf32>
  %c = transformer.softmax %b : tensor<?x?x8xf32>
  return %c : tensor<?x?x8xf32>
}

// CHECK-LABEL: @positions_learned
func.func @positions_learned(%x: tensor<1x?x8xf32>, %t: tensor<5x8xf32>, %n: i32, %s: tensor<?xi32>) -> tensor<1x?x8xf32> {
  // CHECK: transformer.position.learned %{{.*}}, %{{.*}} : tensor<1x?x8xf32>, tensor<5x8xf32>
  %a = transformer.position.learned %x, %t : tensor<1x?x8xf32>, tensor<5x8xf32>
  // CHECK: transformer.position.learned %{{.*}}, %{{.*}} offset(%{{.*}} : i32) {scale = 2.000000e+00 : f32}
  %b = transformer.position.learned %a, %t offset(%n : i32) {scale = 2.0 : f32} : tensor<1x?x8xf32>, tensor<5x8xf32>
  // CHECK: transformer.position.learned %{{.*}}, %{{.*}} documents(%{{.*}} : tensor<?xi32>)
  %c = transformer.position.learned %b, %t documents(%s : tensor<?xi32>) : tensor<1x?x8xf32>, tensor<5x8xf32>
  return %c : tensor<1x?x8xf32>
}

// CHECK-LABEL: @rotary
func.func @rotary(%x: tensor<1x2x?x8xf32>, %n: i32, %s: tensor<?xi32>) -> tensor<1x2x?x8xf32> {
  // CHECK: transformer.rotary %{{.*}} : tensor<1x2x?x8xf32>
  %a = transformer.rotary %x {base = 10000.0 : f64, fraction = 1.0 : f64} : tensor<1x2x?x8xf32>
  // CHECK: transformer.rotary %{{.*}} offset(%{{.*}} : i32) {base = 5.000000e+05 : f64} : tensor<1x2x?x8xf32>
  %b = transformer.rotary %a offset(%n : i32) {base = 500000.0 : f64} : tensor<1x2x?x8xf32>
  // CHECK: transformer.rotary %{{.*}} documents(%{{.*}} : tensor<?xi32>) {fraction = 7.500000e-01 : f64} : tensor<1x2x?x8xf32>
  %c = transformer.rotary %b documents(%s : tensor<?xi32>) {fraction = 0.75 : f64} : tensor<1x2x?x8xf32>
  // CHECK: transformer.rotary %{{.*}} {factor = 8.000000e+00 : f64} : tensor<1x2x?x8xf32>
  %d = transformer.rotary %c {factor = 8.0 : f64} : tensor<1x2x?x8xf32>
  // CHECK: transformer.rotary %{{.*}} {fraction = 5.000000e-01 : f64, frequencies = array<f64: 1.000000e+00, 2.500000e-01>, length = 64 : i64, magnitude = 1.250000e+00 : f64} : tensor<1x2x?x8xf32>
  %e = transformer.rotary %d {fraction = 0.5 : f64, frequencies = array<f64: 1.0, 0.25>, length = 64 : i64, magnitude = 1.25 : f64} : tensor<1x2x?x8xf32>
  return %e : tensor<1x2x?x8xf32>
}

// CHECK-LABEL: @conv1x1
func.func @conv1x1(%x: tensor<?x8xf32>, %w: tensor<6x8x1xf32>, %b: tensor<6xf32>) -> tensor<?x6xf32> {
  // CHECK: transformer.weight "w" {stored = array<i64: 6, 8, 1>} : tensor<6x8xf32>
  %m = transformer.weight "w" {stored = array<i64: 6, 8, 1>} : tensor<6x8xf32>
  // CHECK: transformer.conv1x1 %{{.*}}, %{{.*}} bias(%{{.*}}) {activation = #transformer.activation<relu>}
  %y = transformer.conv1x1 %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x8xf32>, tensor<6x8x1xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// CHECK-LABEL: @loss
func.func @loss(%x: tensor<?x?x8xf32>, %r: tensor<?x?xi32>) -> tensor<1xf32> {
  // CHECK: %[[T:.*]] = transformer.shift_right %{{.*}} {start = 2 : i64} : tensor<?x?xi32>
  %t = transformer.shift_right %r {start = 2 : i64} : tensor<?x?xi32>
  // CHECK: transformer.cross_entropy %{{.*}}, %[[T]] {padding_id = 0 : i64} : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<1xf32>
  %l = transformer.cross_entropy %x, %t {padding_id = 0 : i64} : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<1xf32>
  // CHECK: transformer.cross_entropy.rows %{{.*}}, %{{.*}} : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?x2xf32>
  %p = transformer.cross_entropy.rows %x, %t : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?x2xf32>
  // CHECK: transformer.cross_entropy.mean %{{.*}} : (tensor<?x?x2xf32>) -> tensor<1xf32>
  %m = transformer.cross_entropy.mean %p : (tensor<?x?x2xf32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}
