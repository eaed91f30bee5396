//===- DropoutOps.td - Dropout -----------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dropout of rows. Attention has dropout of its weights as an attribute.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_DROPOUTOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_DROPOUTOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Seed and step of a training run, and 1 if numbers are dropped.
def Transformer_DropoutKey : ConfinedType<1DTensorOf<[I32]>, [CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(0) == 3">],
    "tensor<3xi32>", "::mlir::RankedTensorType">;

def Transformer_DropoutOp : Transformer_Op<"dropout", [Pure, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>, Transformer_RowsAlike, Transformer_Differentiable],
                                           ["takesWeight"]> {
  let summary = "drops numbers at random";
  let description = [{
    Without `key`, the result is `input`: a model that is evaluated drops nothing. The pass
    `differentiate` gives the ops of the function `gradients` their other operands. It counts the
    positions of rows within `documents`, the starts of packed documents as in
    `transformer.mask.documents`, if the op has them.

    With `key`, a vector (seed, step, enabled), a number is dropped if enabled is 1 and its random
    word is below `probability * 2^32`, rounded to an integer. A dropped number becomes 0; others are
    multiplied by `1 / (1 - probability)`, rounded to f32. Words come from Philox4x32-10 (Salmon et
    al., Parallel Random Numbers: As Easy as 1, 2, 3) with the key (seed, step). `rows` holds the
    number of the example and the position of each row. The number in column e has the counter
    `(e / 64 * 16 + e mod 16, position, example, site)` and the word `e / 16 mod 4` of its result. So
    the numbers that are dropped depend neither on the batch nor on padding.

    Constraints:
    * C1: `probability` is at least 0 and below 1.
    * C2: `key`, `rows` and `site` are given together.
    * C3: `rows` has the shape of `input` with 2 features.
    * C4: `documents` is a vector, and excludes `key`.

    Example:
    ```mlir
    func.func @drop(%x: tensor<?x?x512xf32>) -> tensor<?x?x512xf32> {
      %y = transformer.dropout %x {probability = 0.1 : f32} : tensor<?x?x512xf32>
      return %y : tensor<?x?x512xf32>
    }
    func.func @drop_with_key(%x: tensor<?x?x512xf32>, %key: tensor<3xi32>, %rows: tensor<?x?x2xi32>) -> tensor<?x?x512xf32> {
      %site = arith.constant 4 : i32
      %y = transformer.dropout %x key(%key : tensor<3xi32>) rows(%rows : tensor<?x?x2xi32>) site(%site) {probability = 0.1 : f32} : tensor<?x?x512xf32>
      return %y : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Optional<Transformer_DropoutKey>:$key, Optional<Transformer_Index>:$rows,
                       Optional<I32>:$site, Optional<Transformer_Index>:$documents, F32Attr:$probability);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = [{
    $input (`key` `(` $key^ `:` type($key) `)`)? (`rows` `(` $rows^ `:` type($rows) `)`)? (`site` `(` $site^ `)`)?
    (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_DROPOUTOPS_TD
