//===- TransformerDialect.td - The transformer dialect -----*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transformer dialect, its types and attributes, and the base classes of
// its ops. docs/language.md is generated from the .td files, which define the
// whole language.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_TRANSFORMERDIALECT_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_TRANSFORMERDIALECT_TD

include "heddle/Dialect/Transformer/IR/OpInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_Dialect : Dialect {
  let name = "transformer";
  let cppNamespace = "::heddle::transformer";
  let summary = "Transformer models at the level of their architecture";
  let description = [{
    Activations are ranked tensors of f32, usually `[B, T, E]`: batch, rows, features. Heads are
    explicit and are the second of four dimensions: queries `[B, H, Tq, D]`, keys `[B, Hkv, Tk, D]`,
    values `[B, Hkv, Tk, Dv]`. Feature sizes and numbers of heads are static; batch and lengths are
    usually dynamic. Weights keep the layout of the checkpoint, `[out, in]`. Masks are values of
    type `!transformer.mask`: predicates, never tables of Tq x Tk. Residual addition is `arith.addf`
    on tensors.

    Operands of products (`linear`, `ffn`, `attention`) may have a narrower type than f32, to which
    `arith.truncf` rounds them. Only weights, keys and values, and rows with scales of
    `transformer.quantize`, may be f16. Weights of `linear` may also be codes with scales. Sums and
    everything else stay f32. `set-precision` rewrites a model for `--dtype`; `Support/Formats.h`
    lists the formats that can be multiplied.

    Functions are `func.func`. Their arguments and results carry `transformer.name` (the name by
    which a caller passes or receives the tensor) and `transformer.dims` (one name or number for
    each dimension). Integer arguments may carry `transformer.range = [low, high]`, which requires
    low <= value < high; expressions of dimensions are allowed.

    An argument that the caller may omit carries `transformer.default`.
    `{lengths_of = "source", padding = 0 : i64}` counts the tokens of each sequence,
    `{zeros_of = "source"}` is a zero for each token, and `{no_rows_of = "memory"}` is a -1 for each
    sequence, which is no row. Callers cannot pass an argument with `{rows_before = "P"}` or
    `{rows_after = "P"}`: it holds the number of rows of each sequence in the caches of length P
    before and after the call.

    `transformer.port` (a list like `transformer.dims`) is the shape that a caller sees, if it
    differs: with dimensions of 1 omitted (`["B", "S"]` for `["B", 1, 1, "S"]`), or with the first
    two dimensions transposed (`["S", "B", 512]`). With `transformer.broadcast` (sizes like
    `["B", 8, "T", "S"]`; expressions of dimensions are allowed) a caller may pass 1 for each of
    these sizes, and may omit leading dimensions. If there are four dimensions, three may be passed
    as `[B, T, S]` or `[B * 8, T, S]`. If `transformer.dims` has a name where
    `transformer.broadcast` has a number or another name, the function sees the 1; otherwise it sees
    the entry repeated.

    Each op lists its constraints as C1, C2, ...; error messages name them. The picture of a mask
    shows the tiles of its first example: `.` is empty and skipped, `o` is partial, `#` is full and
    needs no test of the mask.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Names of the attributes of arguments and results.
    static constexpr llvm::StringLiteral nameAttr = "transformer.name";
    static constexpr llvm::StringLiteral dimsAttr = "transformer.dims";
    static constexpr llvm::StringLiteral rangeAttr = "transformer.range";
    static constexpr llvm::StringLiteral defaultAttr = "transformer.default";
    static constexpr llvm::StringLiteral portAttr = "transformer.port";
    static constexpr llvm::StringLiteral broadcastAttr = "transformer.broadcast";

    /// Whether `port` is `dims` with its first two entries transposed.
    static bool isTransposed(::mlir::ArrayAttr dims, ::mlir::ArrayAttr port);

    /// Reports an unknown op, with the name of the nearest known op.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef opName) const override;
  }];
}

//===- Types -------------------------------------------------------------===//

