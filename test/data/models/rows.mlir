//===- rows.mlir - Ops over whole rows, run by rows.test ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, softmax and loss of widths that are no multiple of 16.

func.func @softmax(%x: tensor<?x?x10001xf32> {transformer.name = "x", transformer.dims = ["B", "T", 10001]})
    -> (tensor<?x?x10001xf32> {transformer.name = "p", transformer.dims = ["B", "T", 10001]}) {
  %p = transformer.softmax %x : tensor<?x?x10001xf32>
  return %p : tensor<?x?x10001xf32>
}

func.func @loss(%x: tensor<?x?x10001xf32> {transformer.name = "x", transformer.dims = ["B", "T", 10001]},
                %r: tensor<?x?xi32> {transformer.name = "r", transformer.dims = ["B", "T"], transformer.range = [0, 10001]})
    -> (tensor<1xf32> {transformer.name = "loss"}, tensor<?x?xi32> {transformer.name = "shifted"}) {
  %l = transformer.cross_entropy %x, %r {padding_id = 3 : i64} : (tensor<?x?x10001xf32>, tensor<?x?xi32>) -> tensor<1xf32>
  %s = transformer.shift_right %r {start = 9 : i64} : tensor<?x?xi32>
  return %l, %s : tensor<1xf32>, tensor<?x?xi32>
}

func.func @small(%x: tensor<?x3xf32> {transformer.name = "y", transformer.dims = ["N", 3]})
    -> (tensor<?x3xf32> {transformer.name = "p", transformer.dims = ["N", 3]}) {
  %p = transformer.softmax %x : tensor<?x3xf32>
  return %p : tensor<?x3xf32>
}

func.func @norms(%x: tensor<?x?x37xf32> {transformer.name = "z", transformer.dims = ["B", "T", 37]},
                 %g: tensor<37xf32> {transformer.name = "g"}, %b: tensor<37xf32> {transformer.name = "b"})
    -> (tensor<?x?x37xf32> {transformer.name = "rms", transformer.dims = ["B", "T", 37]},
        tensor<?x?x37xf32> {transformer.name = "rootless", transformer.dims = ["B", "T", 37]}) {
  %0 = transformer.rms_norm %x, %g {epsilon = 1.0e-6 : f32} : (tensor<?x?x37xf32>, tensor<37xf32>) -> tensor<?x?x37xf32>
  %1 = transformer.layer_norm %x, %g, %b {epsilon = 1.0e-8 : f32, root = false} : (tensor<?x?x37xf32>, tensor<37xf32>, tensor<37xf32>) -> tensor<?x?x37xf32>
  return %0, %1 : tensor<?x?x37xf32>, tensor<?x?x37xf32>
}

func.func @long(%x: tensor<?x3xf32> {transformer.name = "x", transformer.dims = ["T", 3]}, %r: tensor<?xi32> {transformer.name = "r", transformer.dims = ["T"]})
    -> (tensor<1xf32> {transformer.name = "loss"}) {
  %l = transformer.cross_entropy %x, %r {padding_id = 2 : i64} : (tensor<?x3xf32>, tensor<?xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}
