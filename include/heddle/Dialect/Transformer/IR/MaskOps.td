//===- MaskOps.td - Who may attend to whom -----------------*- tablegen -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks as ops: each is a predicate over (batch b, head h, query i, key j).
// Their truth and bounds over tiles are in MaskInterface.td.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_MASKOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_MASKOPS_TD

include "heddle/Dialect/Transformer/IR/MaskInterface.td"
include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The result is used by masks and attention of the same block only.
def Transformer_StaysInBlock : NativeOpTrait<"StaysInBlock"> {
  let cppNamespace = "::heddle::transformer";
}

class Transformer_MaskOp<string mnemonic, list<string> overridden, list<Trait> traits = []>
    : Transformer_Op<"mask." # mnemonic, !listconcat(traits, [Pure, Transformer_StaysInBlock,
          DeclareOpInterfaceMethods<MaskOpInterface, overridden>,
          DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>])> {
  let results = (outs Transformer_Mask:$result);
}

def Transformer_MaskCausalOp : Transformer_MaskOp<"causal", ["keyRange"]> {
  let summary = "no key after the query";
  let description = [{
    Query i may attend to key j where `j <= i + offset`. `offset` is an i32, or a `tensor<?xi32>` with one number a
    sentence; without it, the offset is the number of keys minus the number of queries: the queries are the last of the
    keys.

    Constraints:
    * C1: the result is used by masks and attention of the same block.

    Example:
    ```mlir
    func.func @square(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.causal
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    func.func @from_row(%x: tensor<?x2x?x8xf32>, %n: i32) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.causal offset(%n : i32)
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Optional<AnyTypeOf<[I32, Transformer_PerSentence], "i32 or tensor<?xi32>">>:$offset);
  let assemblyFormat = "(`offset` `(` $offset^ `:` type($offset) `)`)? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::Value());">];
}

def Transformer_MaskLengthsOp : Transformer_MaskOp<"lengths", ["keyRange"]> {
  let summary = "only the first keys of each sentence";
  let description = [{
    Every query may attend to key j where `j < lengths[b]`, b being the sentence.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: a static size of `lengths` equals the batch of the attention that uses the mask.

    Example:
    ```mlir
    func.func @padded(%x: tensor<?x2x?x8xf32>, %lengths: tensor<?xi32>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.lengths %lengths : tensor<?xi32>
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_PerSentence:$lengths);
  let assemblyFormat = "$lengths attr-dict `:` type($lengths)";
}

def Transformer_MaskDenseOp : Transformer_MaskOp<"dense", []> {
  let summary = "a table of booleans";
  let description = [{
    Query i may attend to key j where `table[b, h, i, j]` is true. Each dimension of the table is 1 (the entry holds for
    all) or as large as the attention's: `[B|1, H|1, Tq|1, Tk|1]`. Keys to keep, `[B, 1, 1, Tk]`, are the usual use.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: `table` has rank 4.
    * C3: each static dimension of `table` is 1 or equals that of the attention that uses the mask.

    Example:
    ```mlir
    func.func @chosen(%x: tensor<?x2x?x8xf32>, %keep: tensor<?x1x1x?xi1>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.dense %keep : tensor<?x1x1x?xi1>
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[I1]>:$table);
  let assemblyFormat = "$table attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Transformer_MaskAndOp : Transformer_MaskOp<"and", ["keyRange"], [Commutative]> {
  let summary = "both masks";
  let description = [{
    A query may attend to a key where both masks allow it. A mask and itself is that mask.

    Constraints:
    * C1: the result is used by masks and attention of the same block.

    Example:
    ```mlir
    func.func @padded_causal(%x: tensor<?x2x?x8xf32>, %lengths: tensor<?xi32>) -> tensor<?x2x?x8xf32> {
      %causal = transformer.mask.causal
      %real = transformer.mask.lengths %lengths : tensor<?xi32>
      %m = transformer.mask.and %causal, %real
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Mask:$lhs, Transformer_Mask:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
  let hasFolder = 1;
}

def Transformer_MaskNotOp : Transformer_MaskOp<"not", []> {
  let summary = "what a mask hides, and nothing else";
  let description = [{
    A query may attend to a key where `mask` does not allow it. Twice not is the mask itself.

    Constraints:
    * C1: the result is used by masks and attention of the same block.

    Example:
    ```mlir
    func.func @hide(%x: tensor<?x2x?x8xf32>, %hidden: tensor<?x1x1x?xi1>) -> tensor<?x2x?x8xf32> {
      %h = transformer.mask.dense %hidden : tensor<?x1x1x?xi1>
      %m = transformer.mask.not %h
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Mask:$mask);
  let assemblyFormat = "$mask attr-dict";
  let hasFolder = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_MASKOPS_TD
