//===- recompute.mlir - Values that are computed again --------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer that is not kept whole computes its values again where the backward pass reads them. Its
// result, which the next layer reads, is kept. Weights are no values of a layer.

// RUN: heddle-opt %s --differentiate --recompute --cse | FileCheck %s
// RUN: sed -e 's/kept_layers = 1/kept_layers = 2/' %s | heddle-opt --differentiate --recompute --cse | FileCheck %s --check-prefix=KEPT
// RUN: sed -e 's/attributes.*{$/{/' %s | heddle-opt --differentiate --recompute --cse | FileCheck %s --check-prefix=KEPT
// KEPT: func.func @gradients
// KEPT-NOT: transformer.again

// CHECK-LABEL: func.func @gradients
// CHECK:         %[[H0:.*]] = transformer.linear %arg0,
// CHECK-NEXT:    %[[Y0:.*]] = transformer.linear %[[H0]],
// CHECK-NEXT:    %[[H1:.*]] = transformer.linear %[[Y0]],
// CHECK-NEXT:    %[[Y1:.*]] = transformer.linear %[[H1]],
// CHECK-NEXT:    %[[DY:.*]], %{{.*}} = transformer.cross_entropy.gradient %[[Y1]],
// CHECK:         %[[AGAIN:.*]] = transformer.linear %[[Y0]], %{{.*}} {activation = #transformer.activation<relu>, transformer.again}
// CHECK-NEXT:    transformer.gradient.product "w", %[[DY]], %[[AGAIN]] {use = 3 : i64}
// CHECK-NOT:     transformer.again
// CHECK:         transformer.gradient.product "w", %{{.*}}, %[[Y0]] {use = 2 : i64}
// CHECK:         transformer.gradient.product "w", %{{.*}}, %[[H0]] {use = 1 : i64}
module attributes {transformer.kept_layers = 1 : i64} {
  func.func @loss(%x: tensor<?x8xf32>, %ids: tensor<?xi32>) -> tensor<1xf32> {
    %w = transformer.weight "w" : tensor<8x8xf32>
    %h0 = transformer.linear %x, %w {activation = #transformer.activation<relu>} : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32> loc("encoder.0.ffn")
    %y0 = transformer.linear %h0, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32> loc("encoder.0.ffn")
    %h1 = transformer.linear %y0, %w {activation = #transformer.activation<relu>} : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32> loc("encoder.1.ffn")
    %y1 = transformer.linear %h1, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32> loc("encoder.1.ffn")
    %l = transformer.cross_entropy %y1, %ids : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<1xf32>
    return %l : tensor<1xf32>
  }
}
