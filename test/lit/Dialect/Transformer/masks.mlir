//===- masks.mlir - Masks and score rules: valid ops ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every mask, every score rule, and formulas, through text and bytecode, as operands
// of attention and of the two ops that compute returned weights.

// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

!x = tensor<?x8x?x4xf32>

// CHECK-LABEL: @bands
func.func @bands(%x: !x, %n: i32, %ns: tensor<?xi32>) -> !x {
  // CHECK: %[[A:.*]] = transformer.mask.window before = 255 after = 0{{$}}
  %a = transformer.mask.window before = 255 after = 0
  // CHECK: %[[B:.*]] = transformer.mask.window before = 3 after = 2147483647 offset(%{{.*}} : i32)
  %b = transformer.mask.window before = 3 after = 2147483647 offset(%n : i32)
  // CHECK: transformer.mask.window before = 0 after = 0 offset(%{{.*}} : tensor<?xi32>) {transformer.name = "own"}
  %c = transformer.mask.window before = 0 after = 0 offset(%ns : tensor<?xi32>) {transformer.name = "own"}
  // CHECK: transformer.mask.prefix %{{.*}} : tensor<?xi32>
  %d = transformer.mask.prefix %ns : tensor<?xi32>
  // CHECK: %[[O:.*]] = transformer.mask.or %[[A]], %[[B]]
  %ab = transformer.mask.or %a, %b
  %cd = transformer.mask.or %c, %d
  %m = transformer.mask.or %ab, %cd
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 0.5 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @tables
func.func @tables(%x: !x, %q: tensor<?x?xi32>, %t: tensor<1x8x?x?xi1>) -> !x {
  // CHECK: transformer.mask.documents %{{.*}}, %{{.*}} : tensor<?x?xi32>, tensor<?x?xi32>
  %a = transformer.mask.documents %q, %q : tensor<?x?xi32>, tensor<?x?xi32>
  // CHECK: transformer.mask.blocks %{{.*}} rows = 64 columns = 32 : tensor<1x8x?x?xi1>
  %b = transformer.mask.blocks %t rows = 64 columns = 32 : tensor<1x8x?x?xi1>
  %m = transformer.mask.and %a, %b
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 0.5 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @ids_of_a_cache
func.func @ids_of_a_cache(%x: !x, %q: tensor<?x?xi32>, %n: i32) -> !x {
  // CHECK: transformer.mask.documents %{{.*}}, %{{.*}} offset(%{{.*}} : i32) : tensor<?x?xi32>, tensor<?x?xi32>
  %m = transformer.mask.documents %q, %q offset(%n : i32) : tensor<?x?xi32>, tensor<?x?xi32>
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 0.5 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @packed
func.func @packed(%x: tensor<1x8x?x4xf32>, %s: tensor<?xi32>) -> tensor<1x8x?x4xf32> {
  // CHECK: transformer.mask.documents starts(%[[S:.*]], %[[S]]) : tensor<?xi32>, tensor<?xi32>
  %m = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 0.5 : f32} : (tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>) -> tensor<1x8x?x4xf32>
  return %o : tensor<1x8x?x4xf32>
}

// CHECK-LABEL: @formula
// CHECK-SAME: %[[T:[a-z0-9]*]]: tensor<?xi32>, %[[U:[a-z0-9]*]]: tensor<?x?xi32>, %[[N:[a-z0-9]*]]: i32
func.func @formula(%x: !x, %t: tensor<?xi32>, %u: tensor<?x?xi32>, %n: i32) -> !x {
  // CHECK: %[[M:.*]] = transformer.mask.where attributes {transformer.name = "f"} {
  // CHECK-NEXT: ^bb0(%[[B:.*]]: i32, %[[H:.*]]: i32, %[[I:.*]]: i32, %[[J:.*]]: i32):
  %m = transformer.mask.where attributes {transformer.name = "f"} {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    // CHECK-NEXT: %[[X:.*]] = transformer.mask.load %[[T]][%[[J]]] : tensor<?xi32>
    %p = transformer.mask.load %t[%j] : tensor<?xi32>
    // CHECK-NEXT: %[[Y:.*]] = transformer.mask.load %[[U]][%[[B]], %[[X]]] : tensor<?x?xi32>
    %y = transformer.mask.load %u[%b, %p] : tensor<?x?xi32>
    %far = arith.addi %y, %n : i32
    %byte = arith.trunci %far : i32 to i8
    %wide = arith.extui %byte : i8 to i32
    %c = arith.cmpi ult, %wide, %i : i32
    // CHECK: transformer.yield %{{.*}} : i1
    transformer.yield %c : i1
  }
  // CHECK: mask(%[[M]])
  %o = transformer.attention %x, %x, %x mask(%m) {scale = 0.5 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @rules
func.func @rules(%x: !x, %rows: tensor<?x8x?x64xf32>, %n: i32, %ns: tensor<?xi32>, %t: tensor<32x8xf32>, %d: tensor<1x8x?x?xf32>, %f: tensor<?xf32>) -> !x {
  // CHECK: transformer.bias.alibi{{$}}
  %a = transformer.bias.alibi
  // CHECK: transformer.bias.alibi offset(%{{.*}} : i32) {factor = 2.500000e-01 : f32}
  %b = transformer.bias.alibi offset(%n : i32) {factor = 0.25 : f32}
  // CHECK: transformer.bias.relative %{{.*}} max_distance = 128 {bidirectional} : tensor<32x8xf32>
  %c = transformer.bias.relative %t max_distance = 128 {bidirectional} : tensor<32x8xf32>
  // CHECK: transformer.bias.relative %{{.*}} max_distance = 20 offset(%{{.*}} : tensor<?xi32>) : tensor<32x8xf32>
  %e = transformer.bias.relative %t max_distance = 20 offset(%ns : tensor<?xi32>) : tensor<32x8xf32>
  // CHECK: transformer.bias.distance %{{.*}} {of_keys} : tensor<?x8x?x64xf32>
  %dk = transformer.bias.distance %rows {of_keys} : tensor<?x8x?x64xf32>
  // CHECK: transformer.bias.dense %{{.*}} : tensor<1x8x?x?xf32>
  %g = transformer.bias.dense %d : tensor<1x8x?x?xf32>
  // CHECK: transformer.bias.where {
  %w = transformer.bias.where {
  ^bb0(%bb: i32, %h: i32, %i: i32, %j: i32):
    // CHECK: transformer.mask.load %{{.*}}[%{{.*}}] : tensor<?xf32>
    %y = transformer.mask.load %f[%h] : tensor<?xf32>
    %r = arith.sitofp %j : i32 to f32
    %z = math.log %r : f32
    %v = arith.mulf %y, %z : f32
    // CHECK: transformer.yield %{{.*}} : f32
    transformer.yield %v : f32
  }
  // CHECK: transformer.bias.add
  %s0 = transformer.bias.add %a, %b
  %s1 = transformer.bias.add %c, %e
  %s2 = transformer.bias.add %g, %w
  %s3 = transformer.bias.add %s0, %s1
  %s = transformer.bias.add %s2, %s3
  // CHECK: transformer.attention %{{.*}}, %{{.*}}, %{{.*}} bias(%{{.*}}) {scale
  %o = transformer.attention %x, %x, %x bias(%s) {scale = 0.5 : f32} : (!x, !x, !x) -> !x
  return %o : !x
}

// CHECK-LABEL: @everything
func.func @everything(%x: !x, %sinks: tensor<8xf32>) -> tensor<?x8x?x?xf32> {
  %m = transformer.mask.causal
  %b = transformer.bias.alibi
  // CHECK: transformer.attention {{.*}} mask(%{{.*}}) bias(%{{.*}}) sinks(%{{.*}} : tensor<8xf32>) {hidden_score = -1.000000e+09 : f32, scale = 5.000000e-01 : f32, softcap = 5.000000e+01 : f32} {{.*}} lse tensor<?x8x?xf32> weights tensor<?x8x?x?xf32>
  %o, %l, %w = transformer.attention %x, %x, %x mask(%m) bias(%b) sinks(%sinks : tensor<8xf32>) {scale = 0.5 : f32, softcap = 50.0 : f32, hidden_score = -1.0e9 : f32}
     : (!x, !x, !x) -> !x lse tensor<?x8x?xf32> weights tensor<?x8x?x?xf32>
  // CHECK: transformer.attention.statistics {{.*}} mask(%{{.*}}) bias(%{{.*}}) sinks(%{{.*}} : tensor<8xf32>) {scale = {{.*}}, softcap = 5.000000e+01 : f32}
  %n, %s = transformer.attention.statistics %x, %x mask(%m) bias(%b) sinks(%sinks : tensor<8xf32>) {scale = 0.5 : f32, softcap = 50.0 : f32} : (!x, !x) -> tensor<?x8x?xf32>
  // CHECK: transformer.attention.weights {{.*}} mask(%{{.*}}) bias(%{{.*}}) sinks(%{{.*}} : tensor<8xf32>) {scale
  %v = transformer.attention.weights %x, %x, %n, %s mask(%m) bias(%b) sinks(%sinks : tensor<8xf32>) {scale = 0.5 : f32} : (!x, !x, tensor<?x8x?xf32>, tensor<?x8x?xf32>) -> tensor<?x8x?x?xf32>
  return %v : tensor<?x8x?x?xf32>
}