class Transformer_Type<string name, string typeMnemonic> : TypeDef<Transformer_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Transformer_MaskType : Transformer_Type<"Mask", "mask"> {
  let summary = "a predicate on pairs of queries and keys";
  let description = [{
    A boolean function of (batch b, head h, query i, key j), and of the numbers of queries and keys
    of the attention that uses it; true if i may attend to j. Masks do not cross function or
    control-flow boundaries.
  }];
}

def Transformer_Mask : DialectType<Transformer_Dialect, Transformer_MaskType.predicate, "mask">,
                       BuildableType<"$_builder.getType<::heddle::transformer::MaskType>()">;

def Transformer_BiasType : Transformer_Type<"Bias", "bias"> {
  let summary = "a number added to each score";
  let description = [{
    A number for each (batch b, head h, query i, key j), added to the score after the soft-cap and
    before the mask. Score rules do not cross function or control-flow boundaries.
  }];
}

def Transformer_Bias : DialectType<Transformer_Dialect, Transformer_BiasType.predicate, "score rule">,
                       BuildableType<"$_builder.getType<::heddle::transformer::BiasType>()">;

def Transformer_Index : RankedTensorOf<[I32]>;
def Transformer_PerSequence : 1DTensorOf<[I32]>;
/// Number of rows before the first one: one for all sequences, or one for each.
def Transformer_OffsetOperand : AnyTypeOf<[I32, Transformer_PerSequence], "i32 or tensor<?xi32>">;
/// Sizes that must be static and positive: a dynamic size is negative.
class Transformer_Positive<string dim> : CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getShape()" # dim # " > 0">;
class Transformer_Rank<string condition>
    : CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() " # condition>;

/// Activations: at least rows and features.
def Transformer_Activations : ConfinedType<RankedTensorOf<[F32]>, [Transformer_Rank<">= 2">, Transformer_Positive<".back()">],
    "tensor of f32, rank 2 or more, whose last dimension (features) is static and positive", "::mlir::RankedTensorType">;
/// Heads: [B, H, T, D].
def Transformer_Heads : ConfinedType<RankedTensorOf<[F32]>,
    [Transformer_Rank<"== 4">, Transformer_Positive<"[1]">, Transformer_Positive<"[3]">],
    "tensor of f32, rank 4 [batch, heads, rows, features], heads and features static and positive", "::mlir::RankedTensorType">;
def Transformer_Matrix : ConfinedType<2DTensorOf<[F32]>, [Transformer_Positive<"[0]">, Transformer_Positive<"[1]">],
    "static matrix of f32, not empty", "::mlir::RankedTensorType">;
/// Operands of products: f32, or rounded to a narrower type by `set-precision`.
def Transformer_ProductRows : ConfinedType<RankedTensorOf<[F32, BF16]>, [Transformer_Rank<">= 2">, Transformer_Positive<".back()">],
    "tensor of f32 or bf16, rank 2 or more, whose last dimension (features) is static and positive", "::mlir::RankedTensorType">;
def Transformer_ProductHeads : ConfinedType<RankedTensorOf<[F32, BF16]>,
    [Transformer_Rank<"== 4">, Transformer_Positive<"[1]">, Transformer_Positive<"[3]">],
    "tensor of f32 or bf16, rank 4 [batch, heads, rows, features], heads and features static and positive", "::mlir::RankedTensorType">;
/// Weights, keys and values, which products read many times: these may be f16 with other operands
/// of f32.
def Transformer_ProductMatrix : ConfinedType<2DTensorOf<[F32, BF16, F16]>, [Transformer_Positive<"[0]">, Transformer_Positive<"[1]">],
    "static matrix of f32, bf16 or f16, not empty", "::mlir::RankedTensorType">;
def Transformer_KeptHeads : ConfinedType<RankedTensorOf<[F32, BF16, F16, I8]>,
    [Transformer_Rank<"== 4">, Transformer_Positive<"[1]">, Transformer_Positive<"[3]">],
    "tensor of f32, bf16, f16 or i8, rank 4 [batch, heads, rows, features], heads and features static and positive", "::mlir::RankedTensorType">;
