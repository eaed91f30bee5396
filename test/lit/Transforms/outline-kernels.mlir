// RUN: heddle-opt %s --outline-kernels --split-input-file | FileCheck %s
// RUN: heddle-opt %s --outline-kernels --split-input-file | FileCheck %s --check-prefix=SHARED

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of groups become programs; equal groups share a definition.

// CHECK-LABEL: kernel.program @do_nothing
// CHECK-NOT: kernel.launch
func.func @do_nothing(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  return %x : tensor<?x16xf32>
}

// -----

// Two equal layers with different weights: one definition and two launches. The value between them
// is temporary.
// CHECK-LABEL: kernel.program @twice
// CHECK-SAME: dims = ["B", "T"]
// CHECK: %[[X:.*]] = kernel.buffer "x" argument "B*T*16"
// CHECK: kernel.input "x" f32 ["B", "T", "16"] in %[[X]]
// CHECK: %[[W:.*]] = kernel.weight "a" [16, 16] panels{{$}}
// CHECK: %[[H:.*]] = kernel.buffer "linear" temporary "B*T*16" {last = 1}
// CHECK: kernel.launch @linear(%[[X]], %[[W]], %[[H]]) at ["0", "0", "0"] scalars ["B*T"]
// CHECK: %[[Y:.*]] = kernel.buffer "linear" argument
// CHECK: kernel.launch @linear(%[[H]], %{{.*}}, %[[Y]])
// CHECK: kernel.output "y" f32 ["B", "T", "16"] in %[[Y]]
// SHARED: kernel.def @linear(
// SHARED-NOT: kernel.def @linear_2(
func.func @twice(%x: tensor<?x?x16xf32> {transformer.name = "x", transformer.dims = ["B", "T", 16]}) -> (tensor<?x?x16xf32> {transformer.name = "y"}) {
  %a = transformer.weight "a" : tensor<16x16xf32>
  %b = transformer.weight "b" : tensor<16x16xf32>
  %0 = kernel.group(%x, %a) "linear" {root = #kernel.root<linear>} : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32> {
  ^bb0(%i: tensor<?x?x16xf32>, %w: tensor<16x16xf32>):
    %r = transformer.linear %i, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
    kernel.yield %r : tensor<?x?x16xf32>
  }
  %1 = kernel.group(%0, %b) "linear" {root = #kernel.root<linear>} : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32> {
  ^bb0(%i: tensor<?x?x16xf32>, %w: tensor<16x16xf32>):
    %r = transformer.linear %i, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
    kernel.yield %r : tensor<?x?x16xf32>
  }
  return %1 : tensor<?x?x16xf32>
}

// -----

