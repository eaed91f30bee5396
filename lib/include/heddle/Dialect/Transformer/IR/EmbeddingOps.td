//===- EmbeddingOps.td - Rows of ids, images and frames ----*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources of activations: rows of a table selected by ids, patches of an image,
// frames of sound with their neighbors, and the positions and tokens that are
// added to them.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_EMBEDDINGOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_EMBEDDINGOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===- Embeddings and positions ------------------------------------------===//

/// Tables with rows that ids select: f32, or narrowed by `set-precision`.
def Transformer_Table : ConfinedType<2DTensorOf<[F32, BF16, F16, I8, I<4>, SI8, SI<6>]>, [Transformer_Positive<"[0]">, Transformer_Positive<"[1]">],
    "static matrix of f32, bf16, f16, i8, i4, si8 or si6, not empty", "::mlir::RankedTensorType">;

def Transformer_EmbeddingOp : Transformer_InferredOp<"embedding", [Transformer_RowsAlike, Transformer_Differentiable], ["inferShapes", "storageOf", "limitValues"]> {
  let summary = "rows of a table, selected by ids";
  let description = [{
    `result[..., e] = scale * table[ids[...], e]`. The row is zero if the id equals `padding_id`.
    `ids` has shape `[...]`, usually `[B, T]`, `table` is `[V, E]`, and the result is `[..., E]`.
    Ids are checked against [0, V) before anything runs.

    The table may have a narrower type. Elements of bf16 and f16 are widened. Elements of i8 are
    codes, each multiplied by the scale of its row. `scales` is `[2, V]`, the same
    `transformer.weight` with `scales` that a `transformer.linear` of this matrix uses. Elements of
    i4, si8 and si6 are codes q in groups of columns with their scale d and minimum m, as in a
    weight of `transformer.quantize`; they represent `f32(d) * q + f32(m)`. The result is f32 in any
    case.

    Constraints:
    * C1: the result has the shape of `ids` followed by the columns of `table`.
    * C2: `padding_id` is a row of `table`.
    * C3: a table of i8 has `scales`, `[2, V]`; other tables have no scales.

    Example:
    ```mlir
    func.func @embed(%ids: tensor<?x?xi32>, %table: tensor<1000x512xf32>) -> tensor<?x?x512xf32> {
      %e = transformer.embedding %ids, %table {padding_id = 0 : i64, scale = 22.6 : f32} : (tensor<?x?xi32>, tensor<1000x512xf32>) -> tensor<?x?x512xf32>
      return %e : tensor<?x?x512xf32>
    }
    func.func @codes(%ids: tensor<?x?xi32>, %table: tensor<1000x512xi8>, %s: tensor<2x1000xf32>) -> tensor<?x?x512xf32> {
      %e = transformer.embedding %ids, %table scales(%s) : (tensor<?x?xi32>, tensor<1000x512xi8>, tensor<2x1000xf32>) -> tensor<?x?x512xf32>
      return %e : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Index:$ids, Transformer_Table:$table, Optional<Transformer_Activations>:$scales, Transformer_Scale:$scale,
                       OptionalAttr<I64Attr>:$padding_id);
  let results = (outs Transformer_Activations:$result);
  let resultType = "embeddedType(adaptor.getIds(), adaptor.getTable())";
  let assemblyFormat = "$ids `,` $table (`scales` `(` $scales^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Transformer_PositionSinusoidalOp : Transformer_Op<"position.sinusoidal", [Pure, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>, Transformer_Differentiable],
                                                     ["inferShapes", "limitValues", "documentStarts", "rowTable"]> {
  let summary = "adds sinusoidal positions";
  let description = [{
    `result[b, t, e] = input[b, t, e] + scale * PE(offset + t, e)` with
    `PE(p, 2i) = sin(p / 10000^(2i/E))` and `PE(p, 2i + 1) = cos(p / 10000^(2i/E))`; an odd E ends
    with a sine. Rows are counted along dimension 1 of `[B, T, E]`, from `offset`, 0 by default.
    With `documents`, the starts of packed documents as in `transformer.mask.documents`, rows are
    counted from the start of their own document, and B is 1.

    Constraints:
    * C1: `input` has rank 3.
    * C2: `documents` is a vector, and excludes `offset`.

    Example:
    ```mlir
    func.func @positions(%x: tensor<?x?x512xf32>, %n: i32) -> tensor<?x?x512xf32> {
      %a = transformer.position.sinusoidal %x {scale = 0.5 : f32} : tensor<?x?x512xf32>
      %b = transformer.position.sinusoidal %a offset(%n : i32) : tensor<?x?x512xf32>
      return %b : tensor<?x?x512xf32>
    }
    func.func @packed(%x: tensor<1x?x512xf32>, %starts: tensor<?xi32>) -> tensor<1x?x512xf32> {
      %a = transformer.position.sinusoidal %x documents(%starts : tensor<?xi32>) : tensor<1x?x512xf32>
      return %a : tensor<1x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Optional<Transformer_OffsetOperand>:$offset, Optional<TensorOf<[I32]>>:$documents, Transformer_Scale:$scale);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input (`offset` `(` $offset^ `:` type($offset) `)`)? (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_PositionLearnedOp : Transformer_Op<"position.learned", [Pure, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>, Transformer_Differentiable],
                                                  ["inferShapes", "limitValues", "documentStarts"]> {
  let summary = "adds positions from a table";
  let description = [{
    `result[b, t, e] = input[b, t, e] + scale * table[offset + t, e]`. Rows are counted as in
    `transformer.position.sinusoidal`: from `offset`, 0 by default, or with `documents` from the
    start of their own document, where B is 1. `table` is `[N, E]`. A call with positions beyond N
    is an error, reported before anything runs.

    Constraints:
    * C1: `input` has rank 3.
    * C2: the columns of `table` equal the features of `input`.
    * C3: `documents` is a vector, and excludes `offset`.
    * C4: a static number of rows is at most N.

    Example:
    ```mlir
    func.func @learned(%x: tensor<?x?x512xf32>, %table: tensor<128x512xf32>, %n: i32) -> tensor<?x?x512xf32> {
      %a = transformer.position.learned %x, %table : tensor<?x?x512xf32>, tensor<128x512xf32>
      %b = transformer.position.learned %a, %table offset(%n : i32) {scale = 0.5 : f32} : tensor<?x?x512xf32>, tensor<128x512xf32>
      return %b : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_Matrix:$table, Optional<Transformer_OffsetOperand>:$offset, Optional<TensorOf<[I32]>>:$documents,
                       Transformer_Scale:$scale);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = [{
    $input `,` $table (`offset` `(` $offset^ `:` type($offset) `)`)? (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict
    `:` type($input) `,` type($table)
  }];
  let hasVerifier = 1;
}

def Transformer_RotaryOp : Transformer_Op<"rotary", [Pure, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>, Transformer_Differentiable],
                                          ["inferShapes", "limitValues", "documentStarts", "rowTable"]> {
  let summary = "rotates heads by their positions";
  let description = [{
    The first r features of each head are rotated, with r = `fraction * D` rounded down. Feature j
    is paired with feature j + r/2 and rotated by the angle `a = p / factor * base^(-2j/r)`, where p
    is the position of the row:
    `result[b, h, t, j] = input[b, h, t, j] * cos(a) - input[b, h, t, j + r/2] * sin(a)` and
    `result[b, h, t, j + r/2] = input[b, h, t, j + r/2] * cos(a) + input[b, h, t, j] * sin(a)` for
    all j below r/2. Features from r on are unchanged. Rows are counted along dimension 2 of
    `[B, H, T, D]` from `offset`, 0 by default, or with `documents` from the start of their own
    document, where B is 1.

    The scores of queries and keys that are rotated alike depend on the distance of their positions.
    Source: Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, section 3.4.2;
    features are paired as in GPT-NeoX and Llama. A `factor` other than 1 scales positions linearly:
    Chen et al., Extending Context Window of Large Language Models via Positional Interpolation,
    section 2.3.

    With `frequencies`, a list of r/2 numbers, the angle is `p * frequencies[j]`, independent of
    `base` and `factor`, and `magnitude` multiplies every cosine and sine. The model alone
    determines these numbers, which express other scalings (llama3, YaRN, LongRoPE). With `length`,
    a sequence or document has at most `length` rows, because longer ones would need other
    frequencies.

    With `inverse`, the angles are negated. This is the gradient of the input.

    Constraints:
    * C1: `base` is a finite number of at least 1.
    * C2: `fraction` is above 0 and at most 1.
    * C3: r is even and not 0.
    * C4: `factor` is finite and above 0.
    * C5: `documents` is a vector, and excludes `offset`.
    * C6: `frequencies` are r/2 finite numbers of at least 0.
    * C7: `magnitude` is finite and above 0, and 1 without `frequencies`.
    * C8: `length` is at least 1, and at least T if T is static and there are no documents.

    Example:
    ```mlir
    func.func @rotate(%q: tensor<?x8x?x64xf32>, %n: i32) -> tensor<?x8x?x64xf32> {
      %a = transformer.rotary %q : tensor<?x8x?x64xf32>
      %b = transformer.rotary %a offset(%n : i32) {base = 500000.0 : f64, fraction = 0.5 : f64} : tensor<?x8x?x64xf32>
      %c = transformer.rotary %b {fraction = 0.0625 : f64, frequencies = array<f64: 1.0, 0.125>, length = 4096 : i64, magnitude = 1.25 : f64} : tensor<?x8x?x64xf32>
      return %c : tensor<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Heads:$input, Optional<Transformer_OffsetOperand>:$offset, Optional<TensorOf<[I32]>>:$documents,
                       DefaultValuedAttr<F64Attr, "10000.0">:$base, DefaultValuedAttr<F64Attr, "1.0">:$fraction,
                       DefaultValuedAttr<F64Attr, "1.0">:$factor, OptionalAttr<DenseF64ArrayAttr>:$frequencies,
                       DefaultValuedAttr<F64Attr, "1.0">:$magnitude, OptionalAttr<I64Attr>:$length, UnitAttr:$inverse);
  let results = (outs Transformer_Heads:$result);
  let assemblyFormat = "$input (`offset` `(` $offset^ `:` type($offset) `)`)? (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict `:` type($input)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of features of a head that are rotated, starting with the first.
    int64_t getRotatedSize();
  }];
}

//===- Images ------------------------------------------------------------===//

def Transformer_PatchesOp : Transformer_InferredOp<"patches", [], ["inferShapes"]> {
  let summary = "an image as rows of patches";
  let description = [{
    The squares of `size` by `size` pixels of each image, row by row: `[B, C, h, w]` becomes
    `[B, h/p * w/p, C * p * p]`, with
    `result[b, y * (w/p) + x, (c * p + dy) * p + dx] = image[b, c, y * p + dy, x * p + dx]` and p =
    `size`.

    Constraints:
    * C1: `size` is positive and divides the height and the width of `image`.
    * C2: the result is `[B, h/p * w/p, C * p * p]`.

    Example:
    ```mlir
    func.func @cut(%x: tensor<?x3x32x32xf32>) -> tensor<?x16x192xf32> {
      %y = transformer.patches %x {size = 8 : i64} : tensor<?x3x32x32xf32> -> tensor<?x16x192xf32>
      return %y : tensor<?x16x192xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Images:$image, I64Attr:$size);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getImage()).clone(patchesShape(adaptor.getImage(), adaptor.getSize()))";
  let assemblyFormat = "$image attr-dict `:` type($image) `->` type($result)";
}

def Transformer_PatchEmbeddingOp : Transformer_InferredOp<"patch_embedding", [], ["inferShapes", "storageOf"]> {
  let summary = "one vector for each patch of an image";
  let description = [{
    Multiplies each patch of the image by one matrix: a convolution whose stride is its kernel size.
    `image` is `[B, C, h, w]`, `weight` is `[E, C, p, p]`, `bias` is `[E]`, and the result is
    `[B, h/p * w/p, E]`. The pass `lower-convolutions` rewrites the op to a `transformer.linear` of
    `transformer.patches`. Source: Dosovitskiy et al., An Image is Worth 16x16 Words, section 3.1.

    Constraints:
    * C1: the input channels of `weight` equal the channels of `image`.
    * C2: the kernels of `weight` are squares with a side that divides the height and the width of
      `image`.
    * C3: the size of `bias` equals the output channels of `weight`.
    * C4: the result is `[B, h/p * w/p, E]`.

    Example:
    ```mlir
    func.func @embed(%x: tensor<?x3x32x32xf32>, %w: tensor<64x3x8x8xf32>, %b: tensor<64xf32>) -> tensor<?x16x64xf32> {
      %y = transformer.patch_embedding %x, %w bias(%b) : (tensor<?x3x32x32xf32>, tensor<64x3x8x8xf32>, tensor<64xf32>) -> tensor<?x16x64xf32>
      return %y : tensor<?x16x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Images:$image, Transformer_PatchKernels:$weight, Optional<Transformer_Vector>:$bias);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getImage()).clone(patchesShape(adaptor.getImage(), adaptor.getWeight()))";
  let assemblyFormat = "$image `,` $weight (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)";
}

//===- Rows of frames ----------------------------------------------------===//

def Transformer_UnfoldOp : Transformer_InferredOp<"unfold", [], ["inferShapes"]> {
  let summary = "each row with its neighbors";
  let description = [{
    The matrix that a convolution over rows multiplies by its weight `[out, C, size]`. With `size`
    k, `stride` s and p = (k - 1) / 2 rows of zeros on both sides, `[B, T, C]` becomes
    `[B, (T - 1) / s + 1, C * k]`, `result[b, t, c * k + d] = input[b, s * t + d - p, c]`. With
    `channels_first`, the input is `[B, C, T]`, and the result is `input[b, c, s * t + d - p]`.

    Constraints:
    * C1: `input` has rank 3, and its sizes except the batch are static.
    * C2: `size` is odd and positive, `stride` is positive.
    * C3: the result is `[B, (T - 1) / s + 1, C * k]`.

    Example:
    ```mlir
    func.func @pairs(%x: tensor<?x30x16xf32>) -> tensor<?x15x48xf32> {
      %y = transformer.unfold %x {size = 3 : i64, stride = 2 : i64} : tensor<?x30x16xf32> -> tensor<?x15x48xf32>
      return %y : tensor<?x15x48xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, I64Attr:$size, DefaultValuedAttr<I64Attr, "1">:$stride, UnitAttr:$channels_first);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getInput()).clone(unfoldedShape(adaptor.getInput(), adaptor.getSize(), adaptor.getStride(), adaptor.getChannelsFirst()))";
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// Dimension of the input that holds the channels.
    int64_t getChannelDim() { return getChannelsFirst() ? 1 : 2; }
    /// Number of zero rows before the first row and after the last.
    int64_t getPadding() { return (static_cast<int64_t>(getSize()) - 1) / 2; }
  }];
}

//===- Rows in front -----------------------------------------------------===//

def Transformer_ConcatOp : Transformer_InferredOp<"concat", [], ["inferShapes", "takesWeight"]> {
  let summary = "prepends the same rows to every sequence";
  let description = [{
    `first` is `[R, E]`, for example a class token, `rows` is `[B, T, E]`, and the result is
    `[B, R + T, E]`: the rows of `first`, followed by the rows of `rows`.

    Constraints:
    * C1: `rows` has rank 3.
    * C2: the columns of `first` equal the features of `rows`.
    * C3: the result is `[B, R + T, E]`.

    Example:
    ```mlir
    func.func @token(%t: tensor<1x64xf32>, %x: tensor<?x16x64xf32>) -> tensor<?x17x64xf32> {
      %y = transformer.concat %t, %x : (tensor<1x64xf32>, tensor<?x16x64xf32>) -> tensor<?x17x64xf32>
      return %y : tensor<?x17x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Matrix:$first, Transformer_Activations:$rows);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getRows()).clone(concatShape(adaptor.getFirst(), adaptor.getRows()))";
  let assemblyFormat = "$first `,` $rows attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_EMBEDDINGOPS_TD
