//===- BiasOps.td - Score rules ----------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Score rules. Each returns a number for (batch b, head h, query i, key j),
// which attention adds to the score. The score rule that is a formula is in
// WhereOps.td.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_BIASOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_BIASOPS_TD

include "heddle/Dialect/Transformer/IR/MaskOps.td"

class Transformer_BiasOp<string mnemonic, string name, list<Trait> traits = [], list<string> answers = []>
    : Transformer_Op<"bias." # mnemonic, !listconcat(traits, [Pure, Transformer_StaysInBlock,
          DeclareOpInterfaceMethods<BiasOpInterface>,
          DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]), answers> {
  let results = (outs Transformer_Bias:$result);
  let extraClassDefinition = Transformer_ResultName<name>.definition;
}

def Transformer_BiasAlibiOp : Transformer_BiasOp<"alibi", "alibi"> {
  let summary = "a penalty for distance, with a slope for each head";
  let description = [{
    `-slope[h] * |j - (i + offset)|`, with the `offset` of `mask.causal`. If H is a power of two,
    `slope[h] = factor * 2^(-8 (h + 1) / H)`. Otherwise, with P the largest power of two below H,
    the first P slopes are the slopes of P heads, and the others are slopes 0, 2, 4, ... of 2 P
    heads. `factor`, 1 by default, is for models that scale scores after the rule (Falcon).

    Constraints:
    * C1: the result is used by score rules and attention of the same block.
    * C2: a static size of `offset` equals the batch of the attention that uses the rule.
    * C3: `factor` is finite and above 0.

    Example:
    ```mlir
    func.func @alibi(%x: tensor<?x8x?x8xf32>) -> tensor<?x8x?x8xf32> {
      %s = transformer.bias.alibi
      %y = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32}
         : (tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>) -> tensor<?x8x?x8xf32>
      return %y : tensor<?x8x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Optional<Transformer_OffsetOperand>:$offset, DefaultValuedAttr<F32Attr, "1.0f">:$factor);
  let assemblyFormat = "(`offset` `(` $offset^ `:` type($offset) `)`)? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::Value());">];
  let hasVerifier = 1;
}

def Transformer_BiasRelativeOp : Transformer_BiasOp<"relative", "relative", [], ["takesWeight"]> {
  let summary = "a learned bias for each bucket of distances";
  let description = [{
    `table[bucket(j - (i + offset)), h]` with the buckets of T5 and the `offset` of `mask.causal`.
    `table` is `[N, H]`. One-directional: with d the backward distance `max(0, i + offset - j)` and
    E = N / 2, `bucket = d` if `d < E`, otherwise
    `min(N - 1, E + floor(log(d / E) / log(max_distance / E) * (N - E)))`, computed in f32.
    `bidirectional` uses N / 2 buckets for keys up to the query and N / 2 for keys after it: n = N /
    2 replaces N, d = |j - (i + offset)|, and n is added to the bucket if the key is after the
    query.

    Constraints:
    * C1: the result is used by score rules and attention of the same block.
    * C2: the columns of `table` equal the heads of the attention that uses the rule.
    * C3: `table` has at least 2 rows; with `bidirectional` an even number of at least 4.
    * C4: `max_distance` is above E and below 2^30.
    * C5: a static size of `offset` equals the batch of the attention that uses the rule.

    Example:
    ```mlir
    func.func @relative(%x: tensor<?x8x?x8xf32>, %table: tensor<32x8xf32>) -> tensor<?x8x?x8xf32> {
      %s = transformer.bias.relative %table max_distance = 128 {bidirectional} : tensor<32x8xf32>
      %y = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32}
         : (tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>) -> tensor<?x8x?x8xf32>
      return %y : tensor<?x8x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Matrix:$table, I64Attr:$max_distance, Optional<Transformer_OffsetOperand>:$offset, UnitAttr:$bidirectional);
  let assemblyFormat = "$table `max_distance` `=` $max_distance (`offset` `(` $offset^ `:` type($offset) `)`)? attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Transformer_BiasDenseOp : Transformer_BiasOp<"dense", "table"> {
  let summary = "a table of numbers";
  let description = [{
    `table[b, h, i, j]`. Each dimension of the table is 1 (the entry holds for all) or the size of
    the attention's: `[B|1, H|1, Tq|1, Tk|1]`. Minus infinity excludes a pair.

    Constraints:
    * C1: the result is used by score rules and attention of the same block.
    * C2: `table` has rank 4.
    * C3: each static dimension of `table` is 1 or equals that of the attention that uses the rule.

    Example:
    ```mlir
    func.func @table(%x: tensor<?x8x?x8xf32>, %table: tensor<1x8x?x?xf32>) -> tensor<?x8x?x8xf32> {
      %s = transformer.bias.dense %table : tensor<1x8x?x?xf32>
      %y = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32}
         : (tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>) -> tensor<?x8x?x8xf32>
      return %y : tensor<?x8x?x8xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$table);
  let assemblyFormat = "$table attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Transformer_BiasDistanceOp : Transformer_BiasOp<"distance", "distance"> {
  let summary = "numbers of each query or key, selected by the distance";
  let description = [{
    `table[b, h, i, d]` with `d = clamp(i - j + R, 0, 2R - 1)`, or `table[b, h, j, d]` with
    `of_keys`. `table` is `[B, H, T, 2R]`. Its numbers depend on the rows, for example products of
    queries with vectors of distances (`transformer.head_products`). Under packed documents, the
    table has the rows of all documents, and distances are counted within one document. Source: He
    et al., DeBERTa: Decoding-enhanced BERT with Disentangled Attention, section 3.1.

    Constraints:
    * C1: the result is used by score rules and attention of the same block.
    * C2: the number of columns of `table` is even.
    * C3: the batch and heads of `table` equal those of the attention that uses the rule. Its rows
      equal the queries, or with `of_keys` the keys.

    Example:
    ```mlir
    func.func @distance(%x: tensor<?x8x?x8xf32>, %table: tensor<?x8x?x64xf32>) -> tensor<?x8x?x8xf32> {
      %s = transformer.bias.distance %table {of_keys} : tensor<?x8x?x64xf32>
      %y = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32}
         : (tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>) -> tensor<?x8x?x8xf32>
      return %y : tensor<?x8x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Heads:$table, UnitAttr:$of_keys);
  let assemblyFormat = "$table attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Transformer_BiasAddOp : Transformer_BiasOp<"add", "sum"> {
  let summary = "the sum of two score rules";
  let description = [{
    The sum of `lhs` and `rhs`, in f32.

    Constraints:
    * C1: the result is used by score rules and attention of the same block.

    Example:
    ```mlir
    func.func @sum(%x: tensor<?x8x?x8xf32>, %table: tensor<1x8x?x?xf32>) -> tensor<?x8x?x8xf32> {
      %alibi = transformer.bias.alibi
      %dense = transformer.bias.dense %table : tensor<1x8x?x?xf32>
      %s = transformer.bias.add %alibi, %dense
      %y = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32}
         : (tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>) -> tensor<?x8x?x8xf32>
      return %y : tensor<?x8x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Bias:$lhs, Transformer_Bias:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_BIASOPS_TD
