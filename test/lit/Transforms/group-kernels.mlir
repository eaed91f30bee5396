// RUN: heddle-opt %s --group-kernels --split-input-file | FileCheck %s

// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that share a kernel, and each reason for a missed fusion.

// CHECK-LABEL: @do_nothing
// CHECK-NOT: kernel.group
func.func @do_nothing(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  return %x : tensor<?x16xf32>
}

// -----

// An epilogue of bias, activation and residual; the norm after it needs whole rows.
// CHECK-LABEL: @epilogue
// CHECK: kernel.group({{.*}}) "linear_relu_add"
// CHECK-SAME: missed_fusions = [{op = "arith.addf", reason = "row-reduction", with = "transformer.layer_norm"}], root = #kernel.root<linear>
// CHECK: transformer.linear
// CHECK: arith.addf
// CHECK: kernel.group({{.*}}) "norm"
func.func @epilogue(%x: tensor<?x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
  %h = transformer.linear %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %r = arith.addf %h, %x : tensor<?x16xf32>
  %n = transformer.layer_norm %r, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  return %n : tensor<?x16xf32>
}

// -----

// Two consecutive contractions; a value with two readers; a result that is also read.
// CHECK-LABEL: @refused
// CHECK: "linear" {missed_fusions = [{op = "transformer.linear", reason = "several-uses", with = "transformer.linear"}]
// CHECK: "linear_add" {missed_fusions = [{op = "arith.addf", reason = "function-result", with = "transformer.linear"}]
// CHECK: "linear" {missed_fusions = [{op = "transformer.linear", reason = "second-contraction", with = "transformer.linear"}]
// CHECK: "linear" {root
func.func @refused(%x: tensor<?x16xf32>, %w: tensor<16x16xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %a = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %b = transformer.linear %a, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %c = arith.addf %b, %a : tensor<?x16xf32>
  %d = transformer.linear %c, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %e = transformer.linear %d, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  return %c, %e : tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// Projections of one attention are parts of one launch; another linear over the same rows is not.
// CHECK-LABEL: @parts
// CHECK-DAG: "linear_gelu" {root
// CHECK-DAG: "linear3_heads"{{.*}}{op = "transformer.linear", reason = "other-reader", with = "transformer.linear"}
// CHECK: kernel.group({{.*}}) "attention"
// CHECK: transformer.mask.causal
// CHECK: transformer.attention
// CHECK: transformer.merge_heads
func.func @parts(%x: tensor<?x?x32xf32>, %w: tensor<32x32xf32>) -> (tensor<?x?x32xf32>, tensor<?x?x32xf32>) {
  %q = transformer.linear %x, %w : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
  %k = transformer.linear %x, %w : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
  %v = transformer.linear %x, %w : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
  %e = transformer.linear %x, %w {activation = #transformer.activation<gelu>} : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
  %qh = transformer.split_heads %q {heads = 2 : i64} : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %kh = transformer.split_heads %k {heads = 2 : i64} : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %vh = transformer.split_heads %v {heads = 2 : i64} : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %m = transformer.mask.causal
  %o = transformer.attention %qh, %kh, %vh mask(%m) {scale = 0.25 : f32} : (tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> tensor<?x2x?x16xf32>
  %c = transformer.merge_heads %o : tensor<?x2x?x16xf32> -> tensor<?x?x32xf32>
  return %c, %e : tensor<?x?x32xf32>, tensor<?x?x32xf32>
}

// -----

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

// A part whose reader precedes the last part stays outside.
// CHECK-LABEL: @between
// CHECK: reason = "consumer-between"
func.func @between(%x: tensor<?x?x16xf32>, %h: tensor<?x1x?x16xf32>, %w: tensor<16x16xf32>) -> tensor<?x1x?x16xf32> {
  %k = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %kh = transformer.split_heads %k {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %vh = transformer.attention %h, %kh, %h {scale = 0.25 : f32} : (tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x?x16xf32>
  %q = transformer.linear %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %qh = transformer.split_heads %q {heads = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x1x?x16xf32>
  %o = transformer.attention %qh, %kh, %vh {scale = 0.25 : f32} : (tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x?x16xf32>
  return %o : tensor<?x1x?x16xf32>
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

// -----

// A sum that is read both unrounded and rounded is stored in both forms; a sum that only products
// read is stored rounded.
// CHECK-LABEL: @rounded
// CHECK: %[[N:.*]]:2 = kernel.group({{.*}}) "norm"
// CHECK-SAME: -> (tensor<?x16xf32>, tensor<?x16xbf16>)
// CHECK: kernel.group(%[[N]]#1, {{.*}}) "linear_relu"
// CHECK-SAME: with = "transformer.linear"
// CHECK-SAME: -> tensor<?x16xbf16>
// CHECK: kernel.group({{.*}}, %[[N]]#0) "linear_add"
func.func @rounded(%x: tensor<?x16xf32>, %b: tensor<16xf32>, %w: tensor<16x16xbf16>) -> tensor<?x16xf32> {
  %n = transformer.layer_norm %x, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %r = arith.truncf %n : tensor<?x16xf32> to tensor<?x16xbf16>
  %h = transformer.linear %r, %w {activation = #transformer.activation<relu>} : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  %s = arith.truncf %h : tensor<?x16xf32> to tensor<?x16xbf16>
  %y = transformer.linear %s, %w : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  %z = arith.addf %y, %n : tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// -----

// A separate kernel computes codes, once for all products that read them.
// CHECK-LABEL: @quantized
// CHECK: kernel.group({{.*}}) "norm" {missed_fusions = [{op = "transformer.layer_norm", reason = "row-reduction", with = "transformer.quantize"}]
// CHECK: %[[Q:.*]]:2 = kernel.group({{.*}}) "quantize"
// CHECK-SAME: -> (tensor<?x16xi8>, tensor<?x1xf32>)
// CHECK: kernel.group(%[[Q]]#0, {{.*}}, %[[Q]]#1, {{.*}}) "linear"
func.func @quantized(%x: tensor<?x16xf32>, %b: tensor<16xf32>, %w: tensor<16x16xi8>, %sw: tensor<2x16xf32>) -> tensor<?x16xf32> {
  %n = transformer.layer_norm %x, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %q, %s = transformer.quantize %n : tensor<?x16xf32> -> tensor<?x16xi8>, tensor<?x1xf32>
  %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x16xi8>, tensor<16x16xi8>, tensor<?x1xf32>, tensor<2x16xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// A norm is not a contraction, but a norm cannot compute the sum after it on its tiles.
// CHECK-LABEL: @no_epilogue
// CHECK: "norm" {missed_fusions = [{op = "transformer.layer_norm", reason = "no-epilogue", with = "arith.addf"}]
func.func @no_epilogue(%x: tensor<?x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
  %n = transformer.layer_norm %x, %b, %b {epsilon = 1.0e-5 : f32} : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %y = arith.addf %n, %x : tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// Linears over the same rows whose results are added are products of one kernel.
// CHECK-LABEL: @summed
// CHECK: kernel.group({{.*}}) "linear2_silu_add"
// CHECK: transformer.linear
// CHECK: transformer.linear
// CHECK: arith.addf
// CHECK-NOT: kernel.group
func.func @summed(%x: tensor<?x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<?x16xf32> {
  %a = transformer.linear %x, %v {activation = #transformer.activation<silu>} : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %b = transformer.linear %x, %w : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  %y = arith.addf %a, %b : tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// Gate and input of a gated block are products of one kernel, which stores the operand of the
// second product.
// CHECK-LABEL: @gated
// CHECK: kernel.group({{.*}}) "linear2_silu_mul"
// CHECK-SAME: -> tensor<?x16xbf16>
// CHECK: arith.mulf
// CHECK: arith.truncf
// CHECK: kernel.group({{.*}}) "linear"
// CHECK-NOT: kernel.group
func.func @gated(%x: tensor<?x16xbf16>, %v: tensor<16x16xbf16>, %w: tensor<16x16xbf16>) -> tensor<?x16xf32> {
  %a = transformer.linear %x, %v : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  %b = transformer.linear %x, %w {activation = #transformer.activation<silu>} : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  %h = arith.mulf %b, %a : tensor<?x16xf32>
  %r = arith.truncf %h : tensor<?x16xf32> to tensor<?x16xbf16>
  %y = transformer.linear %r, %w : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

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
