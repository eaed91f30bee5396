//===- WeightGradientOps.td - Gradients of weights ---------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that add to the gradients of weights, and ops of an optimizer, which reads
// and clears them.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_WEIGHTGRADIENTOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_WEIGHTGRADIENTOPS_TD

include "heddle/Dialect/Transformer/IR/AttentionOps.td"

//===- Gradients of weights ----------------------------------------------===//

def Transformer_GradientResource : Resource<"::heddle::transformer::GradientResource">;

/// Base of the ops that add to the gradient of a weight.
class Transformer_WeightGradient<string mnemonic, list<Trait> traits = [], list<string> answers = []>
    : Transformer_Op<mnemonic, !listconcat([Transformer_WeightGradientOpInterface, Transformer_ReducesRows,
                                            MemoryEffects<[MemRead<Transformer_GradientResource>, MemWrite<Transformer_GradientResource>]>],
                                           traits),
                     !listconcat(["takesWeight"], answers)> {
  let extraClassDefinition = [{
    bool $cppClass::takesWeight(::mlir::OpOperand &) { return false; }
  }];
  let hasVerifier = 1;
}

def Transformer_GradientProductOp : Transformer_WeightGradient<"gradient.product", [Transformer_RowsAlike], ["countFlops"]> {
  let summary = "adds a product over rows to the gradient of a matrix";
  let description = [{
    Adds `sum_m gradient[m, n] * input[m, k]` to element `[n, k]` of the gradient of the weight
    `name`, where m counts the rows of all sequences. This is the gradient of the matrix of a
    `transformer.linear`. The products are added to the present value one by one, m ascending, so a
    batch has the same gradient if it is cut into several calls.

    A weight with several uses has one accumulator for each of them; `use` is the number of the
    accumulator. The gradient of the weight is the sum of its accumulators in this order.

    Constraints:
    * C1: `name` is not empty.
    * C2: the rows of `gradient` and `input` are equal.

    Example:
    ```mlir
    func.func @add(%dy: tensor<?x?x32xf32>, %x: tensor<?x?x8xf32>) {
      transformer.gradient.product "encoder.0.ffn.in.weight", %dy, %x : tensor<?x?x32xf32>, tensor<?x?x8xf32>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Transformer_Activations:$gradient, Transformer_Activations:$input, DefaultValuedAttr<I64Attr, "0">:$use);
  let assemblyFormat = "$name `,` $gradient `,` $input attr-dict `:` type($gradient) `,` type($input)";
}

def Transformer_GradientColumnsOp : Transformer_WeightGradient<"gradient.columns", [Transformer_RowsAlike]> {
  let summary = "adds the sums of columns to the gradient of a vector";
  let description = [{
    Adds `sum_m gradient[m, n]` to element `[n]` of the gradient of the weight `name`, m ascending
    as in `transformer.gradient.product`. This is the gradient of a bias, and of the beta of a
    norm. With `of_heads`, `gradient` is `[B, H, T, E]` and the gradient of the weight is `[H, E]`.

    Constraints:
    * C1: `name` is not empty.
    * C2: `of_heads` requires a `gradient` of rank 4.

    Example:
    ```mlir
    func.func @add(%dy: tensor<?x?x32xf32>) {
      transformer.gradient.columns "encoder.0.ffn.in.bias", %dy : tensor<?x?x32xf32>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Transformer_Activations:$gradient, UnitAttr:$of_heads, DefaultValuedAttr<I64Attr, "0">:$use);
  let assemblyFormat = "$name `,` $gradient attr-dict `:` type($gradient)";
}

def Transformer_GradientRowsOp : Transformer_WeightGradient<"gradient.rows", [Transformer_RowsAlike], ["inferShapes", "limitValues"]> {
  let summary = "adds rows to the gradient of a table";
  let description = [{
    Adds `scale * gradient[m, e]` to element `[ids[m], e]` of the gradient of the weight `name`, m
    ascending as in `transformer.gradient.product`. This is the gradient of the table of a
    `transformer.embedding`, which has `size` rows. The row `padding_id` is unchanged.

    Constraints:
    * C1: `name` is not empty.
    * C2: `ids` has the shape of `gradient` without the last dimension.
    * C3: `size` is positive, and `padding_id` is below `size`.

    Example:
    ```mlir
    func.func @add(%dy: tensor<?x?x8xf32>, %ids: tensor<?x?xi32>) {
      transformer.gradient.rows "source.embedding.weight", %dy, %ids {padding_id = 0 : i64, scale = 2.0 : f32, size = 1000 : i64}
        : tensor<?x?x8xf32>, tensor<?x?xi32>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Transformer_Activations:$gradient, Transformer_Index:$ids, I64Attr:$size, Transformer_Scale:$scale,
                       OptionalAttr<I64Attr>:$padding_id, DefaultValuedAttr<I64Attr, "0">:$use);
  let assemblyFormat = "$name `,` $gradient `,` $ids attr-dict `:` type($gradient) `,` type($ids)";
}

def Transformer_GradientPositionsOp : Transformer_WeightGradient<"gradient.positions", [], ["inferShapes", "limitValues", "documentStarts"]> {
  let summary = "adds rows to the gradient of a table of positions";
  let description = [{
    Adds `scale * gradient[b, t, e]` to element `[t, e]` of the gradient of the weight `name`, b
    ascending. This is the gradient of the table of a `transformer.position.learned`, which has
    `size` rows. With `documents`, t counts the rows of each packed document, and documents ascend.

    Constraints:
    * C1: `name` is not empty.
    * C2: `gradient` has rank 3.
    * C3: `size` is positive, and at least the number of rows if that is static and there are no
      `documents`.

    Example:
    ```mlir
    func.func @add(%dy: tensor<?x?x8xf32>) {
      transformer.gradient.positions "source.position.weight", %dy {size = 128 : i64} : tensor<?x?x8xf32>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Transformer_Activations:$gradient, Optional<TensorOf<[I32]>>:$documents, I64Attr:$size,
                       Transformer_Scale:$scale, DefaultValuedAttr<I64Attr, "0">:$use);
  let assemblyFormat = "$name `,` $gradient (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict `:` type($gradient)";
}

//===- The update --------------------------------------------------------===//

def Transformer_WeightRange : I32EnumAttr<"WeightRange", "a range of the weights of a model", [
    I32EnumAttrCase<"All", 0, "all">, I32EnumAttrCase<"Matrices", 1, "matrices">, I32EnumAttrCase<"Vectors", 2, "vectors">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::transformer";
}

def Transformer_WeightRangeAttr : EnumAttr<Transformer_Dialect, Transformer_WeightRange, "weight_range"> {
  let summary = "a range of the weights of a model";
  let description = [{
    * `all`: all weights
    * `matrices`: weights of rank 2
    * `vectors`: weights of rank 1
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Transformer_OptimizerScalars : ConfinedType<1DTensorOf<[F32]>, [CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(0) == 16">],
    "tensor<16xf32>", "::mlir::RankedTensorType">;

/// Base of the ops that read and write the gradients of all weights.
class Transformer_UpdateOp<string mnemonic>
    : Transformer_Op<mnemonic, [MemoryEffects<[MemRead<Transformer_GradientResource>, MemWrite<Transformer_GradientResource>]>],
                     ["inferShapes", "takesWeight"]> {
  let extraClassDefinition = [{
    bool $cppClass::takesWeight(::mlir::OpOperand &) { return false; }
  }];
}

def Transformer_OptimizerOp : Transformer_UpdateOp<"optimizer"> {
  let summary = "a step of Adam";
  let description = [{
    Updates each weight p of a range with its moments m and v, and sets its gradient to 0. With the
    elements `(rate, a1, b2, a2, c1, c2, epsilon, decay, scale)` of `scalars`, each step is rounded
    to f32 once:

    ```
    g = gradient * scale
    m = fma(a1, g - m, m)
    v = fma(a2, g * g, b2 * v)
    p = p - rate * (m * c1 / (sqrt(v) * c2 + epsilon) + decay * p)
    ```

    In Adam (Kingma and Ba, 2015), a1 = 1 - beta1, b2 = beta2, a2 = 1 - beta2, c1 = 1 / (1 -
    beta1^t) and c2 = 1 / sqrt(1 - beta2^t). AdamW has a decay. Other elements of `scalars` are
    ignored.

    Example:
    ```mlir
    func.func @update(%scalars: tensor<16xf32>) {
      transformer.optimizer %scalars {range = #transformer.weight_range<all>} : tensor<16xf32>
      return
    }
    ```
  }];
  let arguments = (ins Transformer_OptimizerScalars:$scalars, Transformer_WeightRangeAttr:$range);
  let assemblyFormat = "$scalars attr-dict `:` type($scalars)";
}

def Transformer_GradientJoinOp : Transformer_Op<"gradient.join", [MemoryEffects<[MemRead<Transformer_GradientResource>, MemWrite<Transformer_GradientResource>]>],
                                                ["inferShapes"]> {
  let summary = "adds an accumulator to the gradient of its weight";
  let description = [{
    Adds accumulator `use` of the weight `name` to its accumulator 0, and sets accumulator `use` to
    0.

    Constraints:
    * C1: `name` is not empty, and `use` is positive.

    Example:
    ```mlir
    func.func @join() {
      transformer.gradient.join "embedding.weight" {use = 1 : i64}
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$use);
  let assemblyFormat = "$name attr-dict";
  let hasVerifier = 1;
}

def Transformer_GradientNormOp : Transformer_Op<"gradient.norm", [MemoryEffects<[MemRead<Transformer_GradientResource>]>], ["inferShapes"]> {
  let summary = "the sum of the squares of all gradients";
  let description = [{
    Squares are summed in rows of 4,096 stored elements: in 16 lanes, which are combined as in
    `kernel.reduce`. The sums of rows are added in ascending order. The order of weights in memory
    defines the rows.

    Constraints:
    * C1: the result is one number.

    Example:
    ```mlir
    func.func @norm() -> tensor<1xf32> {
      %n = transformer.gradient.norm : tensor<1xf32>
      return %n : tensor<1xf32>
    }
    ```
  }];
  let results = (outs 1DTensorOf<[F32]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_WEIGHTGRADIENTOPS_TD
