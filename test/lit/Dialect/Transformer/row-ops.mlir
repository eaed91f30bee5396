//===- row-ops.mlir - Positions, norms, pools and losses: valid ops ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every form of the ops on rows, through text, bytecode and the generic form.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK-LABEL: @position_sinusoidal
func.func @position_sinusoidal(%x: tensor<?x?x7xf32>, %n: i32) -> tensor<?x?x7xf32> {
  // CHECK: transformer.position.sinusoidal %{{.*}} {scale = 5.000000e-01 : f32} : tensor<?x?x7xf32>
  %a = transformer.position.sinusoidal %x {scale = 0.5 : f32} : tensor<?x?x7xf32>
  // CHECK: transformer.position.sinusoidal %{{.*}} offset(%{{.*}} : i32) : tensor<?x?x7xf32>
  %b = transformer.position.sinusoidal %a offset(%n : i32) {scale = 1.0 : f32} : tensor<?x?x7xf32>
  return %b : tensor<?x?x7xf32>
}

// CHECK-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<?x?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x?x8xf32> {
  // CHECK: transformer.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = {{.*}} : f32}
  %y = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// CHECK-LABEL: @xielu
func.func @xielu(%x: tensor<?x?x7xf32>, %s: tensor<2xf32>) -> tensor<?x?x7xf32> {
  // CHECK: transformer.xielu %{{.*}}, %{{.*}} : tensor<?x?x7xf32>, tensor<2xf32>
  %y = transformer.xielu %x, %s : tensor<?x?x7xf32>, tensor<2xf32>
  return %y : tensor<?x?x7xf32>
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

// CHECK-LABEL: @packed_loss
func.func @packed_loss(%x: tensor<1x?x8xf32>, %r: tensor<1x?xi32>, %s: tensor<?xi32>) -> (tensor<1x?xi32>, tensor<1x?x8xf32>) {
  // CHECK: transformer.shift_right %{{.*}} documents(%{{.*}} : tensor<?xi32>) {start = 2 : i64} : tensor<1x?xi32>
  %t = transformer.shift_right %r documents(%s : tensor<?xi32>) {start = 2 : i64} : tensor<1x?xi32>
  // CHECK: transformer.dropout %{{.*}} documents(%{{.*}} : tensor<?xi32>) {probability = 5.000000e-01 : f32} : tensor<1x?x8xf32>
  %d = transformer.dropout %x documents(%s : tensor<?xi32>) {probability = 0.5 : f32} : tensor<1x?x8xf32>
  return %t, %d : tensor<1x?xi32>, tensor<1x?x8xf32>
}
