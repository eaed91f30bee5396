//===- LossOps.td - Losses ---------------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses: the ids that a decoder reads when it scores a given text, and the
// likelihood of the ids that it should predict.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_LOSSOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_LOSSOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_ShiftRightOp : Transformer_Op<"shift_right", [Pure, AllTypesMatch<["ids", "result"]>], ["inferShapes", "limitValues"]> {
  let summary = "ids shifted by one, after a start id";
  let description = [{
    `result[b, 0] = start` and `result[b, t] = ids[b, t - 1]`. A decoder that has to predict `ids`
    reads the result. With `documents`, the starts of packed documents as in
    `transformer.mask.documents`, B is 1 and each document begins with `start`.

    Constraints:
    * C1: `ids` has rank 2.
    * C2: `start` is a non-negative i32 id.
    * C3: `documents` is a vector.

    Example:
    ```mlir
    func.func @shifted(%reference: tensor<?x?xi32>) -> tensor<?x?xi32> {
      %target = transformer.shift_right %reference {start = 2 : i64} : tensor<?x?xi32>
      return %target : tensor<?x?xi32>
    }
    func.func @packed(%reference: tensor<1x?xi32>, %starts: tensor<?xi32>) -> tensor<1x?xi32> {
      %target = transformer.shift_right %reference documents(%starts : tensor<?xi32>) {start = 2 : i64} : tensor<1x?xi32>
      return %target : tensor<1x?xi32>
    }
    ```
  }];
  let arguments = (ins Transformer_Index:$ids, Optional<Transformer_Index>:$documents, I64Attr:$start);
  let results = (outs Transformer_Index:$result);
  let assemblyFormat = "$ids (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict `:` type($ids)";
  let hasVerifier = 1;
}

def Transformer_SmoothingOver : I32EnumAttr<"SmoothingOver", "classes that share the smoothed probability", [
    I32EnumAttrCase<"All", 0, "all">, I32EnumAttrCase<"Others", 1, "others">,
    I32EnumAttrCase<"OthersButPadding", 2, "others_but_padding">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::transformer";
}

def Transformer_SmoothingOverAttr : EnumAttr<Transformer_Dialect, Transformer_SmoothingOver, "smoothing_over"> {
  let summary = "classes that share the smoothed probability";
  let description = [{
    * `all`: all classes, the right one too
    * `others`: all classes except the right one
    * `others_but_padding`: all classes except the right one and `padding_id`
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Transformer_Smoothing : DefaultValuedAttr<F32Attr, "0.0f">;
def Transformer_Over : DefaultValuedAttr<Transformer_SmoothingOverAttr, "::heddle::transformer::SmoothingOver::All">;

/// Base of the ops that compare logits with reference ids.
class Transformer_CrossEntropy<string mnemonic, list<Trait> traits = []>
    : Transformer_InferredOp<mnemonic, traits, ["inferShapes", "limitValues"]> {
  dag operands = (ins Transformer_Activations:$logits, Transformer_Index:$ids, OptionalAttr<I64Attr>:$padding_id);
  let arguments = operands;
  let assemblyFormat = "$logits `,` $ids attr-dict `:` functional-type(operands, results)";
}

def Transformer_CrossEntropyOp : Transformer_CrossEntropy<"cross_entropy"> {
  let summary = "mean negative log-likelihood of ids";
  let description = [{
    The mean of `log(sum_n exp(logits[..., n])) - logits[..., ids[...]]` over all rows except those
    whose id is `padding_id`; 0 if no row remains. Logits are treated as in `transformer.softmax`.
    The pass `split-cross-entropy` splits the op into two.

    With `smoothing` s, the loss of a row is `-sum_n target[n] * log(softmax(logits)[n])`. `target`
    is 1 - s for the id, and s is added in equal parts to the classes that `over` names (Szegedy et
    al., Rethinking the Inception Architecture for Computer Vision, section 7). Smoothing is part of
    training: the pass `differentiate` follows it, and removes it from the function that evaluates a
    model.

    Constraints:
    * C1: `ids` has the shape of `logits` without the last dimension.
    * C2: `padding_id` is a column of `logits`.
    * C3: the result is one number.
    * C4: `smoothing` is at least 0 and below 1. `others_but_padding` requires `padding_id`.

    Example:
    ```mlir
    func.func @loss(%logits: tensor<?x?x1000xf32>, %reference: tensor<?x?xi32>) -> tensor<1xf32> {
      %l = transformer.cross_entropy %logits, %reference {padding_id = 0 : i64} : (tensor<?x?x1000xf32>, tensor<?x?xi32>) -> tensor<1xf32>
      return %l : tensor<1xf32>
    }
    ```
  }];
  let arguments = !con(operands, (ins Transformer_Smoothing:$smoothing, Transformer_Over:$over));
  let results = (outs RankedTensorOf<[F32]>:$result);
  let resultType = "typeOf(adaptor.getLogits()).clone({1})";
}

def Transformer_CrossEntropyRowsOp : Transformer_CrossEntropy<"cross_entropy.rows", [Transformer_ReducesRows, Transformer_RowsAlike]> {
  let summary = "the negative log-likelihood of each id";
  let description = [{
    Returns two numbers for each row of `logits`: the negative log-likelihood of its id and 1, or 0
    and 0 if the id is `padding_id`. Only the compiler creates this op.

    Constraints:
    * C1: `ids` has the shape of `logits` without the last dimension.
    * C2: `padding_id` is a column of `logits`.
    * C3: the result has the shape of `logits` with 2 features.

    Example:
    ```mlir
    func.func @losses(%logits: tensor<?x?x1000xf32>, %reference: tensor<?x?xi32>) -> tensor<?x?x2xf32> {
      %l = transformer.cross_entropy.rows %logits, %reference : (tensor<?x?x1000xf32>, tensor<?x?xi32>) -> tensor<?x?x2xf32>
      return %l : tensor<?x?x2xf32>
    }
    ```
  }];
  let results = (outs Transformer_Activations:$result);
  let resultType = "withFeatures(adaptor.getLogits(), 2)";
}

def Transformer_CrossEntropyMeanOp : Transformer_InferredOp<"cross_entropy.mean", [Transformer_ReducesRows, Transformer_RowsAlike], ["countFlops"]> {
  let summary = "the mean of the losses of cross_entropy.rows";
  let description = [{
    The sum of the first numbers of all rows, divided by the sum of the second numbers; 0 if the
    latter is 0. Only the compiler creates this op.

    Constraints:
    * C1: `rows` has 2 features.
    * C2: the result is one number.

    Example:
    ```mlir
    func.func @mean(%losses: tensor<?x?x2xf32>) -> tensor<1xf32> {
      %l = transformer.cross_entropy.mean %losses : (tensor<?x?x2xf32>) -> tensor<1xf32>
      return %l : tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$rows);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let resultType = "typeOf(adaptor.getRows()).clone({1})";
  let assemblyFormat = "$rows attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_LOSSOPS_TD
