//===- AttentionOps.td - Attention -------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with masks, score rules and optional results, and the two ops that
// compute returned weights.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_ATTENTIONOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_ATTENTIONOPS_TD

include "heddle/Dialect/Transformer/IR/DropoutOps.td"
include "heddle/Dialect/Transformer/IR/WhereOps.td"

/// Base of the ops that compute scores.
class Transformer_ScoresOp<string mnemonic, list<Trait> traits, list<string> answers>
    : Transformer_Op<mnemonic, !listconcat([Pure, AttrSizedOperandSegments, Transformer_Contracts, Transformer_ScoresOpInterface], traits),
                     !listconcat(["storageOf", "takesWeight", "documentStarts", "limitValues"], answers)> {
  let extraClassDeclaration = [{
    /// Rules that change the scores, and sinks that join them.
    ::heddle::transformer::ScoreRules getRules() { return {getBias(), getSinks(), getKeyCounts(), getKeyScales(), getSoftcapAttr(), getHiddenScoreAttr()}; }
  }];
  let extraClassDefinition = [{
    ::heddle::transformer::OperandStorage $cppClass::storageOf(::mlir::OpOperand &operand) {
      return readInPanels(operand) ? OperandStorage::Panels : storageByRank(operand);
    }
    bool $cppClass::takesWeight(::mlir::OpOperand &operand) { return getSinks() == operand.get(); }
    void $cppClass::limitValues(::mlir::OpOperand &operand, ValueLimits &limits) {
      if (operand.get() == getKeyCounts())
        limits.addBelow(limits.shapes.of(getKey())[2] + 1);
    }
    ::mlir::Value $cppClass::documentStarts() {
      MaskDocumentsOp documents = packedDocumentsOf(getMask());
      return !documents ? ::mlir::Value() : rowsAreKeys() ? documents.getKeys() : documents.getQueries();
    }
  }];
  let hasVerifier = 1;
}