/// Codes of heads, and the scales of their rows: results of `transformer.cache.quantize`.
def Transformer_HeadCodes : ConfinedType<RankedTensorOf<[I8]>,
    [Transformer_Rank<"== 4">, Transformer_Positive<"[1]">, Transformer_Positive<"[3]">],
    "tensor of i8, rank 4 [batch, heads, rows, features], heads and features static and positive", "::mlir::RankedTensorType">;
def Transformer_HeadScales : ConfinedType<RankedTensorOf<[F32]>, [Transformer_Rank<"== 3">, Transformer_Positive<"[1]">],
    "tensor of f32, rank 3 [batch, heads, rows], heads static and positive", "::mlir::RankedTensorType">;
/// Rows of a cache.
def Transformer_CacheRows : AnyTypeOf<[Transformer_KeptHeads, Transformer_HeadScales],
    "tensor of f32, bf16, f16 or i8, rank 4 [batch, heads, rows, features], or of f32, rank 3 [batch, heads, rows], heads and features static and positive",
    "::mlir::RankedTensorType">;
/// Weights of a convolution over rows: [output channels, input channels, kernel].
def Transformer_Kernels : ConfinedType<RankedTensorOf<[F32]>,
    [Transformer_Rank<"== 3">, Transformer_Positive<"[0]">, Transformer_Positive<"[1]">, Transformer_Positive<"[2]">],
    "static tensor of f32, rank 3 [output channels, input channels, kernel]", "::mlir::RankedTensorType">;
/// Images: [B, channels, height, width].
def Transformer_Images : ConfinedType<RankedTensorOf<[F32]>,
    [Transformer_Rank<"== 4">, Transformer_Positive<"[1]">, Transformer_Positive<"[2]">, Transformer_Positive<"[3]">],
    "tensor of f32, rank 4 [batch, channels, height, width], static but for the batch", "::mlir::RankedTensorType">;
/// Weights of a convolution over images whose stride is its kernel size: [output channels, input
/// channels, height, width].
def Transformer_PatchKernels : ConfinedType<RankedTensorOf<[F32]>,
    [Transformer_Rank<"== 4">, Transformer_Positive<"[0]">, Transformer_Positive<"[1]">, Transformer_Positive<"[2]">,
     Transformer_Positive<"[3]">],
    "static tensor of f32, rank 4 [output channels, input channels, height, width]", "::mlir::RankedTensorType">;
def Transformer_Vector : ConfinedType<1DTensorOf<[F32]>, [Transformer_Positive<"[0]">],
    "static vector of f32, not empty", "::mlir::RankedTensorType">;
/// Factors of a norm: one for each feature, or for each feature of each head.
def Transformer_NormWeights : ConfinedType<RankedTensorOf<[F32]>,
    [Or<[Transformer_Rank<"== 1">, Transformer_Rank<"== 2">]>, Transformer_Positive<"[0]">, Transformer_Positive<".back()">],
    "static vector or matrix of f32, not empty", "::mlir::RankedTensorType">;

//===- Attributes --------------------------------------------------------===//

def Transformer_Activation : I32EnumAttr<"Activation", "an elementwise function", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Relu", 1, "relu">, I32EnumAttrCase<"Gelu", 2, "gelu">,
    I32EnumAttrCase<"GeluTanh", 3, "gelu_tanh">, I32EnumAttrCase<"QuickGelu", 4, "quick_gelu">,
    I32EnumAttrCase<"Silu", 5, "silu">, I32EnumAttrCase<"Tanh", 6, "tanh">,
    I32EnumAttrCase<"Sigmoid", 7, "sigmoid">, I32EnumAttrCase<"Relu2", 8, "relu2">,
    I32EnumAttrCase<"Relu6", 9, "relu6">, I32EnumAttrCase<"HardSwish", 10, "hard_swish">, I32EnumAttrCase<"Mish", 11, "mish">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::transformer";
}

