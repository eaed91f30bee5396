//===- group-gradients.mlir - Kernels of the backward pass ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the backward pass in the kernel of the product that they follow.

// RUN: heddle-opt %s --group-kernels --split-input-file | FileCheck %s

// Ops of the backward pass follow a linear: activations and their gradients, sums of gradients, and
// dropout before a residual.
// CHECK-LABEL: @backward
// CHECK-DAG: kernel.group({{.*}}) "linear_gelu" {
// CHECK-DAG: kernel.group({{.*}}) "linear_activation_gradient" {
// CHECK-DAG: kernel.group({{.*}}) "linear_add" {
// CHECK-DAG: kernel.group({{.*}}) "linear_add_softcap_gradient" {
// CHECK-DAG: kernel.group({{.*}}) "linear_dropout_add" {
// CHECK-NOT: kernel.group({{.*}}) "elementwise"
func.func @backward(%x: tensor<?x16xf32>, %h: tensor<?x16xf32>, %w: tensor<16x16xf32>, %key: tensor<3xi32>, %rows: tensor<?x2xi32>)
    -> (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>) {
  %site = arith.constant 4 : i32
  %0 = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %a = transformer.activate %0 {activation = #transformer.activation<gelu>} : tensor<?x16xf32>
  %1 = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %b = transformer.activation.gradient %1, %h {activation = #transformer.activation<gelu>} : tensor<?x16xf32>
  %2 = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %3 = arith.addf %2, %h : tensor<?x16xf32>
  %c = arith.addf %x, %3 : tensor<?x16xf32>
  %4 = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %5 = arith.addf %4, %h : tensor<?x16xf32>
  %d = transformer.softcap.gradient %5, %h {cap = 2.0 : f32} : tensor<?x16xf32>
  %6 = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %7 = transformer.dropout %6 key(%key : tensor<3xi32>) rows(%rows : tensor<?x2xi32>) site(%site) {probability = 0.1 : f32} : tensor<?x16xf32>
  %e = arith.addf %7, %x : tensor<?x16xf32>
  return %a, %b, %c, %d, %e : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// The gradient of a residual is added to the gradient of a norm, unless it depends on the norm's
// other result.
// CHECK-LABEL: @norm_gradients
// CHECK: kernel.group({{.*}}) "norm_gradient" {root
// CHECK: transformer.norm.gradient
// CHECK-NEXT: arith.addf
// CHECK: kernel.group({{.*}}) "norm_gradient" {missed_fusions
// CHECK: kernel.group({{.*}}) "elementwise"
func.func @norm_gradients(%x: tensor<?x16xf32>, %h: tensor<?x16xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %0, %1 = transformer.norm.gradient %h, %x {epsilon = 0.0 : f32, kind = #transformer.normalization<layer>} : tensor<?x16xf32>
  transformer.gradient.columns "gamma", %1 : tensor<?x16xf32>
  %a = arith.addf %h, %0 : tensor<?x16xf32>
  %2, %3 = transformer.norm.gradient %h, %x {epsilon = 0.0 : f32, kind = #transformer.normalization<layer>} : tensor<?x16xf32>
  %4 = transformer.scale %3 {factor = 2.0 : f32} : tensor<?x16xf32>
  %b = arith.addf %4, %2 : tensor<?x16xf32>
  return %a, %b : tensor<?x16xf32>, tensor<?x16xf32>
}