def Transformer_AttentionOp : Transformer_ScoresOp<"attention", [AttrSizedResultSegments, Transformer_Differentiable], ["inferShapes", "countFlops"]> {
  let summary = "softmax(scale * query * key) * value over the allowed keys";
  let description = [{
    For each sequence b, head h and query i, over the keys j that `mask` allows (without a mask, all
    keys), with g = h / (H / Hkv):

    ```
    score[j]  = scale * sum_d query[b, h, i, d] * key[b, g, j, d]
    score[j]  = softcap * tanh(score[j] / softcap)        with softcap
    score[j]  = score[j] + bias(b, h, i, j)               with a score rule
    lse       = log (sum_j exp(score[j]) + exp(sinks[h])) the sink only if present
    weight[j] = exp(score[j] - lse)
    output[b, h, i, :] = sum_j weight[j] * value[b, g, j, :]
    ```

    `query` is `[B, H, Tq, D]`, `key` is `[B, Hkv, Tk, D]`, `value` is `[B, Hkv, Tk, Dv]`, and
    `output` is `[B, H, Tq, Dv]`. The optional result `lse` is `[B, H, Tq]`. The optional result
    `weights` is `[B, H, Tq, Tk]`, or with `average_weights` its mean over heads, `[B, Tq, Tk]`.

    A row without an allowed key yields zeros: weights are zero, and `lse` is minus infinity or,
    with a sink, the sink. A score of minus infinity counts as masked. NaN or plus infinity at an
    allowed key makes the row NaN. Values at masked keys never reach a result. With `hidden_score`,
    no key is masked: a pair that `mask` hides has this number as its score, unless its bias is
    minus infinity.

    With `counts`, only the first `key_counts[b]` keys of sequence b exist, since a cache whose
    sequences differ in length has room for more. The other keys do not exist, whatever `mask` and
    `hidden_score` specify. A count below 0 or above Tk is an error of the call.

    Constraints:
    * C1: the batch of `key` and `value` equals that of `query`.
    * C2: the features of `key` equal those of `query`.
    * C3: the heads of `key` divide the heads of `query`.
    * C4: the heads of `value` equal those of `key`.
    * C5: the rows of `value` equal those of `key`.
    * C6: `output` is `[B, H, Tq, Dv]`.
    * C7: `lse` is `[B, H, Tq]`.
    * C8: `weights` is `[B, H, Tq, Tk]`, with `average_weights` `[B, Tq, Tk]`.
    * C9: `average_weights` requires the result `weights`.
    * C10: `mask` is the result of a mask op of the same block, and its tables fit B, H, Tq and Tk.
    * C11: `scale` is finite.
    * C12: `bias` is the result of a score rule of the same block, and its tables fit B, H, Tq and
      Tk.
    * C13: `sinks` has one number for each head.
    * C14: `softcap` is finite and positive.
    * C15: `hidden_score` is finite and requires a mask.
    * C16: packed documents (`mask.documents starts`) occur once, as a conjunct of the mask, with a
      batch of 1. They exclude `mask.dense`, `mask.blocks` and `bias.dense`.
    * C17: `mask.causal`, `mask.window`, `bias.alibi` and `bias.relative` require an explicit
      `offset` if the keys come from a state, or from a cache whose sequences differ in length.
      Sequences differ in length if there are `counts`, or if the mask contains `mask.lengths`,
      `mask.prefix` or a `mask.dense` with an entry for each sequence.
    * C18: `query` is f32 or bf16. `key` and `value` may have another type, in which they are
      stored. When read, they are converted to f32 and rounded to the type of `query`. With bf16,
      the weights are rounded to bf16 before they are multiplied with the values.
    * C19: `counts` has one number for each sequence, and excludes packed documents.
    * C20: `key` of i8 requires `key_scales`, `value` of i8 requires `value_scales`, and other types
      exclude them. There is one scale for each row, and the codes of a row represent
      `scale * code`, rounded to f32 (`transformer.cache.quantize`). Scales exclude packed
      documents.
    * C21: `dropout` is at least 0 and below 1. `key`, `examples` and `site` are given together, and
      require `dropout`. `examples` has one number for each sequence or document. `key` excludes the
      result `weights`.

    With `dropout`, weights are dropped before they are multiplied with the values, as in
    `transformer.dropout`: without `key` none, and with `key` the weight of query i and key j has the
    counter `(j / 64 * 16 + j mod 16, i, examples[b] * H + h, site)` and the word `j / 16 mod 4`,
    where i and j count within the sequence or document b.

    `kept` marks keys and values that sessions keep between calls, although this function computes
    them itself. `set-precision` rounds them like keys and values of a state, and removes the
    attribute.

    Example:
    ```mlir
    func.func @attend(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %v: tensor<?x2x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x?x?xf32>) {
      %m = transformer.mask.causal
      %o, %a = transformer.attention %q, %k, %v mask(%m) {average_weights, scale = 0.125 : f32}
         : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x8x?x64xf32> weights tensor<?x?x?xf32>
      return %o, %a : tensor<?x8x?x64xf32>, tensor<?x?x?xf32>
    }
    func.func @rules(%q: tensor<?x8x?x64xf32>, %sinks: tensor<8xf32>) -> tensor<?x8x?x64xf32> {
      %m = transformer.mask.causal
      %b = transformer.bias.alibi
      %o = transformer.attention %q, %q, %q mask(%m) bias(%b) sinks(%sinks : tensor<8xf32>) {hidden_score = -1.0e9 : f32, scale = 0.125 : f32, softcap = 50.0 : f32}
         : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
      return %o : tensor<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_ProductHeads:$query, Transformer_KeptHeads:$key, Transformer_KeptHeads:$value, Optional<Transformer_Mask>:$mask,
                       Optional<Transformer_Bias>:$bias, Optional<Transformer_Vector>:$sinks,
                       Optional<Transformer_PerSequence>:$key_counts, Optional<Transformer_HeadScales>:$key_scales,
                       Optional<Transformer_HeadScales>:$value_scales, Optional<Transformer_DropoutKey>:$dropout_key,
                       Optional<Transformer_PerSequence>:$examples, Optional<I32>:$site, F32Attr:$scale, OptionalAttr<F32Attr>:$softcap,
                       OptionalAttr<F32Attr>:$hidden_score, OptionalAttr<F32Attr>:$dropout, UnitAttr:$average_weights, UnitAttr:$kept);
  let results = (outs Transformer_Heads:$output, Optional<RankedTensorOf<[F32]>>:$lse, Optional<RankedTensorOf<[F32]>>:$weights);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` `(` $mask^ `)`)? (`bias` `(` $bias^ `)`)? (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`counts` `(` $key_counts^ `:` type($key_counts) `)`)?
    (`key_scales` `(` $key_scales^ `:` type($key_scales) `)`)? (`value_scales` `(` $value_scales^ `:` type($value_scales) `)`)?
    (`key` `(` $dropout_key^ `:` type($dropout_key) `)`)? (`examples` `(` $examples^ `:` type($examples) `)`)? (`site` `(` $site^ `)`)? attr-dict
    `:` `(` type($query) `,` type($key) `,` type($value) `)` `->` type($output) (`lse` type($lse)^)? (`weights` type($weights)^)?
  }];
  let builders = [
    // Infers the result types from the operands.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value, "::mlir::Value":$mask, "float":$scale,
                   CArg<"::heddle::transformer::WeightsResult", "::heddle::transformer::WeightsResult::None">:$weights,
                   CArg<"bool", "false">:$lse, CArg<"::heddle::transformer::ScoreRules", "{}">:$rules,
                   CArg<"::mlir::Value", "{}">:$valueScales)>];
  let hasCanonicalizer = 1;
}

//===- Attention weights, as the compiler computes them ------------------===//

