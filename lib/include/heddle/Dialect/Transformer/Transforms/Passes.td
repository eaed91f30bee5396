//===- Passes.td - Passes of the transformer dialect -------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes from the transformer dialect to itself.

#ifndef HEDDLE_DIALECT_TRANSFORMER_TRANSFORMS_PASSES_TD
#define HEDDLE_DIALECT_TRANSFORMER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeFfn : Pass<"decompose-ffn"> {
  let summary = "decompose feed-forward blocks into matrix products";
  let description = [{
    Replaces every `transformer.ffn` by a `transformer.linear` with the activation and a
    `transformer.linear` without. In a gated block, the first one becomes two: the gate has the
    activation, the input has none, and both are multiplied element by element. If operands are
    narrower than f32, the input of the second product is rounded like the input of the first. Other
    ops are unchanged. The pass has no precondition, and it leaves no `transformer.ffn`.

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
  let summary = "lower convolutions to matrix products";
  let description = [{
    Replaces every `transformer.conv1x1` and `transformer.patch_embedding` whose weight is a
    `transformer.weight` by a `transformer.linear` with the same tensor as a matrix;
    `transformer.patches` converts an image to rows of patches. Other ops are unchanged. The pass
    has no precondition, and it leaves no convolution with a weight of the checkpoint.

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

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "add the function that computes gradients";
  let description = [{
    Clones the function `loss`, which returns a `transformer.cross_entropy`, to `gradients`. The
    clone adds the gradient of the sum of the losses to the gradients of all f32 weights, and
    returns this sum, `loss.sum`, and the number of rows that count, `tokens`. Feed-forward blocks
    are decomposed in the clone, and activations become `transformer.activate` if their derivatives
    need their inputs. If there is dropout, the clone has two more arguments: `dropout.key`, (seed,
    step, enabled), and `dropout.examples`, the number of each example. In `loss`, dropout and
    smoothing are removed, because it evaluates a model. The loss of packed texts, `loss_packed`, if
    there is one, becomes `gradients_packed` in the same way. An op without a derivative is an error at
    the op. The pass has no precondition.

    ```mlir
    // before
    func.func @loss(%x: tensor<?x4xf32>, %ids: tensor<?xi32>) -> tensor<1xf32> {
      %w = transformer.weight "w" : tensor<8x4xf32>
      %y = transformer.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      %l = transformer.cross_entropy %y, %ids : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<1xf32>
      return %l : tensor<1xf32>
    }
    // after, in addition
    func.func @gradients(%x: tensor<?x4xf32>, %ids: tensor<?xi32>) -> (tensor<1xf32>, tensor<1xf32>) {
      %w = transformer.weight "w" : tensor<8x4xf32>
      %y = transformer.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      %dy, %rows = transformer.cross_entropy.gradient %y, %ids : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x2xf32>
      %sum, %count = transformer.cross_entropy.sum %rows : tensor<?x2xf32> -> tensor<1xf32>
      transformer.gradient.product "w", %dy, %x : tensor<?x8xf32>, tensor<?x4xf32>
      return %sum, %count : tensor<1xf32>, tensor<1xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def BoundCaches : Pass<"bound-caches", "::mlir::ModuleOp"> {
  let summary = "find caches whose readers need only the last rows";
  let description = [{
    Sets `window` of a `transformer.state` if only `transformer.cache.append` with `at` extends it
    and the mask of every reading attention proves how far a query looks back. This holds for
    `mask.window` at the offset `at`, for an `and` with such a mask, and for an `or` of such masks.
    Later stages keep the rows of the window and of one call in a ring. Attentions with
    `hidden_score` read all keys. Other states lose the attribute. The pass has no precondition.

    ```mlir
    // before
    transformer.state @keys {capacity = 4096 : i64, dims = ["B", 1, "P", 16]} : tensor<?x1x?x16xf32>
    // after, where every mask of an attention over @keys is an `and` with mask.window before = 255 after = 0 offset(%at : tensor<?xi32>)
    transformer.state @keys {capacity = 4096 : i64, dims = ["B", 1, "P", 16], window = 256 : i64} : tensor<?x1x?x16xf32>
    ```
  }];
}

def SetPrecision : Pass<"set-precision", "::mlir::ModuleOp"> {
  let summary = "round the operands of products";
  let description = [{
    Gives every f32 `transformer.linear`, `transformer.ffn` and `transformer.attention` operands of
    type `dtype`. A weight is requested in this type; any other operand is rounded by `arith.truncf`
    after its definition, once for all readers. States that only attention reads, and keys and
    values of a `transformer.attention` with `kept`, get the type `cache-dtype`, which defaults to
    the type of attention's operands. Their rows are rounded before they are stored. With `int8`
    they are converted to codes by `transformer.cache.quantize`, and another state holds the scales.
    Everything else stays f32: results, biases, norms, embeddings and residuals. Products of
    narrower types are unchanged. `f16` is a storage format: weights, keys and values become f16,
    and the first operands of products stay f32. With `f32`, the default, nothing changes. The pass
    has no precondition.

    A number format (`Support/Formats.h`) may define other operands for `transformer.linear` with a
    `transformer.weight`: rows by `transformer.quantize` if they have scales, and the matrix in the
    format's type. `transformer.ffn` is then decomposed into `transformer.linear`. Attention,
    states, and products with other matrices are rounded to the format's other type: `int8` treats
    them like `bf16`, `f16-sum` like `f16`. A `transformer.linear` with `classes` has the operands
    of the format that its format specifies for classes: under `int4`, the operands of `int8`. If
    the columns of a format share scales, a matrix that follows merged heads with padding has the
    other type too.

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
  let options = [Option<"dtype", "dtype", "std::string", "\"f32\"", "a number format's name">,
                 Option<"cacheDtype", "cache-dtype", "std::string", "\"\"", "type of keys and values that sessions keep: f32, bf16, f16 or int8">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SinkFormulaConstants : Pass<"sink-formula-constants"> {
  let summary = "copy constants into the formulas that use them";
  let description = [{
    Replaces scalar constants from outside a `transformer.mask.where` or `transformer.bias.where` by
    copies inside its region. Tables and other numbers are unchanged. The pass has no precondition.
    Afterwards a formula depends only on its tables and numbers, and its bounds see constant
    divisors. Run the pass after `cse`, which shares constants between a formula and its
    surroundings.

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
