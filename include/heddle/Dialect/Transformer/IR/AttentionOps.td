//===- AttentionOps.td - Attention -------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with masks, score rules and optional results, and the two ops that
// compute returned weights.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_ATTENTIONOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_ATTENTIONOPS_TD

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
      return readAsKeys(operand) ? OperandStorage::Panels : storageByRank(operand);
    }
    bool $cppClass::takesWeight(::mlir::OpOperand &operand) { return getSinks() == operand.get(); }
    void $cppClass::limitValues(::mlir::OpOperand &operand, ValueLimits &limits) {
      if (operand.get() == getKeyCounts())
        limits.addBelow(limits.shapes.of(getKey())[2] + 1);
    }
    ::mlir::Value $cppClass::documentStarts() {
      MaskDocumentsOp documents = packedDocumentsOf(getMask());
      return documents ? documents.getQueries() : ::mlir::Value();
    }
  }];
  let hasVerifier = 1;
}

def Transformer_AttentionOp : Transformer_ScoresOp<"attention", [AttrSizedResultSegments], ["inferShapes", "countFlops"]> {
  let summary = "softmax(scale * query * key) * value over the allowed keys";
  let description = [{
    For each sequence b, head h and query i, over the keys j that `mask` allows (all, without one), with g = h / (H / Hkv):

    ```
    score[j]  = scale * sum_d query[b, h, i, d] * key[b, g, j, d]
    score[j]  = softcap * tanh(score[j] / softcap)        with softcap
    score[j]  = score[j] + bias(b, h, i, j)               with a score rule
    lse       = log (sum_j exp(score[j]) + exp(sinks[h])) the sink only if there is one
    weight[j] = exp(score[j] - lse)
    output[b, h, i, :] = sum_j weight[j] * value[b, g, j, :]
    ```

    `query` is `[B, H, Tq, D]`, `key` `[B, Hkv, Tk, D]`, `value` `[B, Hkv, Tk, Dv]`, `output` `[B, H, Tq, Dv]`. The optional
    result `lse` is `[B, H, Tq]`; `weights` is `[B, H, Tq, Tk]`, or with `average_weights` their mean over heads,
    `[B, Tq, Tk]`.

    A row without an allowed key gives zeros (weights zero, lse minus infinity; with a sink, the sink). A score of minus infinity counts as masked; a
    NaN or plus infinity at an allowed key makes the row NaN. Values at masked keys never reach a result. With `hidden_score` no key is masked: a pair
    that `mask` hides has that number as its score, unless its bias is minus infinity. With `counts` only the first `key_counts[b]` keys of sequence b
    exist: a cache whose sequences differ in length has room for more. Others are no keys at all, whatever `mask` and
    `hidden_score` say. A count below 0 or above Tk is an error of the call.

    Constraints:
    * C1: the batch of `key` and `value` equals that of `query`.
    * C2: the features of `key` equal those of `query`.
    * C3: the heads of `key` divide the heads of `query`.
    * C4: the heads of `value` equal those of `key`.
    * C5: the rows of `value` equal those of `key`.
    * C6: `output` is `[B, H, Tq, Dv]`.
    * C7: `lse` is `[B, H, Tq]`.
    * C8: `weights` is `[B, H, Tq, Tk]`, with `average_weights` `[B, Tq, Tk]`.
    * C9: `average_weights` needs the result `weights`.
    * C10: `mask` is made by a mask op of the same block, and its tables fit B, H, Tq and Tk.
    * C11: `scale` is finite.
    * C12: `bias` is made by a score rule of the same block, and its tables fit B, H, Tq and Tk.
    * C13: `sinks` has one number a head.
    * C14: `softcap` is finite and positive.
    * C15: `hidden_score` is finite, and stands beside a mask.
    * C16: packed documents (`mask.documents starts`) stand as a conjunct of the mask, once, with a batch of 1, and without `mask.dense`,
      `mask.blocks` and `bias.dense` beside them.
    * C17: keys from a state, or from a cache whose sequences differ in length (`counts` tells it, or the mask holds `mask.lengths`, `mask.prefix` or a
      `mask.dense` of each sequence), need an explicit `offset` on `mask.causal`, `mask.window`, `bias.alibi` and `bias.relative`.
    * C18: `query` is f32 or bf16; `key` and `value` may have another type, in which they are kept. As they enter the products they become f32 and are
      rounded to the type of `query`. With bf16, the weights are rounded to it too before they meet the values.
    * C19: `counts` has one number a sequence, and stands beside no packed documents.
    * C20: `key_scales` stand beside `key` of i8, `value_scales` beside `value` of i8, and beside no others: one number for each row. The codes of a
      row stand for `scale * code`, rounded to f32 (`transformer.cache.quantize`). They stand beside no packed documents.

    `kept` says that sessions keep these keys and values between calls, although this function computes them anew: `set-precision` rounds them as it
    does those of a state, and takes the attribute away.

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
                       Optional<Transformer_HeadScales>:$value_scales, F32Attr:$scale, OptionalAttr<F32Attr>:$softcap,
                       OptionalAttr<F32Attr>:$hidden_score, UnitAttr:$average_weights, UnitAttr:$kept);
  let results = (outs Transformer_Heads:$output, Optional<RankedTensorOf<[F32]>>:$lse, Optional<RankedTensorOf<[F32]>>:$weights);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` `(` $mask^ `)`)? (`bias` `(` $bias^ `)`)? (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`counts` `(` $key_counts^ `:` type($key_counts) `)`)?
    (`key_scales` `(` $key_scales^ `:` type($key_scales) `)`)? (`value_scales` `(` $value_scales^ `:` type($value_scales) `)`)? attr-dict
    `:` `(` type($query) `,` type($key) `,` type($value) `)` `->` type($output) (`lse` type($lse)^)? (`weights` type($weights)^)?
  }];
  let builders = [
    // Result types follow from the operands; weights: 0 none, 1 a head, 2 averaged.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value, "::mlir::Value":$mask, "float":$scale,
                   CArg<"::heddle::transformer::WeightsResult", "::heddle::transformer::WeightsResult::None">:$weights,
                   CArg<"bool", "false">:$lse, CArg<"::heddle::transformer::ScoreRules", "{}">:$rules,
                   CArg<"::mlir::Value", "{}">:$valueScales)>];
  let hasCanonicalizer = 1;
}

//===- Attention weights, as the compiler computes them ------------------===//

def Transformer_AttentionStatisticsOp : Transformer_ScoresOp<"attention.statistics", [], ["inferShapes"]> {
  let summary = "each row's maximum and sum, in base 2";
  let description = [{
    With `t[j]` the scores of `attention`, after soft-cap, bias and mask, times log2(e), over the allowed keys, and `n[j] = rint(t[j])`:
    `maximum = max_j n[j]` and `sum = sum_j 2^(t[j] - maximum)`, the sink counted as one more key. A row without an allowed key (or sink) has maximum
    -2^120 and sum 0.
    `split-attention-weights` makes this op; models do not write it.

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
  let summary = "softmax weights from a row's statistics";
  let description = [{
    `weights[b, h, i, j] = 2^(t[j] - maximum[b, h, i]) / sum[b, h, i]` at allowed keys, 0 elsewhere and where the sum is 0; with `average` the
    mean over heads, `[B, Tq, Tk]`. See `attention.statistics` for t.

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
