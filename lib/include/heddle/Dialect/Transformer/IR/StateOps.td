//===- StateOps.td - States of a session -------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States of a session: caches of keys and values as symbols of the module, and
// the ops that read, set, extend, clear and permute them.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_STATEOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_STATEOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_StateResource : Resource<"::heddle::transformer::StateResource">;
def Transformer_ReadState : MemoryEffects<[MemRead<Transformer_StateResource>]>;
def Transformer_WriteState : MemoryEffects<[MemWrite<Transformer_StateResource>]>;
def Transformer_ReadWriteState
    : MemoryEffects<[MemRead<Transformer_StateResource>, MemWrite<Transformer_StateResource>]>;

def Transformer_StateOp : Transformer_Op<"state", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a tensor that a session keeps between calls";
  let description = [{
    Declares a state of the module's sessions by name. `dims` has one entry for each dimension: a
    number if it is static, a name if it is dynamic. With `capacity`, rows are appended along
    dimension 2, up to `capacity` rows, and the name of that dimension is the length that the
    session counts. Without `capacity`, the state is set as a whole. With `window`, no query reads
    keys more than `window - 1` rows before its own, so older rows need not be kept (pass
    `bound-caches`).

    Constraints:
    * C1: `dims` has one entry for each dimension of `type`.
    * C2: an entry is the number of a static dimension, or a name of a dynamic one.
    * C3: with `capacity`, `type` has rank 4, or rank 3 if a row is one number (scales of codes),
      dimension 2 is dynamic, and `capacity` is positive.
    * C4: dimension 0 (batch) is dynamic.
    * C5: `window` is positive and requires a capacity.

    Example:
    ```mlir
    transformer.state @decoder.0.self.key {dims = ["B", 8, "P", 64], capacity = 256 : i64} : tensor<?x8x?x64xf32>
    transformer.state @decoder.0.cross.key {dims = ["B", 8, "S", 64]} : tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$dims, OptionalAttr<I64Attr>:$capacity, OptionalAttr<I64Attr>:$window,
                       TypeAttrOf<RankedTensorOf<[F32, BF16, F16, I8, I32]>>:$type);
  let assemblyFormat = "$sym_name attr-dict `:` $type";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type as a tensor.
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// The name of dimension `i`, or "" if it is a number.
    ::llvm::StringRef getDimName(int64_t i);
    /// The name of the length that appends advance. Requires a capacity.
    ::llvm::StringRef getLengthName() { return getDimName(2); }
  }];
}

/// Base of the ops that refer to a state.
class Transformer_StateUserOp<string mnemonic, list<Trait> traits, list<string> methods = []>
    : Transformer_Op<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<SymbolUserOpInterface>]), !listconcat(["inferShapes"], methods)> {
  code stateAccess = [{
    /// The state that the op refers to; null if there is none.
    ::heddle::transformer::StateOp lookupState();
  }];
  let extraClassDeclaration = stateAccess;
}

def Transformer_StateSetOp : Transformer_StateUserOp<"state.set", [Transformer_WriteState]> {
  let summary = "replaces a state as a whole";
  let description = [{
    The state becomes `value`, and its named dimensions become the sizes of `value`.

    Constraints:
    * C1: `state` names a `transformer.state`.
    * C2: the state has no capacity (it is set as a whole).
    * C3: the type of `value` is the state's.

    Example:
    ```mlir
    transformer.state @memory {dims = ["B", 8, "S", 64]} : tensor<?x8x?x64xf32>
    func.func @start(%k: tensor<?x8x?x64xf32>) {
      transformer.state.set @memory, %k : tensor<?x8x?x64xf32>
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, RankedTensorOf<[F32, BF16, F16, I8, I32]>:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($value)";
}

def Transformer_StateGetOp : Transformer_StateUserOp<"state.get", [Transformer_ReadState]> {
  let summary = "the value of a state";
  let description = [{
    The tensor that the state holds.

    Constraints:
    * C1: `state` names a `transformer.state`.
    * C2: the type of the result is the state's.

    Example:
    ```mlir
    transformer.state @memory {dims = ["B", 8, "S", 64]} : tensor<?x8x?x64xf32>
    func.func @step() -> tensor<?x8x?x64xf32> {
      %k = transformer.state.get @memory : tensor<?x8x?x64xf32>
      return %k : tensor<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs RankedTensorOf<[F32, BF16, F16, I8, I32]>:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Transformer_CacheAppendOp : Transformer_StateUserOp<"cache.append", [AttrSizedOperandSegments, Transformer_ReadWriteState], ["limitValues"]> {
  let summary = "appends rows to a state and returns its whole content";
  let description = [{
    Writes `rows` `[B, H, T, D]` after the rows of the state, and returns the whole content
    `[B, H, P + T, D]`, where P is the length before the call. Scales of codes are rows of one
    number, `[B, H, T]`. When the function returns, the length is P + T. Appending beyond the
    capacity is an error of the caller, reported before anything runs.

    With `at`, sequences differ in length: row t of sequence b is written to position `at[b] + t`.
    With `count`, only rows with `t < count[b]` are written. `at` is an argument of the function
    with the default `rows_before`, which the session provides; `count` is an argument too. The
    result is `[B, H, P, D]`, where P is the largest number of rows after the call. Rows after the
    end of a shorter sequence are undefined. All appends with `at` in a function have the same
    operands.

    Constraints:
    * C1: `state` names a `transformer.state` with a capacity.
    * C2: `rows` equals the state's type except along dimension 2, and has at most `capacity` rows.
    * C3: the result has the state's type.
    * C4: `count` requires `at`.
    * C5: a state with a `window` requires `at`.

    Example:
    ```mlir
    transformer.state @keys {dims = ["B", 8, "P", 64], capacity = 256 : i64} : tensor<?x8x?x64xf32>
    func.func @step(%new: tensor<?x8x1x64xf32>) -> tensor<?x8x?x64xf32> {
      %k = transformer.cache.append @keys, %new : tensor<?x8x1x64xf32> -> tensor<?x8x?x64xf32>
      return %k : tensor<?x8x?x64xf32>
    }
    func.func @prompt(%new: tensor<?x8x?x64xf32>, %n: tensor<?xi32> {transformer.name = "n", transformer.dims = ["B"]},
                      %p: tensor<?xi32> {transformer.name = "p", transformer.dims = ["B"], transformer.default = {rows_before = "P"}})
        -> tensor<?x8x?x64xf32> {
      %k = transformer.cache.append @keys, %new at(%p : tensor<?xi32>) count(%n : tensor<?xi32>) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
      return %k : tensor<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Transformer_CacheRows:$rows, Optional<Transformer_PerSequence>:$at,
                       Optional<Transformer_PerSequence>:$count);
  let results = (outs Transformer_CacheRows:$result);
  let assemblyFormat = [{
    $state `,` $rows (`at` `(` $at^ `:` type($at) `)`)? (`count` `(` $count^ `:` type($count) `)`)? attr-dict
    `:` type($rows) `->` type($result)
  }];
}

def Transformer_CacheLengthOp : Transformer_Op<"cache.length", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>], ["inferShapes"]> {
  let summary = "the number of rows of a cache before this call";
  let description = [{
    The value of the session's length `dim` when the function was called. Rows appended in this call
    do not count, so the position of the op in the function does not matter.

    Constraints:
    * C1: `dim` is the length of a `transformer.state` with a capacity.

    Example:
    ```mlir
    transformer.state @keys {dims = ["B", 8, "P", 64], capacity = 256 : i64} : tensor<?x8x?x64xf32>
    func.func @position() -> i32 {
      %n = transformer.cache.length "P" : i32
      return %n : i32
    }
    ```
  }];
  let arguments = (ins StrAttr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
}

def Transformer_CacheClearOp : Transformer_Op<"cache.clear", [Transformer_WriteState, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "empties caches";
  let description = [{
    Sets the session's length `dim` to 0: every state appended along it is empty when the function
    returns.

    With `rows`, an argument with the default `no_rows_of`, a caller may select rows of the session.
    Sequence i of each state that the function sets then replaces row `rows[i]`. Only the selected
    rows are empty when the function returns; all other rows are unchanged. States keep their sizes,
    except for the dimension `pads`, which becomes the larger of the session's and this call's.
    Masks must hide positions beyond the length of a sequence.

    Constraints:
    * C1: `dim` is the length of a `transformer.state` with a capacity.
    * C2: `pads` requires `rows`, and is a dimension, not the first, of a `transformer.state`
      without a capacity.

    Example:
    ```mlir
    transformer.state @keys {dims = ["B", 8, "P", 64], capacity = 256 : i64} : tensor<?x8x?x64xf32>
    func.func @start() {
      transformer.cache.clear "P"
      return
    }
    func.func @replace(%rows: tensor<?xi32> {transformer.name = "rows", transformer.default = {no_rows_of = "memory"}},
                       %memory: tensor<?x?x32xf32> {transformer.name = "memory"}) {
      transformer.cache.clear "P" rows(%rows : tensor<?xi32>)
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$dim, Optional<Transformer_PerSequence>:$rows, OptionalAttr<StrAttr>:$pads);
  let assemblyFormat = "$dim (`rows` `(` $rows^ `:` type($rows) `)`)? (`pads` $pads^)? attr-dict";
}

def Transformer_CacheReorderOp : Transformer_Op<"cache.reorder", [Transformer_ReadWriteState]> {
  let summary = "permutes the sequences of all states";
  let description = [{
    Sequence r of every state becomes the former sequence `parents[r]`. A beam search uses this to
    keep some of its hypotheses and drop others. The batch becomes the size of `parents`. If
    `parents[r]` is -1, the caches of sequence r become empty, and states without a capacity hold
    zeros for it.

    Example:
    ```mlir
    func.func @reorder(%parents: tensor<?xi32>) {
      transformer.cache.reorder %parents : tensor<?xi32>
      return
    }
    ```
  }];
  let arguments = (ins Transformer_PerSequence:$parents);
  let assemblyFormat = "$parents attr-dict `:` type($parents)";
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_STATEOPS_TD
