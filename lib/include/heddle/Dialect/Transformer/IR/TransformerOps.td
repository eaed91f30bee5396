//===- TransformerOps.td - The ops of a Transformer --------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights, projections and normalization. Heads are in HeadOps.td, embeddings and images in
// EmbeddingOps.td, feature maps in MapOps.td, attention in AttentionOps.td, masks and score rules in
// MaskOps.td, BiasOps.td and WhereOps.td, states and caches in StateOps.td, quantization in
// QuantizeOps.td, losses in LossOps.td. Ops.td adds the backward pass.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_TRANSFORMEROPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_TRANSFORMEROPS_TD

include "heddle/Dialect/Transformer/IR/AttentionOps.td"
include "heddle/Dialect/Transformer/IR/DropoutOps.td"
include "heddle/Dialect/Transformer/IR/EmbeddingOps.td"
include "heddle/Dialect/Transformer/IR/ExpertOps.td"
include "heddle/Dialect/Transformer/IR/HeadOps.td"
include "heddle/Dialect/Transformer/IR/LossOps.td"
include "heddle/Dialect/Transformer/IR/MapOps.td"
include "heddle/Dialect/Transformer/IR/QuantizeOps.td"
include "heddle/Dialect/Transformer/IR/StateOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

//===- Weights -----------------------------------------------------------===//

