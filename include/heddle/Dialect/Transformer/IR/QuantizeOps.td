//===- QuantizeOps.td - Rows in a narrow type with a scale -*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `transformer.linear` multiplies when its operands are codes: how they are
// made, and what they stand for. `set-precision` writes it for a `--dtype`.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_QUANTIZEOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_QUANTIZEOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Codes of rows: what `transformer.quantize` gives.
def Transformer_Codes : ConfinedType<RankedTensorOf<[I8, F16]>, [Transformer_Rank<">= 2">, Transformer_Positive<".back()">],
    "tensor of i8 or f16, rank 2 or more, whose last dimension (features) is static and positive", "::mlir::RankedTensorType">;
/// Operands of a linear: numbers, or codes that have scales.
def Transformer_LinearRows : ConfinedType<RankedTensorOf<[F32, BF16, F16, I8]>, [Transformer_Rank<">= 2">, Transformer_Positive<".back()">],
    "tensor of f32, bf16, f16 or i8, rank 2 or more, whose last dimension (features) is static and positive", "::mlir::RankedTensorType">;
def Transformer_LinearMatrix : ConfinedType<2DTensorOf<[F32, BF16, F16, I8, I<4>]>, [Transformer_Positive<"[0]">, Transformer_Positive<"[1]">],
    "static matrix of f32, bf16, f16, i8 or i4, not empty", "::mlir::RankedTensorType">;

def Transformer_QuantizeOp : Transformer_Op<"quantize", [Pure, InferTypeOpAdaptorWithIsCompatible, Transformer_ReducesRows, Transformer_RowsAlike]> {
  let summary = "each row in a narrow type, and a scale";
  let description = [{
    What a number format (`Support/Formats.h`) makes of rows and of weights, and what the product of both is.

    **Codes of rows** (int8). Of each row `x` with the largest magnitude `m` over its features, in f32: `codes[k] = rint(x[k] * (127 / m))`, to
    nearest, ties to even, a number from -127 to 127, and `scales = m / 127`, so that `codes * scales` is about `x`. `input` is `[..., K]`, so are
    `codes`; `scales` are `[..., 1]`. Where `m` is below 2^-118 all codes and the scale are 0. A row with an infinity, a NaN or a magnitude of 2^127
    or more has codes of no meaning and the scale NaN: what is made of it is NaN. Weights of i8 are such codes of the matrix' rows. The sum of the
    codes' products is exact; as f32 it is multiplied by the row's scale, then by the column's.

    **Halves of rows** (f16-sum). Codes of f16 are the numbers themselves, moved into one binade and rounded, to nearest, ties to even:
    `scales = 2^e` with `2^e <= m < 2^(e + 1)`, `[..., 1]`, and `codes[k] = f16(x[k] * 2^-e)`, whose magnitudes are below 2 (or 2, where they are
    rounded to it). Where `m` is below 2^-101 all codes and the scale are 0. A row with an infinity, a NaN or a magnitude of 2^127 or more has the
    codes 0 and the scale NaN. Products with a weight of f16 may be summed in f16, at most 128 of them, before they are added in f32; a device that
    has no such instruction sums them in f32, feature by feature. The sum is multiplied by the row's scale.

    **Groups of weights** (int4). Weights of i4 stand for the values `d * q`: of each 32 columns of a row (the last ones may be
    fewer) that have the largest magnitude m, `d` is `m / 7` rounded to f16, and `q = rint(w / d)`, ties to even, held within -8 and 7; where d is 0,
    so is q. A group with a number that is not finite, or whose d f16 cannot hold, has NaN for values. They are multiplied as f32 of these values are.

    Constraints:
    * C1: `codes` have the shape of `input`.
    * C2: `scales` have the shape of `input` with as many features as a row has scales in a number format (`Support/Formats.h`): 1.

    Example:
    ```mlir
    func.func @codes(%x: tensor<?x?x512xf32>) -> (tensor<?x?x512xi8>, tensor<?x?x1xf32>) {
      %q, %s = transformer.quantize %x : tensor<?x?x512xf32> -> tensor<?x?x512xi8>, tensor<?x?x1xf32>
      return %q, %s : tensor<?x?x512xi8>, tensor<?x?x1xf32>
    }
    func.func @halves(%x: tensor<?x?x512xf32>) -> (tensor<?x?x512xf16>, tensor<?x?x1xf32>) {
      %h, %s = transformer.quantize %x : tensor<?x?x512xf32> -> tensor<?x?x512xf16>, tensor<?x?x1xf32>
      return %h, %s : tensor<?x?x512xf16>, tensor<?x?x1xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input);
  let results = (outs Transformer_Codes:$codes, Transformer_Activations:$scales);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($codes) `,` type($scales)";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_QUANTIZEOPS_TD
