//===- ExpertOps.td - Mixtures of experts ------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feed-forward blocks of which each row uses a few: the router, the block, and
// the ops to which the block is decomposed; gates of feed-forward blocks.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_EXPERTOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_EXPERTOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Numbers of experts, or places of rows: [K, N].
def Transformer_Choices : ConfinedType<2DTensorOf<[I32]>, [Transformer_Positive<"[0]">],
    "matrix of i32 whose first dimension is static and positive", "::mlir::RankedTensorType">;
/// Weights of the chosen experts: [K, N].
def Transformer_ChoiceWeights : ConfinedType<2DTensorOf<[F32]>, [Transformer_Positive<"[0]">],
    "matrix of f32 whose first dimension is static and positive", "::mlir::RankedTensorType">;

//===- Router ------------------------------------------------------------===//

def Transformer_RouterScore : I32EnumAttr<"RouterScore", "function of a router's logits", [
    I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"Sigmoid", 1, "sigmoid">,
    I32EnumAttrCase<"SparseMixer", 2, "sparse_mixer">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::transformer";
}

def Transformer_RouterScoreAttr : EnumAttr<Transformer_Dialect, Transformer_RouterScore, "router_score"> {
  let summary = "function of a router's logits";
  let description = [{
    * `softmax`: the softmax of a row over the experts
    * `sigmoid`: 1 / (1 + exp(-x)) of each logit
    * `sparse_mixer`: for each chosen expert, a softmax over the experts that are not chosen before it
      and whose logits are near its own
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Transformer_RouteOp : Transformer_Op<"route", [Pure, Transformer_ReducesRows, Transformer_RowsAlike], ["inferShapes"]> {
  let summary = "chooses the experts of each row";
  let description = [{
    Chooses K of the E experts for each of the N rows of `logits`, `[..., E]`. `experts` and
    `weights` are `[K, N]`: the numbers of the chosen experts of row n are column n of `experts`,
    ascending. N is the product of the leading dimensions of `logits`.

    The score of expert e is `score(logits)[e]`. The experts with the highest scores are chosen;
    with `correction`, `[E]`, those with the highest sums of score and correction. Among equal
    scores the lower number is chosen first. NaN is below all numbers.

    The weight of a chosen expert is its score, without the correction. With `normalise`, it is
    divided by the sum of the scores of the chosen experts, or by 1e-20 if the sum is less. It is
    multiplied by `scale`. A softmax over the chosen logits alone is `softmax` with `normalise`.

    With `groups`, the experts are divided into groups of consecutive numbers. Only experts of the
    `used_groups` groups with the highest scores can be chosen, among equal scores those of the lower
    groups. The score of a group is the sum of its two highest scores of experts, each with its
    correction, or its only score.

    With the score `sparse_mixer`, the experts with the highest logits are chosen. The weight of a
    chosen expert with logit m is its share in a softmax over some experts: those that are not chosen
    before it, and whose logit s satisfies `m - s <= 2 * jitter * max(abs(s), m)`. NaN is among them.

    Sources: Shazeer et al., Outrageously Large Neural Networks; Jiang et al., Mixtral of Experts;
    DeepSeek-AI, DeepSeek-V3 Technical Report (sigmoid, correction and groups); Liu et al.,
    GRIN: GRadient-INformed MoE (sparse mixer).

    Constraints:
    * C1: `count` is at least 1 and at most E.
    * C2: the size of `correction` is E.
    * C3: `experts` and `weights` are `[count, N]`.
    * C4: `scale` is finite and not 0.
    * C5: `groups` is at least 1, at most 64, and divides E. `used_groups` is at least 1 and at most
      `groups`. `count` is at most the number of experts in `used_groups` groups.
    * C6: `jitter` is finite and at least 0.
    * C7: a `sparse_mixer` has no `correction`, no `normalise` and one group.

    Example:
    ```mlir
    func.func @two_of_eight(%logits: tensor<?x?x8xf32>) -> tensor<2x?xf32> {
      %e, %w = transformer.route %logits {count = 2 : i64, normalise} : tensor<?x?x8xf32> -> tensor<2x?xi32>, tensor<2x?xf32>
      return %w : tensor<2x?xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$logits, Optional<Transformer_Vector>:$correction, I64Attr:$count,
                       DefaultValuedAttr<Transformer_RouterScoreAttr, "::heddle::transformer::RouterScore::Softmax">:$score,
                       UnitAttr:$normalise, DefaultValuedAttr<F32Attr, "1.0f">:$scale, DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<I64Attr, "1">:$used_groups, DefaultValuedAttr<F32Attr, "0.01f">:$jitter);
  let results = (outs Transformer_Choices:$experts, Transformer_ChoiceWeights:$weights);
  let assemblyFormat = [{
    $logits (`correction` `(` $correction^ `:` type($correction) `)`)? attr-dict `:` type($logits) `->` type($experts) `,` type($weights)
  }];
  let hasVerifier = 1;
}

//===- Gates -------------------------------------------------------------===//

def Transformer_GateOp : Transformer_Op<"gate", [Pure, AllTypesMatch<["gate", "input", "result"]>, Transformer_RowsAlike, Transformer_Differentiable], ["takesWeight"]> {
  let summary = "the hidden features of a gated block whose values are limited";
  let description = [{
    `result = activation(min(gate, limit)) * (max(-limit, min(input, limit)) + offset)` for each
    element. Without `limit`, neither operand is limited. NaN remains NaN. The pass `decompose-ffn`
    makes this op of a block with a limit or an offset. Source: OpenAI, gpt-oss-120b & gpt-oss-20b
    Model Card.

    Constraints:
    * C1: `limit` is finite and above 0, and `offset` is finite.

    Example:
    ```mlir
    func.func @hidden(%g: tensor<?x?x32xf32>, %u: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
      %y = transformer.gate %g, %u {activation = #transformer.activation<quick_gelu>, limit = 7.0 : f32, offset = 1.0 : f32}
         : tensor<?x?x32xf32>
      return %y : tensor<?x?x32xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$gate, Transformer_Activations:$input, Transformer_OptionalActivation:$activation,
                       OptionalAttr<F32Attr>:$limit, Transformer_Offset:$offset);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$gate `,` $input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

//===- The block ---------------------------------------------------------===//

def Transformer_ExpertsOp : Transformer_Op<"experts", [Pure, AttrSizedOperandSegments], ["storageOf", "limitValues"]> {
  let summary = "a feed-forward block of which each row uses a few experts";
  let description = [{
    `result[n] = sum_j weights[j, n] * block(experts[j, n], input[n])`, j ascending, each term
    added by a fused multiply-add from zero. `block(e, x)` is `transformer.ffn` with the weights of
    expert e. The order of the sum is ascending in the experts' numbers if `experts` are the result
    of `transformer.route`. No row depends on another row.

    `input` is `[..., K]`; its N rows are in the order of the columns of `experts` and `weights`.
    The matrices of all `count` experts are stacked: `in_weight` and `gate_weight` are `[count * F,
    K]`, and `out_weight` is `[count * M, F]`. Their biases are `[count * F]` and `[count * M]`. The
    result is `[..., M]`.

    The pass `decompose-ffn` rewrites the op: rows are copied in the order of their experts, and
    `transformer.linear` with `groups` multiplies the rows of each expert by its matrix.

    Constraints:
    * C1: the columns of `in_weight` equal the features of `input`.
    * C2: `count` is positive and divides the rows of `in_weight` and of `out_weight` into multiples
      of 16.
    * C3: the columns of `out_weight` equal the rows of `in_weight` of an expert.
    * C4: `gate_weight` has the shape of `in_weight`, and `gate_bias` requires `gate_weight`.
    * C5: the sizes of biases equal the rows of their matrices.
    * C6: `weights` have the shape of `experts`.
    * C7: the result has the shape of `input` with M features.
    * C8: `limit` is finite and above 0, and `offset` is finite. They require `gate_weight`.

    Example:
    ```mlir
    func.func @block(%x: tensor<?x?x8xf32>, %logits: tensor<?x?x4xf32>, %w1: tensor<128x8xf32>, %w2: tensor<64x32xf32>, %g: tensor<128x8xf32>) -> tensor<?x?x16xf32> {
      %e, %w = transformer.route %logits {count = 2 : i64, normalise} : tensor<?x?x4xf32> -> tensor<2x?xi32>, tensor<2x?xf32>
      %y = transformer.experts %x experts(%e, %w) in(%w1) out(%w2) gate(%g) {count = 4 : i64, activation = #transformer.activation<silu>}
         : (tensor<?x?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<128x8xf32>, tensor<64x32xf32>, tensor<128x8xf32>) -> tensor<?x?x16xf32>
      return %y : tensor<?x?x16xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_Choices:$experts, Transformer_ChoiceWeights:$weights,
                       Transformer_Matrix:$in_weight, Optional<Transformer_Vector>:$in_bias,
                       Transformer_Matrix:$out_weight, Optional<Transformer_Vector>:$out_bias,
                       Optional<Transformer_Matrix>:$gate_weight, Optional<Transformer_Vector>:$gate_bias,
                       I64Attr:$count, Transformer_OptionalActivation:$activation,
                       OptionalAttr<F32Attr>:$limit, Transformer_Offset:$offset);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = [{
    $input `experts` `(` $experts `,` $weights `)` `in` `(` $in_weight (`,` $in_bias^)? `)` `out` `(` $out_weight (`,` $out_bias^)? `)`
    (`gate` `(` $gate_weight^ (`,` $gate_bias^)? `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Rewrites the op to the ops below and to `linear` ops with groups.
    void decompose();
  }];
  let hasVerifier = 1;
}

//===- Ops of the decomposed block ---------------------------------------===//

def Transformer_ExpertCountsOp : Transformer_Op<"experts.counts", [Pure, Transformer_RowsAlike], ["inferShapes"]> {
  let summary = "the number of rows of each expert";
  let description = [{
    `counts[e]` is the number of elements of `experts`, `[K, N]`, that equal e. There are at most
    2^24 elements.

    Constraints:
    * C1: the result is a static vector, with one count for each expert.

    Example:
    ```mlir
    func.func @count(%e: tensor<2x?xi32>) -> tensor<8xi32> {
      %c = transformer.experts.counts %e : tensor<2x?xi32> -> tensor<8xi32>
      return %c : tensor<8xi32>
    }
    ```
  }];
  let arguments = (ins Transformer_Choices:$experts);
  let results = (outs Transformer_PerSequence:$counts);
  let assemblyFormat = "$experts attr-dict `:` type($experts) `->` type($counts)";
  let hasVerifier = 1;
}

def Transformer_ExpertStartsOp : Transformer_Op<"experts.starts", [Pure, Transformer_RowsAlike], ["inferShapes"]> {
  let summary = "the first rows of the experts that have rows";
  let description = [{
    Rows are in the order of their experts. `numbers` are the experts that have rows, ascending, and
    then the others. `starts[c]` is the first row of expert `numbers[c]`, and the number of all rows
    for experts without rows and for c = E.

    Constraints:
    * C1: `counts` are a static vector of E counts, `starts` are `[E + 1]` and `numbers` `[E]`.

    Example:
    ```mlir
    func.func @starts(%c: tensor<8xi32>) -> tensor<9xi32> {
      %s, %n = transformer.experts.starts %c : tensor<8xi32> -> tensor<9xi32>, tensor<8xi32>
      return %s : tensor<9xi32>
    }
    ```
  }];
  let arguments = (ins Transformer_PerSequence:$counts);
  let results = (outs Transformer_PerSequence:$starts, Transformer_PerSequence:$numbers);
  let assemblyFormat = "$counts attr-dict `:` type($counts) `->` type($starts) `,` type($numbers)";
  let hasVerifier = 1;
}

def Transformer_ExpertPlacesOp : Transformer_Op<"experts.places", [Pure, Transformer_RowsAlike, AllTypesMatch<["experts", "places"]>], ["inferShapes"]> {
  let summary = "the places of rows in the order of their experts";
  let description = [{
    `places[j, n]` is the number of elements of `experts`, `[K, N]`, that are less than
    `experts[j, n]`, or equal to it and before it in row-major order. There are at most 2^24 elements.

    Example:
    ```mlir
    func.func @places(%e: tensor<2x?xi32>) -> tensor<2x?xi32> {
      %p = transformer.experts.places %e : tensor<2x?xi32>
      return %p : tensor<2x?xi32>
    }
    ```
  }];
  let arguments = (ins Transformer_Choices:$experts);
  let results = (outs Transformer_Choices:$places);
  let assemblyFormat = "$experts attr-dict `:` type($experts)";
}

def Transformer_ExpertRowsOp : Transformer_Op<"experts.rows", [Pure, Transformer_RowsAlike], ["inferShapes"]> {
  let summary = "copies rows to the order of their experts";
  let description = [{
    `result[places[j, n]] = input[n]` for the N rows of `input`, `[..., K]`. The result is `[J * N,
    K]` for places `[J, N]`, which are a result of `transformer.experts.places`.

    Constraints:
    * C1: the result has rank 2 and the features of `input`.

    Example:
    ```mlir
    func.func @rows(%x: tensor<?x?x8xf32>, %e: tensor<2x?xi32>) -> tensor<?x8xf32> {
      %p = transformer.experts.places %e : tensor<2x?xi32>
      %r = transformer.experts.rows %x, %p : tensor<?x?x8xf32>, tensor<2x?xi32> -> tensor<?x8xf32>
      return %r : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_Choices:$places);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input `,` $places attr-dict `:` type($input) `,` type($places) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_ExpertSumOp : Transformer_Op<"experts.sum", [Pure, Transformer_RowsAlike], ["inferShapes", "countFlops"]> {
  let summary = "weighted sums of the rows of experts";
  let description = [{
    `result[n] = sum_j weights[j, n] * input[places[j, n]]`, j ascending, each term added by a fused
    multiply-add from zero. `input` is `[J * N, M]`, and the result has the leading dimensions of
    `like`, `[..., K]`, and M features.

    Constraints:
    * C1: `input` has rank 2.
    * C2: `weights` have the shape of `places`.
    * C3: the result has the shape of `like` with the features of `input`.

    Example:
    ```mlir
    func.func @sum(%x: tensor<?x?x8xf32>, %e: tensor<2x?xi32>, %w: tensor<2x?xf32>) -> tensor<?x?x8xf32> {
      %p = transformer.experts.places %e : tensor<2x?xi32>
      %r = transformer.experts.rows %x, %p : tensor<?x?x8xf32>, tensor<2x?xi32> -> tensor<?x8xf32>
      %y = transformer.experts.sum %r, %p, %w, %x : tensor<?x8xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<?x?x8xf32> -> tensor<?x?x8xf32>
      return %y : tensor<?x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_Choices:$places, Transformer_ChoiceWeights:$weights, Transformer_Activations:$like);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = [{
    $input `,` $places `,` $weights `,` $like attr-dict `:` type($input) `,` type($places) `,` type($weights) `,` type($like) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_EXPERTOPS_TD
