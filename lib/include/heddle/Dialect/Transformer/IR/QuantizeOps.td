//===- QuantizeOps.td - Rows of a narrow type with scales --*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of `transformer.linear` that are codes: how they are computed and
// the numbers they represent. `set-precision` creates these ops for a
// `--dtype`.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_QUANTIZEOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_QUANTIZEOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Codes of rows, the result of `transformer.quantize`.
def Transformer_Codes : ConfinedType<RankedTensorOf<[I8, F16]>, [Transformer_Rank<">= 2">, Transformer_Positive<".back()">],
    "tensor of i8 or f16, rank 2 or more, whose last dimension (features) is static and positive", "::mlir::RankedTensorType">;
/// Operands of a linear layer: numbers, or codes with scales.
def Transformer_LinearRows : ConfinedType<RankedTensorOf<[F32, BF16, F16, I8]>, [Transformer_Rank<">= 2">, Transformer_Positive<".back()">],
    "tensor of f32, bf16, f16 or i8, rank 2 or more, whose last dimension (features) is static and positive", "::mlir::RankedTensorType">;
def Transformer_LinearMatrix : ConfinedType<2DTensorOf<[F32, BF16, F16, I8, I<4>, SI8, SI<6>]>, [Transformer_Positive<"[0]">, Transformer_Positive<"[1]">],
    "static matrix of f32, bf16, f16, i8, i4, si8 or si6, not empty", "::mlir::RankedTensorType">;

