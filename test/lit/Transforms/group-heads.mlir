//===- group-heads.mlir - Kernels of heads and caches --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotation, packed documents and writes to caches in the kernel of the projections.

// RUN: heddle-opt %s --group-kernels --split-input-file | FileCheck %s

// Heads are rotated in the kernel of their projections; rotated keys are stored to the cache.
// CHECK-LABEL: @rotary(
// CHECK: "linear3_heads_rotary_append"
// CHECK: "attention"
transformer.state @layer.key {dims = ["B", 2, "P", 32], capacity = 8 : i64} : tensor<?x2x?x32xf32>
func.func @rotary(%x: tensor<?x?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x2x?x32xf32> {
  %n = transformer.cache.length "P" : i32
  %q = transformer.linear %x, %w : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %k = transformer.linear %x, %w : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %v = transformer.linear %x, %w : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %qh = transformer.split_heads %q {heads = 2 : i64} : tensor<?x?x64xf32> -> tensor<?x2x?x32xf32>
  %kh = transformer.split_heads %k {heads = 2 : i64} : tensor<?x?x64xf32> -> tensor<?x2x?x32xf32>
  %vh = transformer.split_heads %v {heads = 2 : i64} : tensor<?x?x64xf32> -> tensor<?x2x?x32xf32>
  %qr = transformer.rotary %qh offset(%n : i32) : tensor<?x2x?x32xf32>
  %kr = transformer.rotary %kh offset(%n : i32) : tensor<?x2x?x32xf32>
  %keys = transformer.cache.append @layer.key, %kr : tensor<?x2x?x32xf32> -> tensor<?x2x?x32xf32>
  %o = transformer.attention %qr, %keys, %vh {scale = 0.25 : f32} : (tensor<?x2x?x32xf32>, tensor<?x2x?x32xf32>, tensor<?x2x?x32xf32>) -> tensor<?x2x?x32xf32>
  return %o : tensor<?x2x?x32xf32>
}

// -----

// A separate kernel rotates heads whose halves are not a multiple of 16, heads of packed documents,
// and heads from other sources. It stores keys in panels.
// CHECK-LABEL: @rotary_apart(
// CHECK: "linear_heads"
// CHECK: "relayout"
// CHECK: transformer.rotary {{.*}} : tensor<1x4x?x16xf32>
// CHECK-NEXT: kernel.yield
// CHECK: "linear_heads"
// CHECK: "relayout"
// CHECK: transformer.rotary {{.*}} documents
// CHECK-NEXT: kernel.yield
// CHECK: "relayout"
// CHECK: transformer.rotary {{.*}} : tensor<1x2x?x32xf32>
// CHECK-NEXT: kernel.yield
// CHECK-NOT: pack_keys
// CHECK: "attention"
func.func @rotary_apart(%x: tensor<1x?x64xf32>, %w: tensor<64x64xf32>, %s: tensor<?xi32>, %h: tensor<1x2x?x32xf32>) -> (tensor<1x4x?x16xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>) {
  %a = transformer.linear %x, %w : (tensor<1x?x64xf32>, tensor<64x64xf32>) -> tensor<1x?x64xf32>
  %ah = transformer.split_heads %a {heads = 4 : i64} : tensor<1x?x64xf32> -> tensor<1x4x?x16xf32>
  %ar = transformer.rotary %ah : tensor<1x4x?x16xf32>
  %b = transformer.linear %x, %w : (tensor<1x?x64xf32>, tensor<64x64xf32>) -> tensor<1x?x64xf32>
  %bh = transformer.split_heads %b {heads = 2 : i64} : tensor<1x?x64xf32> -> tensor<1x2x?x32xf32>
  %br = transformer.rotary %bh documents(%s : tensor<?xi32>) : tensor<1x2x?x32xf32>
  %k = transformer.rotary %h : tensor<1x2x?x32xf32>
  %o = transformer.attention %h, %k, %h {scale = 0.25 : f32} : (tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>) -> tensor<1x2x?x32xf32>
  return %ar, %br, %o : tensor<1x4x?x16xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>
}

// -----

// Projections of packed documents share a kernel, although keys are copied to panels before
// attention reads them.
// CHECK-LABEL: @packed(
// CHECK-NOT: "linear_heads"
// CHECK: "linear3_heads"
// CHECK: "pack_keys"
// CHECK: "attention"
func.func @packed(%x: tensor<1x?x32xf32>, %w: tensor<32x32xf32>, %s: tensor<?xi32>) -> tensor<1x2x?x16xf32> {
  %q = transformer.linear %x, %w : (tensor<1x?x32xf32>, tensor<32x32xf32>) -> tensor<1x?x32xf32>
  %k = transformer.linear %x, %w : (tensor<1x?x32xf32>, tensor<32x32xf32>) -> tensor<1x?x32xf32>
  %v = transformer.linear %x, %w : (tensor<1x?x32xf32>, tensor<32x32xf32>) -> tensor<1x?x32xf32>
  %qh = transformer.split_heads %q {heads = 2 : i64} : tensor<1x?x32xf32> -> tensor<1x2x?x16xf32>
  %kh = transformer.split_heads %k {heads = 2 : i64} : tensor<1x?x32xf32> -> tensor<1x2x?x16xf32>
  %vh = transformer.split_heads %v {heads = 2 : i64} : tensor<1x?x32xf32> -> tensor<1x2x?x16xf32>
  %m = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  %o = transformer.attention %qh, %kh, %vh mask(%m) {scale = 0.25 : f32} : (tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) -> tensor<1x2x?x16xf32>
  return %o : tensor<1x2x?x16xf32>
}

// -----

// Four states of one layer; three parts are the limit. Values stored in a state are read from the
// state.
// CHECK-LABEL: @states
// CHECK: "linear3_heads"{{.*}}reason = "too-many-parts"
transformer.state @layer.a {dims = ["B", 1, "S", 16]} : tensor<?x1x?x16xf32>
transformer.state @layer.b {dims = ["B", 1, "S", 16]} : tensor<?x1x?x16xf32>
transformer.state @layer.c {dims = ["B", 1, "S", 16]} : tensor<?x1x?x16xf32>
transformer.state @layer.d {dims = ["B", 1, "S", 16]} : tensor<?x1x?x16xf32>
func.func @states(%x: tensor<?x?x16xf32>, %w: tensor<16x16xf32>) {
  %a = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %b = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %c = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %d = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %ah = transformer.split_heads %a {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %bh = transformer.split_heads %b {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %ch = transformer.split_heads %c {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %dh = transformer.split_heads %d {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  transformer.state.set @layer.a, %ah : tensor<?x1x?x16xf32>
  transformer.state.set @layer.b, %bh : tensor<?x1x?x16xf32>
  transformer.state.set @layer.c, %ch : tensor<?x1x?x16xf32>
  transformer.state.set @layer.d, %dh : tensor<?x1x?x16xf32>
  return
}

// -----

// The new rows are read from the cache, not passed directly.
// CHECK-LABEL: @append
// CHECK: reason = "session-state"
transformer.state @key {dims = ["B", 1, "P", 16], capacity = 32 : i64} : tensor<?x1x?x16xf32>
func.func @append(%x: tensor<?x?x16xf32>, %w: tensor<16x16xf32>) -> tensor<?x1x?x16xf32> {
  %a = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %ah = transformer.split_heads %a {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %k = transformer.cache.append @key, %ah : tensor<?x1x?x16xf32> -> tensor<?x1x?x16xf32>
  %o = transformer.attention %k, %k, %k {scale = 0.25 : f32} : (tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x?x16xf32>
  return %o : tensor<?x1x?x16xf32>
}

// -----

// Keys that no projection has written are first copied into panels.
// CHECK-LABEL: @foreign_keys
// CHECK: kernel.group({{.*}}) "pack_keys" {root = #kernel.root<relayout>}
// CHECK: kernel.group({{.*}}) "attention"
func.func @foreign_keys(%q: tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32> {
  %o = transformer.attention %q, %q, %q {scale = 0.25 : f32} : (tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32>
  return %o : tensor<?x2x?x16xf32>
}
