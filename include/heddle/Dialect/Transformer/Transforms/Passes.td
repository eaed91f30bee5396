//===- Passes.td - Rewrites inside the language ------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that read and write the transformer dialect only.

#ifndef HEDDLE_DIALECT_TRANSFORMER_TRANSFORMS_PASSES_TD
#define HEDDLE_DIALECT_TRANSFORMER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeFfn : Pass<"decompose-ffn"> {
  let summary = "decompose feed-forward blocks into matrix products";
  let description = [{
    Replaces every `transformer.ffn` by a `transformer.linear` with the activation and a `transformer.linear` without; a gated block has two of the
    first kind side by side, and their product. If operands are narrower than f32, the input of the second product is rounded like that of the first.
    Other ops are left alone. No precondition; afterwards no `transformer.ffn` is left.

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
    Replaces every `transformer.conv1x1` and `transformer.patch_embedding` whose weight is a `transformer.weight` by a `transformer.linear` of the
    same tensor as a matrix; `transformer.patches` makes rows of an image's patches. Other ops are left alone. No precondition; afterwards no
    convolution with a weight of the checkpoint is left.

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

def BoundCaches : Pass<"bound-caches", "::mlir::ModuleOp"> {
  let summary = "find caches of which only the last rows are read";
  let description = [{
    Sets `window` of every `transformer.state` that only `transformer.cache.append` with `at` extends and whose readers are attentions with a mask that
    proves how far before its own row a query looks: `mask.window` at the offset `at`, an `and` with one, or an `or` of such masks. Later stages keep
    so many rows, and those of one call, in a ring. Attentions with `hidden_score` read all keys. Other states lose the attribute. No precondition.

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
    Gives every f32 `transformer.linear`, `transformer.ffn` and `transformer.attention` operands of type `dtype`: a weight is asked for in that type,
    any other operand is rounded by `arith.truncf` behind its definition, once for all its readers. States that only attention reads, and keys and
    values of a `transformer.attention` with `kept`, take the type `cache-dtype`, that of attention's operands unless it is given: rows are rounded
    before they are stored, or with `int8` become codes by `transformer.cache.quantize`, whose scales have a state beside. Everything else stays f32: results, biases, norms, embeddings and residuals. Products of
    narrower types are left alone. `f16` is a storage format: weights, keys and values take it, the first operands of products stay f32. With `f32`,
    the default, nothing changes. No precondition.

    A number format (`Support/Formats.h`) may have operands of its own for `transformer.linear` with a `transformer.weight`: rows by
    `transformer.quantize` if they have scales, the matrix in the format's type. `transformer.ffn` is then decomposed into `transformer.linear`.
    Attention, states, and products with other matrices are rounded to the format's other type: `int8` treats them as `bf16` does, `f16-sum` as `f16`
    does. A `transformer.linear` with `classes` has the operands of the format that its format names for it: under `int4` those of `int8`. Formats whose columns share scales leave a matrix in that other type too, if it follows merged heads whose size is not a multiple of 16.

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
    Replaces scalar constants from outside a `transformer.mask.where` or `transformer.bias.where` by copies inside its region. Tables and other
    numbers are left alone. No precondition; afterwards a formula is self-contained but for its tables and numbers, and its bounds see constant
    divisors. Run it after `cse`, which shares constants between a formula and its surroundings.

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