def Transformer_AttentionStatisticsOp : Transformer_ScoresOp<"attention.statistics", [], ["inferShapes"]> {
  let summary = "the maximum and the sum of each row, in base 2";
  let description = [{
    `t[j]` is the score of `attention`, after soft-cap, bias and mask, times log2(e), over the
    allowed keys, and `n[j] = rint(t[j])`. Then `maximum = max_j n[j]` and
    `sum = sum_j 2^(t[j] - maximum)`, where a sink counts as one more key. A row without an allowed
    key and without a sink has maximum -2^120 and sum 0. `split-attention-weights` creates this op;
    models do not contain it.

    Constraints:
    * C1: `maximum` and `sum` are `[B, H, Tq]`.
    * C2: query, key, the mask and the rules fit, as in `attention` (C3, C10 to C20).

    Example:
    ```mlir
    func.func @statistics(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>) -> tensor<?x8x?xf32> {
      %m, %s = transformer.attention.statistics %q, %k {scale = 0.125 : f32} : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x8x?xf32>
      return %s : tensor<?x8x?xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_ProductHeads:$query, Transformer_KeptHeads:$key,
                       Optional<Transformer_Mask>:$mask, Optional<Transformer_Bias>:$bias, Optional<Transformer_Vector>:$sinks,
                       Optional<Transformer_PerSequence>:$key_counts, Optional<Transformer_HeadScales>:$key_scales, F32Attr:$scale,
                       OptionalAttr<F32Attr>:$softcap, OptionalAttr<F32Attr>:$hidden_score);
  let results = (outs 3DTensorOf<[F32]>:$maximum, 3DTensorOf<[F32]>:$sum);
  let assemblyFormat = [{
    $query `,` $key (`mask` `(` $mask^ `)`)? (`bias` `(` $bias^ `)`)? (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`counts` `(` $key_counts^ `:` type($key_counts) `)`)? (`key_scales` `(` $key_scales^ `:` type($key_scales) `)`)? attr-dict
    `:` `(` type($query) `,` type($key) `)` `->` custom<SameTypes>(type($maximum), type($sum))
  }];
  let builders = [
    // Builds the statistics of an attention, without its values.
    OpBuilder<(ins "::heddle::transformer::AttentionOp":$attention)>];
}

def Transformer_AttentionWeightsOp : Transformer_ScoresOp<"attention.weights", [], ["inferShapes", "countFlops"]> {
  let summary = "softmax weights from the statistics of a row";
  let description = [{
    `weights[b, h, i, j] = 2^(t[j] - maximum[b, h, i]) / sum[b, h, i]` at allowed keys, and 0 at
    other keys or if the sum is 0. With `average`, the result is the mean over heads, `[B, Tq, Tk]`.
    See `attention.statistics` for t.

    Constraints:
    * C1: `maximum` and `sum` are `[B, H, Tq]`.
    * C2: `weights` is `[B, H, Tq, Tk]`, with `average` `[B, Tq, Tk]`.
    * C3: query, key, the mask and the rules fit, as in `attention` (C3, C10 to C20).

    Example:
    ```mlir
    func.func @weights(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %m: tensor<?x8x?xf32>, %s: tensor<?x8x?xf32>) -> tensor<?x?x?xf32> {
      %w = transformer.attention.weights %q, %k, %m, %s {average, scale = 0.125 : f32}
         : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>) -> tensor<?x?x?xf32>
      return %w : tensor<?x?x?xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_ProductHeads:$query, Transformer_KeptHeads:$key, 3DTensorOf<[F32]>:$maximum, 3DTensorOf<[F32]>:$sum,
                       Optional<Transformer_Mask>:$mask, Optional<Transformer_Bias>:$bias, Optional<Transformer_Vector>:$sinks,
                       Optional<Transformer_PerSequence>:$key_counts, Optional<Transformer_HeadScales>:$key_scales, F32Attr:$scale,
                       OptionalAttr<F32Attr>:$softcap, OptionalAttr<F32Attr>:$hidden_score, UnitAttr:$average);
  let results = (outs RankedTensorOf<[F32]>:$weights);
  let assemblyFormat = [{
    $query `,` $key `,` $maximum `,` $sum (`mask` `(` $mask^ `)`)? (`bias` `(` $bias^ `)`)? (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`counts` `(` $key_counts^ `:` type($key_counts) `)`)? (`key_scales` `(` $key_scales^ `:` type($key_scales) `)`)? attr-dict
    `:` `(` type($query) `,` type($key) `,` type($maximum) `,` type($sum) `)` `->` type($weights)
  }];
  let builders = [
    // Builds the weights of an attention that returns them.
    OpBuilder<(ins "::heddle::transformer::AttentionOp":$attention, "::heddle::transformer::AttentionStatisticsOp":$statistics)>];
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_ATTENTIONOPS_TD