def Transformer_WeightOp : Transformer_Op<"weight", [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a tensor of the checkpoint";
  let description = [{
    The tensor `name` of the checkpoint. Its values never enter the compiler. For a type narrower
    than f32 the values are rounded to nearest, ties to even; in f16 they are infinite from 65520
    on. `stored` is the shape in the checkpoint, if the checkpoint holds the same elements in the
    same order under another shape. For example, a convolution of kernel size 1 is a matrix, and so
    are the stacked matrices of all heads.

    A matrix of i8, i4, si8 or si6 holds codes, as `transformer.quantize` defines them; codes of
    types other than i8 are stored with their scales. si8 and si6 are the codes of a GGUF file. Only
    products read these matrices, and for i8 also embeddings. The attribute `transformer.codes` of a
    weight of f32 is the type of the codes in the checkpoint, which `--dtype=file` keeps. With
    `scales` the value is `[2, N]`, the data of i8 codes that a product needs: the scale of each of
    the N rows of the matrix, followed by the sums of the rows' codes. `stored` is then the shape of
    the matrix in the checkpoint.

    Constraints:
    * C1: the type is static.
    * C2: `name` is not empty.
    * C3: `stored` has the number of elements of the type; with `scales`, that number is a multiple
      of N.
    * C4: with `scales` the type is `[2, N]` of f32, and `stored` is present.

    Example:
    ```mlir
    func.func @matrix() -> tensor<2048x512xf32> {
      %w = transformer.weight "encoder.0.ffn.in.weight" : tensor<2048x512xf32>
      return %w : tensor<2048x512xf32>
    }
    func.func @convolution() -> tensor<2048x512xf32> {
      %w = transformer.weight "encoder.0.ffn.in.weight" {stored = array<i64: 2048, 512, 1>} : tensor<2048x512xf32>
      return %w : tensor<2048x512xf32>
    }
    func.func @four_bits() -> tensor<2048x512xi4> {
      %w = transformer.weight "encoder.0.ffn.in.weight" : tensor<2048x512xi4>
      return %w : tensor<2048x512xi4>
    }
    func.func @codes() -> (tensor<2048x512xi8>, tensor<2x2048xf32>) {
      %w = transformer.weight "encoder.0.ffn.in.weight" : tensor<2048x512xi8>
      %s = transformer.weight "encoder.0.ffn.in.weight" {scales, stored = array<i64: 2048, 512>} : tensor<2x2048xf32>
      return %w, %s : tensor<2048x512xi8>, tensor<2x2048xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<DenseI64ArrayAttr>:$stored, UnitAttr:$scales);
  let results = (outs RankedTensorOf<[F32, BF16, F16, I8, I<4>, SI8, SI<6>]>:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$name), [{
    build($_builder, $_state, type, name, ::mlir::DenseI64ArrayAttr(), /*scales=*/false);
  }]>];
  let extraClassDeclaration = [{
    /// The shape of the tensor in the checkpoint.
    ::llvm::ArrayRef<int64_t> getCheckpointShape() {
      return getStored() ? *getStored() : ::llvm::cast<::mlir::RankedTensorType>(getType()).getShape();
    }
  }];
  let hasVerifier = 1;
}

//===- Projections and normalization -------------------------------------===//

def Transformer_LinearOp : Transformer_InferredOp<"linear", [AttrSizedOperandSegments, Transformer_Contracts, Transformer_RowsAlike, Transformer_Differentiable],
                                                     ["countFlops", "rowGroups", "storageOf"]> {
  let summary = "a matrix product over features, with bias and activation";
  let description = [{
    `result[..., n] = activation(sum_k input[..., k] * weight[n, k] + bias[n])`. `input` is
    `[..., K]`, `weight` is `[N, K]`, `bias` is `[N]`, and the result is `[..., N]`.

    Operands of a format with scales have `scales`. The first are the scales of the rows of `input`,
    as computed by `transformer.quantize`. If the format scales weights, the scales of the rows of
    `weight` follow: `[2, N]`, a `transformer.weight` with `scales`. `transformer.quantize` defines
    the product for each format; bias and activation are applied as without scales.

    With `classes`, the result scores classes, for example the tokens of a vocabulary. A number
    format may use more bits for these products: `int4` treats them like `int8`.

    With `groups`, the rows are divided into groups, each of which has a matrix of its own. `weight`
    and `bias` stack the matrices and vectors of `group_count` groups, `[G * N, K]` and `[G * N]`.
    The operands of `groups` are the results of `transformer.experts.starts`: the rows from
    `starts[c]` to `starts[c + 1]` are multiplied by matrix `numbers[c]`.

    Constraints:
    * C1: the columns of `weight` equal the features of `input`.
    * C2: the size of `bias` equals the rows of `weight`.
    * C3: the result has the shape of `input` with N features.
    * C4: `input` and `weight` have the types of rows and weights of a number format
      (`Support/Formats.h`). With bf16, products are summed in f32 in pairs of k, the odd one first.
      With f32, a weight of f16 is widened, and the product is computed in f32.
    * C5: operands have the number of `scales` of their format. The first are the scales of `input`,
      with one feature for each scale of a row; the second are `[2, N]`.
    * C6: operands whose sum is an i32 have at most 2^17 features.
    * C7: `group_count` is present with `groups` alone. It divides the rows of `weight` into
      multiples of 16. `input` has rank 2.
    * C8: for G groups, `starts` are `[G + 1]` and `numbers` are `[G]`.

    Example:
    ```mlir
    func.func @project(%x: tensor<?x?x512xf32>, %w: tensor<2048x512xf32>, %b: tensor<2048xf32>) -> tensor<?x?x2048xf32> {
      %y = transformer.linear %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x?x512xf32>, tensor<2048x512xf32>, tensor<2048xf32>) -> tensor<?x?x2048xf32>
      return %y : tensor<?x?x2048xf32>
    }
    func.func @codes(%q: tensor<?x?x512xi8>, %sq: tensor<?x?x1xf32>, %w: tensor<2048x512xi8>, %sw: tensor<2x2048xf32>) -> tensor<?x?x2048xf32> {
      %y = transformer.linear %q, %w scales(%sq, %sw) : (tensor<?x?x512xi8>, tensor<2048x512xi8>, tensor<?x?x1xf32>, tensor<2x2048xf32>) -> tensor<?x?x2048xf32>
      return %y : tensor<?x?x2048xf32>
    }
    func.func @groups(%x: tensor<?x512xf32>, %w: tensor<16384x512xf32>, %counts: tensor<8xi32>) -> tensor<?x2048xf32> {
      %s, %n = transformer.experts.starts %counts : tensor<8xi32> -> tensor<9xi32>, tensor<8xi32>
      %y = transformer.linear %x, %w groups(%s, %n) {group_count = 8 : i64} : (tensor<?x512xf32>, tensor<16384x512xf32>, tensor<9xi32>, tensor<8xi32>) -> tensor<?x2048xf32>
      return %y : tensor<?x2048xf32>
    }
    func.func @halves(%h: tensor<?x?x512xf16>, %sh: tensor<?x?x1xf32>, %w: tensor<2048x512xf16>) -> tensor<?x?x2048xf32> {
      %y = transformer.linear %h, %w scales(%sh) : (tensor<?x?x512xf16>, tensor<2048x512xf16>, tensor<?x?x1xf32>) -> tensor<?x?x2048xf32>
      return %y : tensor<?x?x2048xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_LinearRows:$input, Transformer_LinearMatrix:$weight, Optional<Transformer_Vector>:$bias,
                       Variadic<Transformer_Activations>:$scales, Optional<Transformer_PerSequence>:$starts, Optional<Transformer_PerSequence>:$numbers,
                       Transformer_OptionalActivation:$activation, UnitAttr:$classes, OptionalAttr<I64Attr>:$group_count);
  let results = (outs Transformer_Activations:$result);
  let resultType = "withFeatures(adaptor.getInput(), rowsOfGroup(adaptor.getWeight(), adaptor.getGroupCount()))";
  let assemblyFormat = [{
    $input `,` $weight (`bias` `(` $bias^ `)`)? (`scales` `(` $scales^ `)`)? (`groups` `(` $starts^ `,` $numbers `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  // Builders for operands without scales.
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias, "Activation":$activation), [{
      build($_builder, $_state, input, weight, bias, /*scales=*/::mlir::ValueRange(), /*starts=*/::mlir::Value(), /*numbers=*/::mlir::Value(),
            activation, /*classes=*/false, /*group_count=*/::mlir::IntegerAttr());
    }]>,
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias, "Activation":$activation), [{
      build($_builder, $_state, result, input, weight, bias, /*scales=*/::mlir::ValueRange(), /*starts=*/::mlir::Value(),
            /*numbers=*/::mlir::Value(), activation, /*classes=*/false, /*group_count=*/::mlir::IntegerAttr());
    }]>];
  let extraClassDeclaration = [{
    /// The number format of the product.
    const ::heddle::NumberFormat &getFormat();
    /// Scales of the rows of the input, and of the weight; null if the format has none.
    ::mlir::Value getInputScales() { return getScales().empty() ? ::mlir::Value() : getScales().front(); }
    ::mlir::Value getWeightScales() { return getScales().size() < 2 ? ::mlir::Value() : getScales().back(); }
    /// Number of matrices that `weight` stacks.
    int64_t getGroups() { return static_cast<int64_t>(getGroupCount().value_or(1)); }
    /// Divides the rows into groups with matrices of their own.
    void setGroups(::mlir::Value starts, ::mlir::Value numbers, int64_t count);
  }];
}

def Transformer_FfnOp : Transformer_InferredOp<"ffn", [AttrSizedOperandSegments], ["storageOf"]> {
  let summary = "two matrix products with an activation between them";
  let description = [{
    `result = linear(activation(linear(input, in_weight) + in_bias), out_weight) + out_bias`.
    `input` is `[..., E]`, `in_weight` is `[F, E]`, `in_bias` is `[F]`, `out_weight` is `[N, F]`,
    `out_bias` is `[N]`, and the result is `[..., N]`. The pass `decompose-ffn` rewrites the op to
    two `linear` ops.

    A gated block has a third matrix, `gate_weight` `[F, E]`, with an optional bias `[F]`. The input
    of the second product is then
    `activation(linear(input, gate_weight) + gate_bias) * (linear(input, in_weight) + in_bias)`. The
    products of gate and input share one kernel. Source: Shazeer, GLU Variants Improve Transformer.
    `limit` and `offset` make it the result of `transformer.gate` for these two sums.

    Constraints:
    * C1: the columns of `in_weight` equal the features of `input`.
    * C2: the size of `in_bias` equals the rows of `in_weight`.
    * C3: the columns of `out_weight` equal the rows of `in_weight`.
    * C4: the size of `out_bias` equals the rows of `out_weight`.
    * C5: the result has the shape of `input` with N features.
    * C6: `in_weight`, `gate_weight` and `out_weight` have the element type of `input`, or f16 with
      an `input` of f32. The input of the second product is rounded to the element type of `input`
      too.
    * C7: `gate_weight` has the shape of `in_weight`.
    * C8: the size of `gate_bias` equals the rows of `gate_weight`. `gate_bias` requires
      `gate_weight`.
    * C9: `limit` is finite and above 0, and `offset` is finite. They require `gate_weight`.

    Example:
    ```mlir
    func.func @block(%x: tensor<?x?x8xf32>, %w1: tensor<32x8xf32>, %b1: tensor<32xf32>, %w2: tensor<8x32xf32>, %b2: tensor<8xf32>) -> tensor<?x?x8xf32> {
      %y = transformer.ffn %x in(%w1, %b1) out(%w2, %b2) {activation = #transformer.activation<gelu>}
         : (tensor<?x?x8xf32>, tensor<32x8xf32>, tensor<32xf32>, tensor<8x32xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
      return %y : tensor<?x?x8xf32>
    }
    func.func @gated(%x: tensor<?x?x8xf32>, %w1: tensor<32x8xf32>, %w2: tensor<8x32xf32>, %g: tensor<32x8xf32>) -> tensor<?x?x8xf32> {
      %y = transformer.ffn %x in(%w1) out(%w2) gate(%g) {activation = #transformer.activation<silu>}
         : (tensor<?x?x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<?x?x8xf32>
      return %y : tensor<?x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_ProductRows:$input, Transformer_ProductMatrix:$in_weight, Optional<Transformer_Vector>:$in_bias,
                       Transformer_ProductMatrix:$out_weight, Optional<Transformer_Vector>:$out_bias,
                       Optional<Transformer_ProductMatrix>:$gate_weight, Optional<Transformer_Vector>:$gate_bias,
                       Transformer_OptionalActivation:$activation, OptionalAttr<F32Attr>:$limit, Transformer_Offset:$offset);
  let results = (outs Transformer_Activations:$result);
  let resultType = "withFeatures(adaptor.getInput(), dim(adaptor.getOutWeight(), 0))";
  let assemblyFormat = [{
    $input `in` `(` $in_weight (`,` $in_bias^)? `)` `out` `(` $out_weight (`,` $out_bias^)? `)`
    (`gate` `(` $gate_weight^ (`,` $gate_bias^)? `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Rewrites the op as two `linear` ops, or three and a multiplication. Always legal, since the
    /// verifier has checked their operands.
    void decompose();
  }];
}

def Transformer_Conv1x1Op : Transformer_InferredOp<"conv1x1", [], ["storageOf"]> {
  let summary = "a convolution of kernel size 1 over rows";
  let description = [{
    A convolution of kernel size 1, which is a product with its matrix:
    `result[..., n] = activation(sum_k input[..., k] * weight[n, k, 0] + bias[n])`. `weight` is
    `[N, K, 1]`. Otherwise the op is like `transformer.linear`, to which the pass
    `lower-convolutions` rewrites it.

    Constraints:
    * C1: the input channels of `weight` equal the features of `input`.
    * C2: the size of `bias` equals the output channels of `weight`.
    * C3: the result has the shape of `input` with N features.
    * C4: the kernel of `weight` has size 1.

    Example:
    ```mlir
    func.func @convolve(%x: tensor<?x?x512xf32>, %w: tensor<2048x512x1xf32>, %b: tensor<2048xf32>) -> tensor<?x?x2048xf32> {
      %y = transformer.conv1x1 %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x?x512xf32>, tensor<2048x512x1xf32>, tensor<2048xf32>) -> tensor<?x?x2048xf32>
      return %y : tensor<?x?x2048xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_Kernels:$weight, Optional<Transformer_Vector>:$bias,
                       Transformer_OptionalActivation:$activation);
  let results = (outs Transformer_Activations:$result);
  let resultType = "withFeatures(adaptor.getInput(), dim(adaptor.getWeight(), 0))";
  let assemblyFormat = "$input `,` $weight (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Transformer_LayerNormOp : Transformer_InferredOp<"layer_norm", [Transformer_ReducesRows, Transformer_RowsAlike, Transformer_Differentiable]> {
  let summary = "normalizes each row";
  let description = [{
    `result = (input - mean) / sqrt(variance + epsilon) * gamma + beta`, with mean and variance over
    the features of each row. The variance is the mean of the squared centered values. `gamma` and
    `beta` are `[E]`, or `[H, E]` for heads `[B, H, T, E]`, with one row for each head. With
    `root = false` the divisor is `variance + epsilon` itself.

    Constraints:
    * C1: `gamma` is `[E]`, or `[H, E]` if `input` is `[B, H, T, E]`.
    * C2: `beta` has the shape of `gamma`.
    * C3: the result has the shape of `input`.
    * C4: `epsilon` is finite and not negative.

    Example:
    ```mlir
    func.func @norm(%x: tensor<?x?x512xf32>, %gamma: tensor<512xf32>, %beta: tensor<512xf32>) -> tensor<?x?x512xf32> {
      %y = transformer.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f32} : (tensor<?x?x512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<?x?x512xf32>
      return %y : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_NormWeights:$gamma, Transformer_NormWeights:$beta, F32Attr:$epsilon,
                       DefaultValuedAttr<BoolAttr, "true">:$root);
  let results = (outs Transformer_Activations:$result);
  let resultType = "adaptor.getInput().getType()";
  let assemblyFormat = "$input `,` $gamma `,` $beta attr-dict `:` functional-type(operands, results)";
}

def Transformer_RmsNormOp : Transformer_InferredOp<"rms_norm", [Transformer_ReducesRows, Transformer_RowsAlike, Transformer_Differentiable]> {
  let summary = "divides each row by its root mean square";
  let description = [{
    `result = input / sqrt(mean(input * input) + epsilon) * gamma`, with the mean over the features
    of each row. `gamma` is `[E]`, or `[H, E]` for heads `[B, H, T, E]`, with one row for each head.

    Constraints:
    * C1: `gamma` is `[E]`, or `[H, E]` if `input` is `[B, H, T, E]`.
    * C2: the result has the shape of `input`.
    * C3: `epsilon` is finite and not negative.

    Example:
    ```mlir
    func.func @rms(%x: tensor<?x?x512xf32>, %gamma: tensor<512xf32>) -> tensor<?x?x512xf32> {
      %y = transformer.rms_norm %x, %gamma {epsilon = 1.0e-6 : f32} : (tensor<?x?x512xf32>, tensor<512xf32>) -> tensor<?x?x512xf32>
      return %y : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_NormWeights:$gamma, F32Attr:$epsilon);
  let results = (outs Transformer_Activations:$result);
  let resultType = "adaptor.getInput().getType()";
  let assemblyFormat = "$input `,` $gamma attr-dict `:` functional-type(operands, results)";
}

def Transformer_NormalizeOp : Transformer_Op<"normalize", [Pure, AllTypesMatch<["input", "result"]>, Transformer_ReducesRows, Transformer_RowsAlike, Transformer_Differentiable]> {
  let summary = "divides each row by its length";
  let description = [{
    `result = input / max(sqrt(sum(input * input)), epsilon)`, with the sum over the features of
    each row. Rows have length 1, so the product of two rows is the cosine of their angle. A row of
    zeros is unchanged.

    Constraints:
    * C1: `epsilon` is finite and above 0.

    Example:
    ```mlir
    func.func @unit(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
      %y = transformer.normalize %x : tensor<?x384xf32>
      return %y : tensor<?x384xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, DefaultValuedAttr<F32Attr, "1.0e-12f">:$epsilon);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_SoftcapOp : Transformer_Op<"softcap", [Pure, AllTypesMatch<["input", "result"]>, Transformer_RowsAlike, Transformer_Differentiable]> {
  let summary = "limits numbers smoothly";
  let description = [{
    `result = cap * tanh(input / cap)` for each element, which is between -cap and cap. Source:
    Gemma Team, Gemma 2: Improving Open Language Models at a Practical Size, section 2.

    Constraints:
    * C1: `cap` is finite and above 0.

    Example:
    ```mlir
    func.func @within(%logits: tensor<?x?x1000xf32>) -> tensor<?x?x1000xf32> {
      %y = transformer.softcap %logits {cap = 30.0 : f32} : tensor<?x?x1000xf32>
      return %y : tensor<?x?x1000xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, F32Attr:$cap);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_ScaleOp : Transformer_Op<"scale", [Pure, AllTypesMatch<["input", "result"]>, Transformer_RowsAlike, Transformer_Differentiable]> {
  let summary = "multiplies by a number";
  let description = [{
    `result = factor * input` for each element.

    Constraints:
    * C1: `factor` is finite.

    Example:
    ```mlir
    func.func @tied(%logits: tensor<?x?x1000xf32>) -> tensor<?x?x1000xf32> {
      %y = transformer.scale %logits {factor = 0.125 : f32} : tensor<?x?x1000xf32>
      return %y : tensor<?x?x1000xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, F32Attr:$factor);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Transformer_XieluOp : Transformer_Op<"xielu", [Pure, AllTypesMatch<["input", "result"]>, Transformer_RowsAlike]> {
  let summary = "an activation whose slopes are weights";
  let description = [{
    xIELU of each element x: `a * x^2 + x / 2` above 0, and `b * (exp(min(x, -1e-6)) - 1 - x) + x / 2`
    elsewhere, with `a = log(1 + exp(slopes[0]))` and `b = 1/2 + log(1 + exp(slopes[1]))`. Source:
    Huang and Schlag, Deriving Activation Functions Using Integration.

    Constraints:
    * C1: the size of `slopes` is 2.

    Example:
    ```mlir
    func.func @hidden(%x: tensor<?x?x32xf32>, %s: tensor<2xf32>) -> tensor<?x?x32xf32> {
      %y = transformer.xielu %x, %s : tensor<?x?x32xf32>, tensor<2xf32>
      return %y : tensor<?x?x32xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_Vector:$slopes);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input `,` $slopes attr-dict `:` type($input) `,` type($slopes)";
  let hasVerifier = 1;
}

def Transformer_ScaleRowsOp : Transformer_Op<"scale_rows", [Pure, AllTypesMatch<["input", "result"]>, Transformer_RowsAlike], ["takesWeight"]> {
  let summary = "multiplies each row by a number of its own";
  let description = [{
    `result[..., e] = factors[..., 0] * input[..., e]`.

    Constraints:
    * C1: `factors` have the shape of `input` with 1 feature.

    Example:
    ```mlir
    func.func @gated(%x: tensor<?x?x512xf32>, %g: tensor<?x?x1xf32>) -> tensor<?x?x512xf32> {
      %y = transformer.scale_rows %x, %g : tensor<?x?x512xf32>, tensor<?x?x1xf32>
      return %y : tensor<?x?x512xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Transformer_Activations:$factors);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input `,` $factors attr-dict `:` type($input) `,` type($factors)";
  let hasVerifier = 1;
}

def Transformer_SoftmaxOp : Transformer_Op<"softmax", [Pure, AllTypesMatch<["input", "result"]>, Transformer_ReducesRows, Transformer_RowsAlike]> {
  let summary = "softmax of each row";
  let description = [{
    `result[..., e] = exp(input[..., e]) / sum_n exp(input[..., n])` over the features of each row,
    whose number is not limited. As in attention, minus infinity has probability 0, a row of only
    minus infinity yields zeros, and NaN or plus infinity makes its row NaN.

    Example:
    ```mlir
    func.func @probabilities(%logits: tensor<?x?x10000xf32>) -> tensor<?x?x10000xf32> {
      %p = transformer.softmax %logits : tensor<?x?x10000xf32>
      return %p : tensor<?x?x10000xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input);
  let results = (outs Transformer_Activations:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Transformer_PoolOp : Transformer_InferredOp<"pool", [AttrSizedOperandSegments, Transformer_ReducesRows, Transformer_Differentiable], ["inferShapes", "countFlops", "limitValues"]> {
  let summary = "one row for each sequence";
  let description = [{
    `[B, T, E]` becomes `[B, K * E]`: each of the K `kinds` reduces the rows of a sequence to one
    row, and these rows are concatenated. With `lengths`, `[B]`, only the first `lengths[b]` rows
    count. With `documents`, the starts of packed documents as in `transformer.mask.documents`, B is
    1 and the result has one row for each document, `[N, K * E]`. A sequence without rows yields
    zeros.

    Constraints:
    * C1: `input` has rank 3.
    * C2: the size of `lengths` equals the batch of `input`.
    * C3: `documents` is a vector, and excludes `lengths`.
    * C4: the result is `[B, K * E]`, with `documents` `[N, K * E]`.
    * C5: there is at least one kind.

    Example:
    ```mlir
    func.func @sequences(%x: tensor<?x?x512xf32>, %lengths: tensor<?xi32>) -> tensor<?x512xf32> {
      %y = transformer.pool %x lengths(%lengths : tensor<?xi32>) {kinds = [#transformer.pooling<mean>]} : tensor<?x?x512xf32> -> tensor<?x512xf32>
      return %y : tensor<?x512xf32>
    }
    func.func @packed(%x: tensor<1x?x512xf32>, %starts: tensor<?xi32>) -> tensor<?x1024xf32> {
      %y = transformer.pool %x documents(%starts : tensor<?xi32>) {kinds = [#transformer.pooling<cls>, #transformer.pooling<max>]} : tensor<1x?x512xf32> -> tensor<?x1024xf32>
      return %y : tensor<?x1024xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$input, Optional<Transformer_Index>:$lengths, Optional<Transformer_Index>:$documents,
                       TypedArrayAttrBase<Transformer_PoolingAttr, "list of poolings">:$kinds);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getInput()).clone(pooledShape(adaptor.getInput(), adaptor.getDocuments(), adaptor.getKinds().size()))";
  let assemblyFormat = [{
    $input (`lengths` `(` $lengths^ `:` type($lengths) `)`)? (`documents` `(` $documents^ `:` type($documents) `)`)? attr-dict
    `:` type($input) `->` type($result)
  }];
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_TRANSFORMEROPS_TD
