//===- MaskOps.td - Masks ----------------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks, which are predicates over (batch b, head h, query i, key j). Their
// truth and bounds over tiles are in MaskInterface.td. The mask that is a
// formula is in WhereOps.td.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_MASKOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_MASKOPS_TD

include "heddle/Dialect/Transformer/IR/MaskInterface.td"
include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Only masks, score rules and attention of the same block may use the result.
def Transformer_StaysInBlock : NativeOpTrait<"StaysInBlock"> {
  let cppNamespace = "::heddle::transformer";
}


/// Name of a result in printed IR.
class Transformer_ResultName<string name> {
  code definition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) { setName(getResult(), "}] # name # [{"); }
  }];
}

/// Base of masks. `overridden` lists the interface methods that the op implements itself; the other
/// methods have the defaults for a band.
class Transformer_MaskOp<string mnemonic, string name, list<string> overridden, list<Trait> traits = [], list<string> answers = []>
    : Transformer_Op<"mask." # mnemonic, !listconcat(traits, [Pure, Transformer_StaysInBlock,
          DeclareOpInterfaceMethods<MaskOpInterface, overridden>,
          DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]), answers> {
  let results = (outs Transformer_Mask:$result);
  let extraClassDefinition = Transformer_ResultName<name>.definition;
}

def Transformer_MaskCausalOp : Transformer_MaskOp<"causal", "causal", ["keyRange"]> {
  let summary = "allows no key after the query";
  let description = [{
    Query i may attend to key j if `j <= i + offset`. `offset` is an i32, or a `tensor<?xi32>` with
    one number for each sequence. By default, it is the number of keys minus the number of queries,
    so that the queries are the last keys.

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

    Tiles of 64 by 64, 512 queries, 512 keys:
    ```
    o.......
    #o......
    ##o.....
    ###o....
    ####o...
    #####o..
    ######o.
    #######o
    ```
  }];
  let arguments = (ins Optional<Transformer_OffsetOperand>:$offset);
  let assemblyFormat = "(`offset` `(` $offset^ `:` type($offset) `)`)? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::Value());">];
}

def Transformer_MaskWindowOp : Transformer_MaskOp<"window", "window", ["keyRange"]> {
  let summary = "allows only keys near the query";
  let description = [{
    Query i may attend to key j if `-before <= j - (i + offset) <= after`, that is, to at most
    `before + after + 1` keys. `offset` is as in `mask.causal`, with the same default. A sliding
    window of W keys that ends with the query has `before = W - 1 after = 0`.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: `before` and `after` are at least 0 and below 2^31.
    * C3: a static size of `offset` equals the batch of the attention that uses the mask.

    Example:
    ```mlir
    func.func @near(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.window before = 255 after = 0
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```

    Tiles of 128 by 128, 1024 queries, 1024 keys:
    ```
    o.......
    #o......
    o#o.....
    .o#o....
    ..o#o...
    ...o#o..
    ....o#o.
    .....o#o
    ```
  }];
  let arguments = (ins I64Attr:$before, I64Attr:$after, Optional<Transformer_OffsetOperand>:$offset);
  let assemblyFormat = "`before` `=` $before `after` `=` $after (`offset` `(` $offset^ `:` type($offset) `)`)? attr-dict";
  let builders = [OpBuilder<(ins "uint64_t":$before, "uint64_t":$after), "build($_builder, $_state, before, after, ::mlir::Value());">];
  let hasVerifier = 1;
}

def Transformer_MaskLengthsOp : Transformer_MaskOp<"lengths", "real", ["keyRange"], [], ["limitValues"]> {
  let summary = "allows only the first keys of each sequence";
  let description = [{
    Every query of sequence b may attend to key j if `j < lengths[b]`. A length below 0 or above the
    number of keys is an error of the call.

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

    Tiles of 64 by 64, 512 queries, 512 keys, lengths = [300]:
    ```
    ####o...
    ####o...
    ####o...
    ####o...
    ####o...
    ####o...
    ####o...
    ####o...
    ```
  }];
  let arguments = (ins Transformer_PerSequence:$lengths);
  let assemblyFormat = "$lengths attr-dict `:` type($lengths)";
}

