//===- set-precision-file.mlir - Weights that keep their codes -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With dtype=file, each weight gets the type of the codes that its tensor holds in the
// checkpoint. Rows are quantized once for each size of groups. Other weights become bf16.

// RUN: heddle-opt %s --set-precision=dtype=file | FileCheck %s

// CHECK-LABEL: @kinds
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>)
// CHECK-DAG: %[[P:.*]], %[[S:.*]] = transformer.quantize %[[X]] : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x4xf32>
// CHECK-DAG: %[[P16:.*]], %[[S16:.*]] = transformer.quantize %[[X]] : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x8xf32>
// CHECK-DAG: %[[A:.*]] = transformer.weight "a" : tensor<32x64xi4>
// CHECK-DAG: %[[B:.*]] = transformer.weight "b" : tensor<32x64xsi8>
// CHECK-DAG: %[[C:.*]] = transformer.weight "c" : tensor<32x64xsi6>
// CHECK-DAG: %[[D:.*]] = transformer.weight "d" : tensor<32x64xbf16>
// CHECK-DAG: transformer.linear %[[P]], %[[A]] scales(%[[S]])
// CHECK-DAG: transformer.linear %[[P]], %[[B]] scales(%[[S]])
// CHECK-DAG: transformer.linear %[[P16]], %[[C]] scales(%[[S16]])
// CHECK-DAG: transformer.linear %{{.*}}, %[[D]] : (tensor<?x64xbf16>, tensor<32x64xbf16>)
func.func @kinds(%x: tensor<?x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>) {
  %a = transformer.weight "a" {transformer.codes = i4} : tensor<32x64xf32>
  %b = transformer.weight "b" {transformer.codes = si8} : tensor<32x64xf32>
  %c = transformer.weight "c" {transformer.codes = si6} : tensor<32x64xf32>
  %d = transformer.weight "d" : tensor<32x64xf32>
  %ya = transformer.linear %x, %a : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %yb = transformer.linear %x, %b : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %yc = transformer.linear %x, %c : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %yd = transformer.linear %x, %d : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %ya, %yb, %yc, %yd : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>
}

// A table keeps its codes too, and a classifier reads the same weight.
// CHECK-LABEL: @table
// CHECK-DAG: transformer.weight "t" : tensor<32x64xsi6>
// CHECK-DAG: transformer.weight "u" : tensor<32x64xbf16>
// CHECK-DAG: transformer.embedding %{{.*}}, %t{{.*}} : (tensor<?xi32>, tensor<32x64xsi6>)
// CHECK-DAG: transformer.embedding %{{.*}}, %u{{.*}} : (tensor<?xi32>, tensor<32x64xbf16>)
// CHECK-DAG: transformer.linear %{{.*}}, %t{{.*}} scales(%{{.*}}) : (tensor<?x64xi8>, tensor<32x64xsi6>, tensor<?x8xf32>)
func.func @table(%ids: tensor<?xi32>) -> (tensor<?x32xf32>, tensor<?x64xf32>) {
  %t = transformer.weight "t" {transformer.codes = si6} : tensor<32x64xf32>
  %u = transformer.weight "u" : tensor<32x64xf32>
  %x = transformer.embedding %ids, %t {scale = 1.0 : f32} : (tensor<?xi32>, tensor<32x64xf32>) -> tensor<?x64xf32>
  %y = transformer.embedding %ids, %u {scale = 1.0 : f32} : (tensor<?xi32>, tensor<32x64xf32>) -> tensor<?x64xf32>
  %logits = transformer.linear %x, %t : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %logits, %y : tensor<?x32xf32>, tensor<?x64xf32>
}