def Transformer_QuantizeOp : Transformer_Op<"quantize", [Pure, InferTypeOpAdaptorWithIsCompatible, Transformer_ReducesRows, Transformer_RowsAlike]> {
  let summary = "rows in a narrow type, with scales";
  let description = [{
    Defines how a number format (`Support/Formats.h`) quantizes rows and weights, and how it
    multiplies them.

    **Codes of rows** (int8). Let `m` be the largest magnitude of a row `x` over its features. In
    f32, `codes[k] = rint(x[k] * (127 / m))`, rounded to nearest, ties to even, a number from -127
    to 127, and `scales = m / 127`, so that `codes * scales` approximates `x`. `input` and `codes`
    are `[..., K]`, and `scales` are `[..., 1]`. If `m` is below 2^-118, all codes and the scale are
    zero. A row with an infinity, a NaN or a magnitude of 2^127 or more has unspecified codes and
    the scale NaN, so every result computed from it is NaN. Weights of i8 are such codes of the
    matrix's rows. The sum of the products of codes is exact. It is converted to f32, then
    multiplied by the scale of the row and by the scale of the column, in this order.

    **Halves of rows** (f16-sum). Codes of f16 are the numbers themselves, scaled into one binade
    and rounded to nearest, ties to even: `scales = 2^e` with `2^e <= m < 2^(e + 1)`, `[..., 1]`,
    and `codes[k] = f16(x[k] * 2^-e)`. Their magnitudes are below 2, or 2 after rounding. If `m` is
    below 2^-101, all codes and the scale are 0. A row with an infinity, a NaN or a magnitude of
    2^127 or more has the codes 0 and the scale NaN. Products with a weight of f16 may be summed in
    f16, at most 128 of them, before they are added in f32. Devices without such an instruction sum
    them in f32, feature by feature. The sum is multiplied by the row's scale.

    **Codes of groups** (int4, file). Rows are divided into groups of 32 features (with weights of
    si6, 16), starting with the first feature. The last group may be short; it is padded with zeros.
    Let `m` be the largest magnitude of a group. In f32, the codes of i8 are computed as for rows:
    `p = rint(x * (127 / m))` and `e = m / 127`, both 0 if `m` is below 2^-118. The sum in `s = e *
    sum of p` is exact. `scales` are `[..., 2 * groups]`: e and s of the first group, of the second
    group, and so on. A group with an infinity, a NaN or a magnitude of 2^127 or more has
    unspecified codes, and its e and s are NaN.

    Weights of i4 have, for each group of 32 columns, codes q from 0 to 15 and a scale d and a
    minimum m of f16. They represent `f32(d) * q + f32(m)`. Groups start with the first column of
    the checkpoint's own matrix. For a group with least number lo and greatest number hi, ranges are
    tried for f = 1, 0.97, 0.94, 0.90, 0.86: `cut = (hi - lo) * ((1 - f) / 2)`, `m = f16(lo + cut)`,
    `d = f16(((hi - cut) - (lo + cut)) / 15)`, each in f64 up to the one rounding to f16, and
    `q = rint((w - f32(m)) / f32(d))` in f32, ties to even, clamped to 0 and 15; if d is 0, q is 0.
    The first range with the least sum of squared errors `w - (f32(d) * q + f32(m))` is kept; the
    sum is computed in f64 from the first column on. A range whose d or m overflows f16 is not a
    candidate. A group without a candidate, or with a number that is not finite, has NaN for d and
    m, so every result computed from its row is NaN. Codes of this form in a checkpoint are kept.

    Weights of si8 and si6 have signed codes q in groups of 32 and 16 columns, from -128 to 127 and
    from -32 to 31, with d and m as above. They are the codes of a GGUF file, which packing keeps.

    For each group, `u = sum of p * q` is exact. The product accumulates the groups in ascending
    order from +0: `a = fma(f32(u), e * f32(d), a)`, then `a = fma(s, f32(m), a)`. Instruction sets
    without fma use a multiplication and an addition.

    Constraints:
    * C1: `codes` have the shape of `input`.
    * C2: `scales` have the shape of `input`, and one feature for each scale of a row in a number
      format (`Support/Formats.h`): 1, or 2 for each group.

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
    func.func @groups(%x: tensor<?x512xf32>) -> tensor<?x2048xf32> {
      %w = transformer.weight "encoder.0.ffn.in.weight" : tensor<2048x512xi4>
      %q, %s = transformer.quantize %x : tensor<?x512xf32> -> tensor<?x512xi8>, tensor<?x32xf32>
      %y = transformer.linear %q, %w scales(%s) : (tensor<?x512xi8>, tensor<2048x512xi4>, tensor<?x32xf32>) -> tensor<?x2048xf32>
      return %y : tensor<?x2048xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input);
  let results = (outs Transformer_Codes:$codes, Transformer_Activations:$scales);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($codes) `,` type($scales)";
  let extraClassDeclaration = [{
    /// Features of a row of i8 that share scales.
    int64_t getScaleGroup();
  }];
  let hasVerifier = 1;
}

def Transformer_CacheQuantizeOp : Transformer_Op<"cache.quantize", [Pure, Transformer_ReducesRows, InferTypeOpAdaptorWithIsCompatible], ["inferShapes"]> {
  let summary = "rows of heads as codes and scales, for a cache";
  let description = [{
    Keys or values in the form in which a cache of i8 keeps them. Each row `[B, H, T, :]` of a head
    has codes and a scale, computed as by `transformer.quantize` for rows (int8). They represent
    `scale * code`, rounded to f32. `codes` have the shape of `rows`, and `scales` are `[B, H, T]`.

    Constraints:
    * C1: `codes` have the shape of `rows`.
    * C2: `scales` have the shape of `rows` without its features.

    Example:
    ```mlir
    transformer.state @keys {dims = ["B", 8, "P", 64], capacity = 256 : i64} : tensor<?x8x?x64xi8>
    transformer.state @keys.scale {dims = ["B", 8, "P"], capacity = 256 : i64} : tensor<?x8x?xf32>
    func.func @step(%k: tensor<?x8x1x64xf32>) -> tensor<?x8x?xf32> {
      %q, %e = transformer.cache.quantize %k : tensor<?x8x1x64xf32> -> tensor<?x8x1x64xi8>, tensor<?x8x1xf32>
      %all = transformer.cache.append @keys, %q : tensor<?x8x1x64xi8> -> tensor<?x8x?x64xi8>
      %scales = transformer.cache.append @keys.scale, %e : tensor<?x8x1xf32> -> tensor<?x8x?xf32>
      return %scales : tensor<?x8x?xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Heads:$rows);
  let results = (outs Transformer_HeadCodes:$codes, Transformer_HeadScales:$scales);
  let assemblyFormat = "$rows attr-dict `:` type($rows) `->` type($codes) `,` type($scales)";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_QUANTIZEOPS_TD
