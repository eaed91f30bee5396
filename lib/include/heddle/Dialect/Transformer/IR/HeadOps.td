//===- HeadOps.td - Heads of rows --------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heads: rows of features as several heads, heads as rows, and the product of each head with a
// matrix of its own.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_HEADOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_HEADOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_SplitHeadsOp : Transformer_InferredOp<"split_heads", [Transformer_Differentiable], ["inferShapes"]> {
  let summary = "splits features into heads";
  let description = [{
    `result[b, h, t, d] = input[b, t, h * D + d]`: `[B, T, H * D]` becomes `[B, H, T, D]`, with H =
    `heads`.

    Constraints:
    * C1: `input` has rank 3.
    * C2: `heads` is positive and divides the features of `input`.
    * C3: the result is `[B, H, T, D]`.

    Example:
    ```mlir
    func.func @heads(%x: tensor<?x?x512xf32>) -> tensor<?x8x?x64xf32> {
      %h = transformer.split_heads %x {heads = 8 : i64} : tensor<?x?x512xf32> -> tensor<?x8x?x64xf32>
      return %h : tensor<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, I64Attr:$heads);
  let results = (outs Transformer_Heads:$result);
  let resultType = "typeOf(adaptor.getInput()).clone(splitShape(adaptor.getInput(), adaptor.getHeads()))";
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Transformer_MergeHeadsOp : Transformer_InferredOp<"merge_heads", [Transformer_Differentiable], ["inferShapes"]> {
  let summary = "concatenates the features of heads";
  let description = [{
    `result[b, t, h * D + d] = input[b, h, t, d]`: `[B, H, T, D]` becomes `[B, T, H * D]`.

    Constraints:
    * C1: the result is `[B, T, H * D]`.

    Example:
    ```mlir
    func.func @merge(%h: tensor<?x8x?x64xf32>) -> tensor<?x?x512xf32> {
      %x = transformer.merge_heads %h : tensor<?x8x?x64xf32> -> tensor<?x?x512xf32>
      return %x : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Heads:$input);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getInput()).clone(mergedShape(adaptor.getInput()))";
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Transformer_HeadProductsOp : Transformer_InferredOp<"head_products", [Transformer_Contracts], ["countFlops", "storageOf"]> {
  let summary = "a matrix product of each head with rows of a weight";
  let description = [{
    `result[b, h, t, n] = scale * sum_d input[b, h, t, d] * weight[h * N + n, d]`. `input` is
    `[B, H, T, D]`, `weight` is `[H * N, D]`, and the result is `[B, H, T, N]`. Operands of bf16 are
    multiplied as in `linear`.

    Constraints:
    * C1: the columns of `weight` equal the features of `input`.
    * C2: the rows of `weight` are a multiple of 16 for each head.
    * C3: the result is `[B, H, T, N]`.
    * C4: `weight` has the element type of `input`, or f16 with an `input` of f32.
    * C5: `scale` is finite.

    Example:
    ```mlir
    func.func @products(%q: tensor<?x8x?x64xf32>, %w: tensor<512x64xf32>) -> tensor<?x8x?x64xf32> {
      %y = transformer.head_products %q, %w {scale = 0.125 : f32} : (tensor<?x8x?x64xf32>, tensor<512x64xf32>) -> tensor<?x8x?x64xf32>
      return %y : tensor<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_ProductHeads:$input, Transformer_ProductMatrix:$weight, F32Attr:$scale);
  let results = (outs Transformer_Heads:$result);
  let resultType = "withFeatures(adaptor.getInput(), dim(adaptor.getWeight(), 0) / dim(adaptor.getInput(), 1))";
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_HEADOPS_TD