def Transformer_ActivationAttr : EnumAttr<Transformer_Dialect, Transformer_Activation, "activation"> {
  let summary = "an elementwise function";
  let description = [{
    * `none`: x
    * `relu`: max(0, x)
    * `gelu`: x * (1 + erf(x / sqrt 2)) / 2
    * `gelu_tanh`: x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
    * `quick_gelu`: x / (1 + exp(-1.702 x))
    * `silu`: x / (1 + exp(-x))
    * `tanh`: (exp(2 x) - 1) / (exp(2 x) + 1)
    * `sigmoid`: 1 / (1 + exp(-x))
    * `relu2`: max(0, x)^2
    * `relu6`: min(max(0, x), 6)
    * `hard_swish`: x * min(max(0, x + 3), 6) / 6
    * `mish`: x * tanh(log(1 + exp(x)))
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Transformer_OptionalActivation
    : DefaultValuedAttr<Transformer_ActivationAttr, "::heddle::transformer::Activation::None">;
def Transformer_Scale : DefaultValuedAttr<F32Attr, "1.0f">;
def Transformer_Offset : DefaultValuedAttr<F32Attr, "0.0f">;

def Transformer_Pooling : I32EnumAttr<"Pooling", "how rows become one", [
    I32EnumAttrCase<"Cls", 0, "cls">, I32EnumAttrCase<"Mean", 1, "mean">, I32EnumAttrCase<"Last", 2, "last">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"WeightedMean", 4, "weighted_mean">,
    I32EnumAttrCase<"MeanSqrt", 5, "mean_sqrt">, I32EnumAttrCase<"Sum", 6, "sum">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::transformer";
}

def Transformer_PoolingAttr : EnumAttr<Transformer_Dialect, Transformer_Pooling, "pooling"> {
  let summary = "how rows become one";
  let description = [{
    * `cls`: the first row
    * `mean`: the sum of the rows in order, divided by their number
    * `last`: the last row
    * `max`: the largest value of each feature; NaN is ignored
    * `weighted_mean`: the sum of the rows in order, with weight 1 for the first, 2 for the second
      and so on, divided by the sum of the weights (Muennighoff, SGPT: GPT Sentence Embeddings for
      Semantic Search, section 3.1)
    * `mean_sqrt`: the sum of the rows in order, divided by the square root of their number
    * `sum`: the sum of the rows in order
  }];
  let assemblyFormat = "`<` $value `>`";
}

//===- Base classes of ops -----------------------------------------------===//

/// Rejects attributes that the op does not define, unless they have the prefix of another dialect.
/// A misspelt or unsupported attribute must not be dropped silently.
def Transformer_KnownAttributes : NativeOpTrait<"KnownAttributes"> {
  let cppNamespace = "::heddle::transformer";
}

/// Traits that passes query (OpInterfaces.h).
class Transformer_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::heddle::transformer";
}
def Transformer_ReducesRows : Transformer_Trait<"ReducesRows">;
def Transformer_Contracts : Transformer_Trait<"Contracts">;
def Transformer_RowsAlike : Transformer_Trait<"RowsAlike">;

/// An op with a method `differentiate`.
def Transformer_Differentiable : DeclareOpInterfaceMethods<Transformer_DifferentiableOpInterface>;

/// Base of all ops. `answers` lists the methods of the interface that the op implements itself.
class Transformer_Op<string mnemonic, list<Trait> traits = [], list<string> answers = []>
    : Op<Transformer_Dialect, mnemonic,
         !listconcat(traits, [Transformer_KnownAttributes, DeclareOpInterfaceMethods<Transformer_OpInterface, answers>])>;

/// An op whose result type follows from its operands: `resultType` computes it from the `adaptor`.
/// It must accept invalid operands, because the type of an op is inferred before the verifier
/// rejects it. Builders infer the type. The verifier compares a written type and reports the wrong
/// dimension.
class Transformer_InferredOp<string mnemonic, list<Trait> traits = [], list<string> answers = []>
    : Transformer_Op<mnemonic, !listconcat(traits, [Pure, InferTypeOpAdaptorWithIsCompatible]), answers> {
  string resultType = ?;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, ::std::optional<::mlir::Location>, Adaptor adaptor,
                                                      ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(}] # resultType # [{);
      return ::mlir::success();
    }
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) { return true; }
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_TRANSFORMERDIALECT_TD