// A cache: rows are stored after the existing rows, the session's length grows, and the capacity is
// checked.
// CHECK-LABEL: kernel.program @step
// CHECK-SAME: state_dims = ["B", "P"], updates = {{\[}}["P", "P + T"], ["B", "B"]], needs_session
// CHECK: kernel.buffer "key" state
// CHECK: kernel.launch @linear_heads_append
// CHECK-SAME: "P"
// CHECK: kernel.check at_most "P + T" "32" "step: expected at most {right} tokens in the caches, found {left}"
// CHECK: kernel.def @linear_heads_append
// CHECK-SAME: at = d{{[0-9]}}>
transformer.state @key {dims = ["B", 1, "P", 16], capacity = 32 : i64} : tensor<?x1x?x16xf32>
func.func @step(%x: tensor<?x?x16xf32> {transformer.name = "x", transformer.dims = ["B", "T", 16]}) {
  %w0 = transformer.weight "a" : tensor<16x16xf32>
  kernel.group(%x, %w0) "linear_heads_append" {root = #kernel.root<linear>} : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> () {
  ^bb0(%i: tensor<?x?x16xf32>, %w: tensor<16x16xf32>):
    %r = transformer.linear %i, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
    %h = transformer.split_heads %r {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
    %k = transformer.cache.append @key, %h : tensor<?x1x?x16xf32> -> tensor<?x1x?x16xf32>
    kernel.yield
  }
  return
}

// -----

// Two tables of one kernel: the same sinusoids from two positions, each as a separate argument.
// CHECK-LABEL: kernel.program @again
// CHECK: %[[FIRST:.*]] = kernel.buffer "positions" table "T*16" {generator = "sinusoidal(16)"}
// CHECK: %[[LATER:.*]] = kernel.buffer "positions" table "512" {generator = "sinusoidal(16)"}
// CHECK: kernel.launch @elementwise(%{{.*}}, %[[FIRST]], %[[LATER]], %{{.*}}) at ["0", "0", "P*16", "0"]
// CHECK: kernel.def @elementwise
// CHECK-COUNT-2: storage = table
transformer.state @key {dims = ["B", 1, "P", 16], capacity = 32 : i64} : tensor<?x1x?x16xf32>
func.func @again(%x: tensor<?x?x16xf32> {transformer.name = "x", transformer.dims = ["B", "T", 16]}) -> tensor<?x?x16xf32> {
  %n = transformer.cache.length "P" : i32
  %0 = kernel.group(%x, %n) "elementwise" {root = #kernel.root<elementwise>} : (tensor<?x?x16xf32>, i32) -> tensor<?x?x16xf32> {
  ^bb0(%a: tensor<?x?x16xf32>, %m: i32):
    %b = transformer.position.sinusoidal %a : tensor<?x?x16xf32>
    %c = transformer.position.sinusoidal %b offset(%m : i32) : tensor<?x?x16xf32>
    kernel.yield %c : tensor<?x?x16xf32>
  }
  return %0 : tensor<?x?x16xf32>
}

// -----

// Dimensions with different names are compared when their values are known.
// CHECK-LABEL: kernel.program @sum
// CHECK: kernel.check equal "n" "m"
func.func @sum(%x: tensor<?x16xf32> {transformer.dims = ["n", 16]}, %y: tensor<?x16xf32> {transformer.dims = ["m", 16]}) -> tensor<?x16xf32> {
  %0 = kernel.group(%x, %y) "elementwise" {root = #kernel.root<elementwise>} : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32> {
  ^bb0(%a: tensor<?x16xf32>, %b: tensor<?x16xf32>):
    %r = arith.addf %a, %b : tensor<?x16xf32>
    kernel.yield %r : tensor<?x16xf32>
  }
  return %0 : tensor<?x16xf32>
}

// -----

// A function may have the name that a kernel would get.
// SHARED: kernel.program @linear {
// CHECK-LABEL: kernel.program @linear
// CHECK: kernel.launch @linear_2(
// CHECK: kernel.def @linear_2(
func.func @linear(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %a = transformer.weight "a" : tensor<16x16xf32>
  %0 = kernel.group(%x, %a) "linear" {root = #kernel.root<linear>} : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32> {
  ^bb0(%i: tensor<?x16xf32>, %w: tensor<16x16xf32>):
    %r = transformer.linear %i, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    kernel.yield %r : tensor<?x16xf32>
  }
  return %0 : tensor<?x16xf32>
}

// -----

// The site of a dropout is a number of the launch, so that layers share a definition.
// CHECK-LABEL: kernel.program @sites
// CHECK: kernel.launch @elementwise({{.*}}) at {{.*}} scalars ["B", "4"]
// CHECK: kernel.launch @elementwise({{.*}}) at {{.*}} scalars ["B", "5"]
// SHARED: kernel.def @elementwise(
// SHARED-SAME: kernel.layout = #kernel.layout<scalar = d1>
// SHARED-NOT: kernel.def
func.func @sites(%x: tensor<?x16xf32> {transformer.name = "x", transformer.dims = ["B", 16]}, %key: tensor<3xi32> {transformer.name = "key"},
                 %rows: tensor<?x2xi32> {transformer.name = "rows", transformer.dims = ["B", 2]}) -> (tensor<?x16xf32> {transformer.name = "y"}) {
  %a = arith.constant 4 : i32
  %b = arith.constant 5 : i32
  %0 = kernel.group(%x, %key, %rows, %a) "elementwise" {root = #kernel.root<elementwise>} : (tensor<?x16xf32>, tensor<3xi32>, tensor<?x2xi32>, i32) -> tensor<?x16xf32> {
  ^bb0(%i: tensor<?x16xf32>, %k: tensor<3xi32>, %r: tensor<?x2xi32>, %s: i32):
    %d = transformer.dropout %i key(%k : tensor<3xi32>) rows(%r : tensor<?x2xi32>) site(%s) {probability = 0.1 : f32} : tensor<?x16xf32>
    kernel.yield %d : tensor<?x16xf32>
  }
  %1 = kernel.group(%0, %key, %rows, %b) "elementwise" {root = #kernel.root<elementwise>} : (tensor<?x16xf32>, tensor<3xi32>, tensor<?x2xi32>, i32) -> tensor<?x16xf32> {
  ^bb0(%i: tensor<?x16xf32>, %k: tensor<3xi32>, %r: tensor<?x2xi32>, %s: i32):
    %d = transformer.dropout %i key(%k : tensor<3xi32>) rows(%r : tensor<?x2xi32>) site(%s) {probability = 0.1 : f32} : tensor<?x16xf32>
    kernel.yield %d : tensor<?x16xf32>
  }
  return %1 : tensor<?x16xf32>
}