def Transformer_MaskPrefixOp : Transformer_MaskOp<"prefix", "prefix", ["keyRange"]> {
  let summary = "allows every query the first keys of its sequence";
  let description = [{
    Every query of sequence b may attend to key j if `j < prefix[b]`. The op equals `lengths`, but
    it is meant for keys that all queries see in addition to the keys of another mask:
    `causal or prefix` is a prefix language model. Any number is allowed: below 1 it allows no key,
    above the number of keys it allows all.

    Prefix keys after the query count only if all queries are in one call. A decoding step on a
    cache has no keys after its own and therefore gives another result; compiling such a decoder
    emits a warning.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: a static size of `prefix` equals the batch of the attention that uses the mask.

    Example:
    ```mlir
    func.func @prefix_lm(%x: tensor<?x2x?x8xf32>, %prefix: tensor<?xi32>) -> tensor<?x2x?x8xf32> {
      %causal = transformer.mask.causal
      %p = transformer.mask.prefix %prefix : tensor<?xi32>
      %m = transformer.mask.or %causal, %p
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```

    Tiles of 64 by 64, 512 queries, 512 keys, prefix = [150]:
    ```
    ##o.....
    ##o.....
    ##o.....
    ###o....
    ####o...
    #####o..
    ######o.
    #######o
    ```
  }];
  let arguments = (ins Transformer_PerSequence:$prefix);
  let assemblyFormat = "$prefix attr-dict `:` type($prefix)";
}

def Transformer_MaskDocumentsOp : Transformer_MaskOp<"documents", "documents", ["keyRange", "emitPredicate", "bound"], [], ["limitValues"]> {
  let summary = "allows only keys of the query's own document";
  let description = [{
    The op has two forms. With ids, query i may attend to key j if `queries[b, i] = keys[b, j]`; the
    ids are `[B, Tq]` and `[B, Tk]`. With `offset`, the ids of queries are `queries[b, i + offset]`.
    Caches use this form, in which one table of ids serves both sides.

    With `starts`, documents are packed one after another in a single row (B = 1). `queries` and
    `keys` are N + 1 ascending numbers each; the first is 0, and the last is the number of queries
    or keys. Document n owns rows `[queries[n], queries[n + 1])`, which may attend to keys
    `[keys[n], keys[n + 1])`. Two equal neighboring numbers are an empty document. Every mask and
    rule of the attention then counts within one document: b is the document, and i, j, the numbers
    of queries and keys, and offsets refer to it.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: `queries` and `keys` have rank 2; with `starts` rank 1.
    * C3: with `starts`, the static sizes of `queries` and `keys` are equal and at least 1.
    * C4: the static sizes of ids equal the batch, queries and keys of the attention that uses the mask.
    * C5: with `starts`, the batch of the attention that uses the mask is not known to be other than 1.
    * C6: with `starts`, the op occurs once, as a conjunct: `or` and `not` do not use it.
    * C7: `starts` excludes `mask.dense`, `mask.blocks` and `bias.dense`.
    * C8: `offset` and `starts` exclude each other.

    Example:
    ```mlir
    func.func @same_document(%x: tensor<?x2x?x8xf32>, %ids: tensor<?x?xi32>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.documents %ids, %ids : tensor<?x?xi32>, tensor<?x?xi32>
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    func.func @packed(%x: tensor<?x2x?x8xf32>, %starts: tensor<?xi32>) -> tensor<?x2x?x8xf32> {
      %d = transformer.mask.documents starts(%starts, %starts) : tensor<?xi32>, tensor<?xi32>
      %causal = transformer.mask.causal
      %m = transformer.mask.and %d, %causal
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```

    Tiles of 2 by 2, 16 queries, 16 keys, ids = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]:
    ```
    ##o.....
    ##o.....
    oooooo..
    ..o##o..
    ..o##o..
    ..oooooo
    .....o##
    .....o##
    ```
  }];
  let arguments = (ins AnyTypeOf<[1DTensorOf<[I32]>, 2DTensorOf<[I32]>]>:$queries,
                       AnyTypeOf<[1DTensorOf<[I32]>, 2DTensorOf<[I32]>]>:$keys, Optional<Transformer_OffsetOperand>:$offset, UnitAttr:$starts);
  let assemblyFormat = [{
    custom<DocumentTables>($queries, $keys, $starts) (`offset` `(` $offset^ `:` type($offset) `)`)? attr-dict
    `:` type($queries) `,` type($keys)
  }];
  let hasVerifier = 1;
}

