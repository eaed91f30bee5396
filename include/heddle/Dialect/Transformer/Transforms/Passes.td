//===- Passes.td - Rewrites inside the language ------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that read and write the transformer dialect only.

#ifndef HEDDLE_DIALECT_TRANSFORMER_TRANSFORMS_PASSES_TD
#define HEDDLE_DIALECT_TRANSFORMER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeFfn : Pass<"decompose-ffn"> {
  let summary = "writes feed-forward blocks as two matrix products";
  let description = [{
    Matches every `transformer.ffn` and replaces it by a `transformer.linear` that has the activation, followed by one
    that has none. Where its operands are narrower than f32, what stands between the two is rounded like them. Leaves all other ops alone. Nothing must hold before; afterwards no `transformer.ffn` is left.

    ```mlir
    // before
    %y = transformer.ffn %x in(%w1, %b1) out(%w2) {activation = #transformer.activation<relu>} : (...) -> tensor<?x8xf32>
    // after
    %h = transformer.linear %x, %w1 bias(%b1) {activation = #transformer.activation<relu>} : (...) -> tensor<?x32xf32>
    %y = transformer.linear %h, %w2 : (...) -> tensor<?x8xf32>
    ```
  }];
}

def LowerConvolutions : Pass<"lower-convolutions"> {
  let summary = "writes convolutions as matrix products";
  let description = [{
    Matches every `transformer.conv1x1` and `transformer.patch_embedding` whose weight is a `transformer.weight`, and replaces it by a
    `transformer.linear` of the same tensor as a matrix; the pixels of an image become rows by `transformer.patches`. Leaves all other ops alone.
    Nothing must hold before; afterwards no convolution with a weight of the checkpoint is left.

    ```mlir
    // before
    %w = transformer.weight "w" : tensor<32x8x1xf32>
    %y = transformer.conv1x1 %x, %w : (tensor<?x?x8xf32>, tensor<32x8x1xf32>) -> tensor<?x?x32xf32>
    // after
    %w = transformer.weight "w" {stored = array<i64: 32, 8, 1>} : tensor<32x8xf32>
    %y = transformer.linear %x, %w : (tensor<?x?x8xf32>, tensor<32x8xf32>) -> tensor<?x?x32xf32>
    ```
  }];
}

def SetPrecision : Pass<"set-precision", "::mlir::ModuleOp"> {
  let summary = "rounds the operands of products";
  let description = [{
    Matches every `transformer.linear`, `transformer.ffn` and `transformer.attention` on f32, and gives it operands of type `dtype`: a weight
    is asked for in that type, any other operand is rounded by `arith.truncf` where it is made, once for all its readers. States that
    nothing but attention reads hold that type, their rows are rounded before they are stored. Leaves alone products of narrower types, and all else: results,
    biases, norms, embeddings and residuals stay f32. `f16` is a form of storage: weights, keys and values take it, the first operands of products
    stay f32. With `f32`, the default, nothing changes. Nothing must hold before.

    A number format (`Support/Formats.h`) may have operands of its own for `transformer.linear` with a `transformer.weight`: rows by
    `transformer.quantize` where they have scales, the matrix in the format's type; `transformer.ffn` is written as two `transformer.linear` for that.
    Attention, states, and products with other matrices are rounded to the format's other type: `int8` leaves them as with `bf16`, `f16-sum` as with
    `f16`. Matrices whose columns share scales are left as these where they stand behind merged heads whose size is not a multiple of 16.

    ```mlir
    // before
    %w = transformer.weight "w" : tensor<8x4xf32>
    %y = transformer.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    // after set-precision{dtype=bf16}
    %r = arith.truncf %x : tensor<?x4xf32> to tensor<?x4xbf16>
    %w = transformer.weight "w" : tensor<8x4xbf16>
    %y = transformer.linear %r, %w : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xf32>
    // after set-precision{dtype=int8}
    %q, %s = transformer.quantize %x : tensor<?x4xf32> -> tensor<?x4xi8>, tensor<?x1xf32>
    %w = transformer.weight "w" : tensor<8x4xi8>
    %sw = transformer.weight "w" {scales, stored = array<i64: 8, 4>} : tensor<2x8xf32>
    %y = transformer.linear %q, %w scales(%s, %sw) : (tensor<?x4xi8>, tensor<8x4xi8>, tensor<?x1xf32>, tensor<2x8xf32>) -> tensor<?x8xf32>
    // after set-precision{dtype=f16-sum}
    %h, %s = transformer.quantize %x : tensor<?x4xf32> -> tensor<?x4xf16>, tensor<?x1xf32>
    %w = transformer.weight "w" : tensor<8x4xf16>
    %y = transformer.linear %h, %w scales(%s) : (tensor<?x4xf16>, tensor<8x4xf16>, tensor<?x1xf32>) -> tensor<?x8xf32>
    ```
  }];
  let options = [Option<"dtype", "dtype", "std::string", "\"f32\"", "a number format's name">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SinkFormulaConstants : Pass<"sink-formula-constants"> {
  let summary = "copies constants into the formulas that use them";
  let description = [{
    Matches every `transformer.mask.where` and `transformer.bias.where`, and replaces scalar constants from outside its region by copies inside.
    Leaves tables and other numbers alone. Nothing must hold before; afterwards a formula can be cut out with its tables and numbers, and its
    bounds see that a divisor is a constant. It belongs behind `cse`, which shares constants between a formula and what stands around it.

    ```mlir
    // before
    %five = arith.constant 5 : i32
    %m = transformer.mask.where {
    ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
      %c = arith.cmpi slt, %j, %five : i32
      transformer.yield %c : i1
    }
    // after
    %m = transformer.mask.where {
    ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
      %five = arith.constant 5 : i32
      %c = arith.cmpi slt, %j, %five : i32
      transformer.yield %c : i1
    }
    ```
  }];
}

#endif // HEDDLE_DIALECT_TRANSFORMER_TRANSFORMS_PASSES_TD
