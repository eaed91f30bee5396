//===- GradientOps.td - Gradients --------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the backward pass, which the pass `differentiate` creates. They compute
// the gradient of an op's input. Ops that add to the gradient of a weight are in
// WeightGradientOps.td.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_GRADIENTOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_GRADIENTOPS_TD

include "heddle/Dialect/Transformer/IR/AttentionOps.td"
include "heddle/Dialect/Transformer/IR/LossOps.td"

//===- Dropout -----------------------------------------------------------===//

def Transformer_RowNumbersOp : Transformer_Op<"row_numbers", [Pure], ["inferShapes", "documentStarts", "limitValues"]> {
  let summary = "the example and the position of each row";
  let description = [{
    `result[b, t] = (examples[b], t)` for the rows of `like`, `[B, T, E]`, and `result[b] =
    (examples[b], 0)` for `[B, E]`. With `documents`, the starts of packed documents, `examples` has
    a number for each document, and t counts within the document.

    Constraints:
    * C1: `like` has rank 2 or 3, with `documents` 3.
    * C2: the result has the shape of `like` with 2 features.

    Example:
    ```mlir
    func.func @number(%examples: tensor<?xi32>, %x: tensor<?x?x8xf32>) -> tensor<?x?x2xi32> {
      %r = transformer.row_numbers %examples, %x : tensor<?xi32>, tensor<?x?x8xf32> -> tensor<?x?x2xi32>
      return %r : tensor<?x?x2xi32>
    }
    ```
  }];
  let arguments = (ins Transformer_PerSequence:$examples, Transformer_Activations:$like, Optional<Transformer_Index>:$documents);
  let results = (outs Transformer_Index:$result);
  let assemblyFormat = [{
    $examples `,` $like (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict `:` type($examples) `,` type($like) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===- Gradients of products and elementwise functions -------------------===//

def Transformer_LinearTransposedOp : Transformer_InferredOp<"linear.transposed", [Transformer_Contracts, Transformer_RowsAlike],
                                                              ["countFlops", "storageOf"]> {
  let summary = "a matrix product over the rows of a weight";
  let description = [{
    `result[..., k] = sum_n input[..., n] * weight[n, k]`, n ascending. `input` is `[..., N]`,
    `weight` is `[N, K]`, and the result is `[..., K]`. This is the gradient of the input of a
    `transformer.linear` with the same weight.

    Constraints:
    * C1: the rows of `weight` equal the features of `input`.
    * C2: the result has the shape of `input` with K features.

    Example:
    ```mlir
    func.func @backward(%dy: tensor<?x?x32xf32>, %w: tensor<32x8xf32>) -> tensor<?x?x8xf32> {
      %dx = transformer.linear.transposed %dy, %w : (tensor<?x?x32xf32>, tensor<32x8xf32>) -> tensor<?x?x8xf32>
      return %dx : tensor<?x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_Matrix:$weight);
  let results = (outs Transformer_Activations:$result);
  let resultType = "withFeatures(adaptor.getInput(), dim(adaptor.getWeight(), 1))";
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Replaces the op by a linear with the transposed weight.
    void decompose();
  }];
}

def Transformer_TransposeOp : Transformer_InferredOp<"transpose", [], ["inferShapes", "storageOf", "takesWeight"]> {
  let summary = "the transposed matrix of a weight";
  let description = [{
    `result[k, n] = weight[n, k]`. The pass `split-linear-transposed` computes
    `transformer.linear.transposed` as a `transformer.linear` with the transposed matrix.

    Constraints:
    * C1: the result has the shape of `weight`, exchanged.

    Example:
    ```mlir
    func.func @transpose(%w: tensor<32x8xf32>) -> tensor<8x32xf32> {
      %t = transformer.transpose %w : tensor<32x8xf32> -> tensor<8x32xf32>
      return %t : tensor<8x32xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Matrix:$weight);
  let results = (outs Transformer_Matrix:$result);
  let resultType = "typeOf(adaptor.getWeight()).clone({dim(adaptor.getWeight(), 1), dim(adaptor.getWeight(), 0)})";
  let assemblyFormat = "$weight attr-dict `:` type($weight) `->` type($result)";
}

def Transformer_ActivationOp : Transformer_Op<"activate", [Pure, AllTypesMatch<["input", "result"]>, Transformer_RowsAlike,
                                                             Transformer_Differentiable]> {
  let summary = "an elementwise function";
  let description = [{
    `result = activation(input)` for each element. The pass `differentiate` separates the activation
    from a `transformer.linear` if its derivative is a function of the input alone.

    Example:
    ```mlir
    func.func @hidden(%u: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
      %y = transformer.activate %u {activation = #transformer.activation<gelu>} : tensor<?x?x32xf32>
      return %y : tensor<?x?x32xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_ActivationAttr:$activation);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Transformer_ActivationGradientOp : Transformer_Op<"activation.gradient", [Pure, AllTypesMatch<["gradient", "input", "result"]>, Transformer_RowsAlike]> {
  let summary = "the gradient of an elementwise function";
  let description = [{
    `result = gradient * activation'(input)` for each element. With `of_result`, the second operand
    is the result of the activation instead of its input, and the derivative is a function of it.
    The derivative of `relu` and `relu6` is 0 where the function has none; that of `hard_swish` is 0
    at -3 and 1 at 3.

    Constraints:
    * C1: `of_result` requires `none`, `relu`, `relu6`, `tanh` or `sigmoid`.

    Example:
    ```mlir
    func.func @backward(%dy: tensor<?x?x32xf32>, %y: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
      %du = transformer.activation.gradient %dy, %y {activation = #transformer.activation<relu>, of_result} : tensor<?x?x32xf32>
      return %du : tensor<?x?x32xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$gradient, Transformer_Activations:$input, Transformer_ActivationAttr:$activation, UnitAttr:$of_result);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$gradient `,` $input attr-dict `:` type($gradient)";
  let hasVerifier = 1;
}

def Transformer_GateGradientOp : Transformer_Op<"gate.gradient", [Pure, AllTypesMatch<["gradient", "gate", "input", "result"]>, Transformer_RowsAlike]> {
  let summary = "the gradient of gate for one of its operands";
  let description = [{
    With `g = min(gate, limit)` and `u = max(-limit, min(input, limit))`, the result is
    `gradient * activation(g)` for each element of `input`. With `of_gate`, it is
    `gradient * activation'(g) * (u + offset)` for each element of `gate`. An element beyond the limit
    has gradient 0. Attributes are those of `transformer.gate`, and the derivatives of activations
    those of `transformer.activation.gradient`.

    Constraints:
    * C1: `limit` is finite and above 0, and `offset` is finite.

    Example:
    ```mlir
    func.func @backward(%dy: tensor<?x?x32xf32>, %g: tensor<?x?x32xf32>, %u: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
      %dg = transformer.gate.gradient %dy, %g, %u {activation = #transformer.activation<silu>, limit = 7.0 : f32, of_gate} : tensor<?x?x32xf32>
      return %dg : tensor<?x?x32xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$gradient, Transformer_Activations:$gate, Transformer_Activations:$input,
                       Transformer_OptionalActivation:$activation, OptionalAttr<F32Attr>:$limit, Transformer_Offset:$offset, UnitAttr:$of_gate);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$gradient `,` $gate `,` $input attr-dict `:` type($gradient)";
  let hasVerifier = 1;
}

def Transformer_SoftcapGradientOp : Transformer_Op<"softcap.gradient", [Pure, AllTypesMatch<["gradient", "capped", "result"]>, Transformer_RowsAlike]> {
  let summary = "the gradient of softcap";
  let description = [{
    `result = gradient * (1 - (capped / cap)^2)` for each element, where `capped` is the result of
    `transformer.softcap`.

    Constraints:
    * C1: `cap` is finite and above 0.

    Example:
    ```mlir
    func.func @backward(%dy: tensor<?x?x1000xf32>, %y: tensor<?x?x1000xf32>) -> tensor<?x?x1000xf32> {
      %dx = transformer.softcap.gradient %dy, %y {cap = 30.0 : f32} : tensor<?x?x1000xf32>
      return %dx : tensor<?x?x1000xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$gradient, Transformer_Activations:$capped, F32Attr:$cap);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$gradient `,` $capped attr-dict `:` type($gradient)";
  let hasVerifier = 1;
}

//===- Gradients of rows -------------------------------------------------===//

def Transformer_Normalization : I32EnumAttr<"Normalization", "a normalization of rows", [
    I32EnumAttrCase<"Layer", 0, "layer">, I32EnumAttrCase<"Variance", 1, "variance">,
    I32EnumAttrCase<"RootMeanSquare", 2, "root_mean_square">, I32EnumAttrCase<"Length", 3, "length">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::transformer";
}

def Transformer_NormalizationAttr : EnumAttr<Transformer_Dialect, Transformer_Normalization, "normalization"> {
  let summary = "a normalization of rows";
  let description = [{
    * `layer`: `layer_norm`
    * `variance`: `layer_norm` with `root = false`
    * `root_mean_square`: `rms_norm`
    * `length`: `normalize`
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Transformer_NormGradientOp : Transformer_Op<"norm.gradient", [Pure, Transformer_ReducesRows, Transformer_RowsAlike, AllTypesMatch<["gradient", "input", "result"]>]> {
  let summary = "the gradient of a norm";
  let description = [{
    `result` is the gradient of the input of a norm, and `scaled` is the product of `gradient` and
    the normalized rows, which `transformer.gradient.columns` sums to the gradient of gamma. With
    x the normalized row before gamma is applied, f its factor and g = gradient * gamma, for E
    features:

    * `layer`: `result = f * (g - mean(g) - x * mean(g * x))`
    * `variance`: `result = f * (g - mean(g) - 2 * x * mean(g * x / f))`
    * `root_mean_square`: `result = f * (g - x * mean(g * x))`
    * `length`: `result = f * (g - x * sum(g * x))`, without the second term if the length is not
      above `epsilon`

    Constraints:
    * C1: `gamma` is `[E]`, or `[H, E]` if `input` is `[B, H, T, E]`. `length` excludes it.
    * C2: `epsilon` is finite and not negative.

    Example:
    ```mlir
    func.func @backward(%dy: tensor<?x?x512xf32>, %x: tensor<?x?x512xf32>, %gamma: tensor<512xf32>) -> tensor<?x?x512xf32> {
      %dx, %scaled = transformer.norm.gradient %dy, %x gamma(%gamma : tensor<512xf32>) {epsilon = 1.0e-5 : f32, kind = #transformer.normalization<layer>} : tensor<?x?x512xf32>
      transformer.gradient.columns "norm.weight", %scaled : tensor<?x?x512xf32>
      return %dx : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$gradient, Transformer_Activations:$input, Optional<Transformer_NormWeights>:$gamma,
                       F32Attr:$epsilon, Transformer_NormalizationAttr:$kind);
  let results = (outs Transformer_Activations:$result, Transformer_Activations:$scaled);
  let assemblyFormat = [{
    $gradient `,` $input (`gamma` `(` $gamma^ `:` type($gamma) `)`)? attr-dict `:` custom<SameTypes>(type($gradient), type($scaled))
  }];
  let hasVerifier = 1;
}

def Transformer_PoolGradientOp : Transformer_Op<"pool.gradient", [Pure, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>, Transformer_ReducesRows],
                                                ["inferShapes", "countFlops", "limitValues"]> {
  let summary = "the gradient of pool";
  let description = [{
    The gradient of the input of `transformer.pool`, whose other operands and attributes it has.
    Rows that do not count have the gradient 0. The gradient of the kind `max` belongs to the first
    row with the largest value.

    Constraints:
    * C1: `gradient` has the shape of the result of the pooling.

    Example:
    ```mlir
    func.func @backward(%dy: tensor<?x512xf32>, %x: tensor<?x?x512xf32>, %lengths: tensor<?xi32>) -> tensor<?x?x512xf32> {
      %dx = transformer.pool.gradient %dy, %x lengths(%lengths : tensor<?xi32>) {kinds = [#transformer.pooling<mean>]} : tensor<?x512xf32>, tensor<?x?x512xf32>
      return %dx : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$gradient, Transformer_Activations:$input, Optional<Transformer_Index>:$lengths,
                       Optional<Transformer_Index>:$documents, TypedArrayAttrBase<Transformer_PoolingAttr, "list of poolings">:$kinds);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = [{
    $gradient `,` $input (`lengths` `(` $lengths^ `:` type($lengths) `)`)? (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict
    `:` type($gradient) `,` type($input)
  }];
  let hasVerifier = 1;
}

//===- The loss ----------------------------------------------------------===//

def Transformer_CrossEntropyGradientOp : Transformer_Op<"cross_entropy.gradient", [Pure, Transformer_ReducesRows, Transformer_RowsAlike, AllTypesMatch<["logits", "gradient"]>],
                                                        ["limitValues"]> {
  let summary = "the gradient of the summed losses of rows, and the losses";
  let description = [{
    `gradient[m, :] = softmax(logits[m, :]) - target[m, :]`, where `target` is the distribution that
    `transformer.cross_entropy` defines for the id of the row. A row whose id is `padding_id` has
    the gradient 0. This is the gradient of the sum of the losses, not of their mean: an update
    divides by the number of rows that count. `rows` holds the loss of each row and 1, or 0 and 0 if
    its id is `padding_id`.

    Constraints:
    * C1: `ids` has the shape of `logits` without the last dimension.
    * C2: `padding_id` is a column of `logits`.
    * C3: `rows` has the shape of `logits` with 2 features.
    * C4: `smoothing` is at least 0 and below 1. `others_but_padding` requires `padding_id`.

    Example:
    ```mlir
    func.func @gradient(%logits: tensor<?x?x1000xf32>, %ids: tensor<?x?xi32>) -> (tensor<?x?x1000xf32>, tensor<?x?x2xf32>) {
      %g, %r = transformer.cross_entropy.gradient %logits, %ids {padding_id = 0 : i64, smoothing = 0.1 : f32}
        : tensor<?x?x1000xf32>, tensor<?x?xi32> -> tensor<?x?x2xf32>
      return %g, %r : tensor<?x?x1000xf32>, tensor<?x?x2xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$logits, Transformer_Index:$ids, OptionalAttr<I64Attr>:$padding_id,
                       Transformer_Smoothing:$smoothing, Transformer_Over:$over);
  let results = (outs Transformer_Activations:$gradient, Transformer_Activations:$rows);
  let assemblyFormat = "$logits `,` $ids attr-dict `:` type($logits) `,` type($ids) `->` type($rows)";
  let hasVerifier = 1;
}

def Transformer_CrossEntropySumOp : Transformer_Op<"cross_entropy.sum", [Pure, Transformer_ReducesRows, Transformer_RowsAlike], ["countFlops"]> {
  let summary = "the sum of the losses of rows, and their number";
  let description = [{
    The sums of both columns of `rows`, the losses of `transformer.cross_entropy.gradient`.

    Constraints:
    * C1: `rows` has 2 features.
    * C2: each result is one number.

    Example:
    ```mlir
    func.func @sum(%losses: tensor<?x?x2xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
      %l, %n = transformer.cross_entropy.sum %losses : tensor<?x?x2xf32> -> tensor<1xf32>
      return %l, %n : tensor<1xf32>, tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$rows);
  let results = (outs 1DTensorOf<[F32]>:$sum, 1DTensorOf<[F32]>:$count);
  let assemblyFormat = "$rows attr-dict `:` type($rows) `->` custom<SameTypes>(type($sum), type($count))";
  let hasVerifier = 1;
}

//===- Attention ---------------------------------------------------------===//

/// Base of the gradients of attention, without sinks, counts of keys and codes. The operands `rows`
/// repeat the operands that kernels read both in panels and as rows; `group-kernels` adds them.
class Transformer_AttentionGradient<string mnemonic, string roles> : Transformer_ScoresOp<mnemonic, [], ["inferShapes", "countFlops"]> {
  let extraClassDeclaration = roles # [{
    void addRows();
    // Attentions with these rules have no derivative.
    ::mlir::Value getSinks() { return {}; }
    ::mlir::Value getKeyCounts() { return {}; }
    ::mlir::Value getKeyScales() { return {}; }
    /// Rules that change the scores.
    ::heddle::transformer::ScoreRules getRules() { return {getBias(), {}, {}, {}, getSoftcapAttr(), getHiddenScoreAttr()}; }
  }];
}

def Transformer_AttentionQueryGradientOp : Transformer_AttentionGradient<"attention.query_gradient", [{
    bool readsInPanels(::mlir::OpOperand &operand) { return &operand == &getKeyMutable() || &operand == &getValueMutable(); }
  }]> {
  let summary = "the gradient of the queries of an attention";
  let description = [{
    With p the weights of the attention, which are computed from `maximum` and `sum` as in
    `attention.weights`, `gradient` dO the gradient of its output O, and g = h / (H / Hkv):

    ```
    delta[i]           = sum_d dO[b, h, i, d] * O[b, h, i, d]
    dP[i, j]           = sum_d dO[b, h, i, d] * value[b, g, j, d]
    dS[i, j]           = p[i, j] * (dP[i, j] - delta[i])
    result[b, h, i, :] = scale * sum_j dS[i, j] * key[b, g, j, :]
    ```

    With `dropout` and `key`, dP is 0 at weights that `attention` drops, and others are multiplied by
    `1 / (1 - dropout)`. With `softcap`, dS is multiplied by the derivative of the cap, `1 - (s / softcap)^2` for a score
    s before bias and mask. With `hidden_score`, dS is 0 at pairs that the mask hides. `delta` is
    `[B, H, Tq]`, and is an operand of `attention.key_gradient`.

    Constraints:
    * C1: `gradient` and `output` are `[B, H, Tq, Dv]`.
    * C2: `maximum`, `sum` and `delta` are `[B, H, Tq]`.
    * C3: query, key, value, the mask and the rules fit, as in `attention` (C3, C10 to C17).
    * C4: `rows`, which `group-kernels` adds, repeat `key`.

    Example:
    ```mlir
    func.func @backward(%q: tensor<?x8x?x64xf32>, %do: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
      %m = transformer.mask.causal
      %x, %s = transformer.attention.statistics %q, %q mask(%m) {scale = 0.125 : f32} : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?xf32>
      %dq, %delta = transformer.attention.query_gradient %q, %q, %q, %do, %o, %x, %s mask(%m) {scale = 0.125 : f32}
         : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
      return %dq : tensor<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Heads:$query, Transformer_Heads:$key, Transformer_Heads:$value, Transformer_Heads:$gradient,
                       Transformer_Heads:$output, 3DTensorOf<[F32]>:$maximum, 3DTensorOf<[F32]>:$sum,
                       Optional<Transformer_Mask>:$mask, Optional<Transformer_Bias>:$bias, Optional<Transformer_DropoutKey>:$dropout_key,
                       Optional<Transformer_PerSequence>:$examples, Optional<I32>:$site, Variadic<Transformer_Heads>:$rows, F32Attr:$scale,
                       OptionalAttr<F32Attr>:$softcap, OptionalAttr<F32Attr>:$hidden_score, OptionalAttr<F32Attr>:$dropout);
  let results = (outs Transformer_Heads:$result, 3DTensorOf<[F32]>:$delta);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $gradient `,` $output `,` $maximum `,` $sum (`mask` `(` $mask^ `)`)? (`bias` `(` $bias^ `)`)?
    (`key` `(` $dropout_key^ `:` type($dropout_key) `)`)? (`examples` `(` $examples^ `:` type($examples) `)`)? (`site` `(` $site^ `)`)?
    (`rows` `(` $rows^ `:` type($rows) `)`)? attr-dict
    `:` `(` type($query) `,` type($key) `,` type($value) `,` type($gradient) `,` type($output) `,` custom<SameTypes>(type($maximum), type($sum)) `)`
    `->` `(` type($result) `,` type($delta) `)`
  }];
  let builders = [
    OpBuilder<(ins "::heddle::transformer::AttentionOp":$attention, "::mlir::Value":$gradient, "::heddle::transformer::AttentionStatisticsOp":$statistics)>];
}

def Transformer_AttentionKeyGradientOp : Transformer_AttentionGradient<"attention.key_gradient", [{
    bool rowsAreKeys() { return true; }
    bool readsInPanels(::mlir::OpOperand &operand) { return &operand == &getQueryMutable() || &operand == &getGradientMutable(); }
  }]> {
  let summary = "the gradients of the keys and values of an attention";
  let description = [{
    With p and dS as in `attention.query_gradient`, and the sums over the queries i of all heads h
    that share the keys g, heads and queries ascending:

    ```
    key_gradient[b, g, j, :]   = scale * sum_h sum_i dS[i, j] * query[b, h, i, :]
    value_gradient[b, g, j, :] = sum_h sum_i p[i, j] * gradient[b, h, i, :]
    ```

    With `dropout` and `key`, the weights of the second sum are dropped as in `attention`.

    Constraints:
    * C1: `gradient` is `[B, H, Tq, Dv]`.
    * C2: `maximum`, `sum` and `delta` are `[B, H, Tq]`.
    * C3: query, key, value, the mask and the rules fit, as in `attention` (C3, C10 to C17).
    * C4: `rows`, which `group-kernels` adds, repeat `query` and `gradient`.

    Example:
    ```mlir
    func.func @backward(%q: tensor<?x8x?x64xf32>, %do: tensor<?x8x?x64xf32>, %x: tensor<?x8x?xf32>, %s: tensor<?x8x?xf32>, %delta: tensor<?x8x?xf32>) -> tensor<?x8x?x64xf32> {
      %dk, %dv = transformer.attention.key_gradient %q, %q, %q, %do, %x, %s, %delta {scale = 0.125 : f32}
         : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>)
      return %dk : tensor<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Heads:$query, Transformer_Heads:$key, Transformer_Heads:$value, Transformer_Heads:$gradient,
                       3DTensorOf<[F32]>:$maximum, 3DTensorOf<[F32]>:$sum, 3DTensorOf<[F32]>:$delta,
                       Optional<Transformer_Mask>:$mask, Optional<Transformer_Bias>:$bias, Optional<Transformer_DropoutKey>:$dropout_key,
                       Optional<Transformer_PerSequence>:$examples, Optional<I32>:$site, Variadic<Transformer_Heads>:$rows, F32Attr:$scale,
                       OptionalAttr<F32Attr>:$softcap, OptionalAttr<F32Attr>:$hidden_score, OptionalAttr<F32Attr>:$dropout);
  let results = (outs Transformer_Heads:$key_gradient, Transformer_Heads:$value_gradient);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $gradient `,` $maximum `,` $sum `,` $delta (`mask` `(` $mask^ `)`)? (`bias` `(` $bias^ `)`)?
    (`key` `(` $dropout_key^ `:` type($dropout_key) `)`)? (`examples` `(` $examples^ `:` type($examples) `)`)? (`site` `(` $site^ `)`)?
    (`rows` `(` $rows^ `:` type($rows) `)`)? attr-dict
    `:` `(` type($query) `,` type($key) `,` type($value) `,` type($gradient) `,` custom<SameTypes>(type($maximum), type($sum)) `,` type($delta) `)`
    `->` `(` type($key_gradient) `,` type($value_gradient) `)`
  }];
  let builders = [
    OpBuilder<(ins "::heddle::transformer::AttentionOp":$attention, "::mlir::Value":$gradient,
                   "::heddle::transformer::AttentionStatisticsOp":$statistics, "::mlir::Value":$delta)>];
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_GRADIENTOPS_TD