def Transformer_MaskDenseOp : Transformer_MaskOp<"dense", "dense", ["emitPredicate", "bound"]> {
  let summary = "a table of booleans";
  let description = [{
    Query i may attend to key j if `table[b, h, i, j]` is true. Each dimension of the table is 1
    (the entry holds for all) or the size of the attention's: `[B|1, H|1, Tq|1, Tk|1]`. A common use
    is a table of keys to keep, `[B, 1, 1, Tk]`. A constant table that is a band is replaced by the
    band, which `heddle compile` reports as a `remark:`.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: `table` has rank 4.
    * C3: each static dimension of `table` is 1 or equals that of the attention that uses the mask.

    Example:
    ```mlir
    func.func @chosen(%x: tensor<?x2x?x8xf32>, %keep: tensor<?x1x1x?xi1>) -> tensor<?x2x?x8xf32> {
      %causal = transformer.mask.causal
      %kept = transformer.mask.dense %keep : tensor<?x1x1x?xi1>
      %m = transformer.mask.and %causal, %kept
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```

    Tiles of 2 by 2, 16 queries, 16 keys, keep = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0] (a table is read, never skipped: what is empty here is so by `causal`):
    ```
    o.......
    oo......
    ooo.....
    oooo....
    ooooo...
    oooooo..
    ooooooo.
    oooooooo
    ```
  }];
  let arguments = (ins RankedTensorOf<[I1]>:$table);
  let assemblyFormat = "$table attr-dict `:` type($table)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Transformer_MaskBlocksOp : Transformer_MaskOp<"blocks", "blocks", ["emitPredicate", "bound"]> {
  let summary = "a table of booleans, one for each block";
  let description = [{
    Query i may attend to key j if `table[b, h, i / rows, j / columns]` is true. The table is
    `[B|1, H|1, ceil(Tq / rows), ceil(Tk / columns)]`.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: `table` has rank 4.
    * C3: `rows` and `columns` are at least 1 and below 2^30.
    * C4: the first two static dimensions of `table` are 1 or equal the attention's. The last two
      are the numbers of queries over `rows` and of keys over `columns`, rounded up.

    Example:
    ```mlir
    func.func @blocks(%x: tensor<?x2x?x8xf32>, %table: tensor<1x1x?x?xi1>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.blocks %table rows = 64 columns = 64 : tensor<1x1x?x?xi1>
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```

    Tiles of 64 by 64, 256 queries, 256 keys, table = [1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1]:
    ```
    #...
    ##..
    #.#.
    #..#
    ```
  }];
  let arguments = (ins RankedTensorOf<[I1]>:$table, I64Attr:$rows, I64Attr:$columns);
  let assemblyFormat = "$table `rows` `=` $rows `columns` `=` $columns attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Transformer_MaskAndOp : Transformer_MaskOp<"and", "both", ["keyRange", "emitPredicate", "bound"], [Commutative]> {
  let summary = "the conjunction of two masks";
  let description = [{
    Query i may attend to key j if `lhs(b, h, i, j) && rhs(b, h, i, j)`. The conjunction of a mask
    with itself is that mask. Windows of equal offset become one window, where `causal` is a window
    without a lower end. The classes of tiles are exact for any number of masks over ranges of keys
    (causal, window, lengths, prefix, packed documents, and `not` of a mask with one bound).

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

    Tiles of 64 by 64, 512 queries, 512 keys, lengths = [300]:
    ```
    o.......
    #o......
    ##o.....
    ###o....
    ####o...
    ####o...
    ####o...
    ####o...
    ```
  }];
  let arguments = (ins Transformer_Mask:$lhs, Transformer_Mask:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Transformer_MaskOrOp : Transformer_MaskOp<"or", "either", ["emitPredicate", "bound"], [Commutative]> {
  let summary = "the disjunction of two masks";
  let description = [{
    Query i may attend to key j if `lhs(b, h, i, j) || rhs(b, h, i, j)`. The disjunction of a mask
    with itself is that mask. A tile is empty if both masks are empty on it, and full if one of them
    is full. A tile that is full only in the union of both masks is treated as partial.

    Constraints:
    * C1: the result is used by masks and attention of the same block.

    Example:
    ```mlir
    func.func @window_or_start(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
      %window = transformer.mask.window before = 255 after = 0
      %start = transformer.mask.where {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
        %sixteen = arith.constant 16 : i32
        %c = arith.cmpi slt, %j, %sixteen : i32
        transformer.yield %c : i1
      }
      %m = transformer.mask.or %window, %start
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```

    Tiles of 128 by 128, 1024 queries, 1024 keys:
    ```
    o.......
    #o......
    o#o.....
    oo#o....
    o.o#o...
    o..o#o..
    o...o#o.
    o....o#o
    ```
  }];
  let arguments = (ins Transformer_Mask:$lhs, Transformer_Mask:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Transformer_MaskNotOp : Transformer_MaskOp<"not", "not", ["keyRange", "emitPredicate", "bound"]> {
  let summary = "the complement of a mask";
  let description = [{
    Query i may attend to key j if `!mask(b, h, i, j)`. A double `not` is the mask itself. Full
    tiles of the mask become empty, and empty tiles become full.

    Constraints:
    * C1: the result is used by masks and attention of the same block.

    Example:
    ```mlir
    func.func @far(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
      %near = transformer.mask.window before = 3 after = 3
      %m = transformer.mask.not %near
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```

    Tiles of 2 by 2, 16 queries, 16 keys:
    ```
    ..o#####
    ...o####
    o...o###
    #o...o##
    ##o...o#
    ###o...o
    ####o...
    #####o..
    ```
  }];
  let arguments = (ins Transformer_Mask:$mask);
  let assemblyFormat = "$mask attr-dict";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_MASKOPS_TD
