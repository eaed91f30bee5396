//===- MaskOps.td - Masks ----------------------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks: each is a predicate over (batch b, head h, query i, key j). Their
// truth and bounds over tiles are in MaskInterface.td; the mask that is a
// formula is in WhereOps.td.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_MASKOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_MASKOPS_TD

include "heddle/Dialect/Transformer/IR/MaskInterface.td"
include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The result is used only by masks, score rules and attention of the same block.
def Transformer_StaysInBlock : NativeOpTrait<"StaysInBlock"> {
  let cppNamespace = "::heddle::transformer";
}


/// Name of a result in printed IR.
class Transformer_ResultName<string name> {
  code definition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) { setName(getResult(), "}] # name # [{"); }
  }];
}

/// `overridden`: methods of the interface that the op implements itself; the others have the defaults for a band.
class Transformer_MaskOp<string mnemonic, string name, list<string> overridden, list<Trait> traits = [], list<string> answers = []>
    : Transformer_Op<"mask." # mnemonic, !listconcat(traits, [Pure, Transformer_StaysInBlock,
          DeclareOpInterfaceMethods<MaskOpInterface, overridden>,
          DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]), answers> {
  let results = (outs Transformer_Mask:$result);
  let extraClassDefinition = Transformer_ResultName<name>.definition;
}

def Transformer_MaskCausalOp : Transformer_MaskOp<"causal", "causal", ["keyRange"]> {
  let summary = "no key after the query";
  let description = [{
    Query i may attend to key j where `j <= i + offset`. `offset` is an i32, or a `tensor<?xi32>` with one number a
    sequence; without it, the offset is the number of keys minus the number of queries: the queries are the last of the
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
  let summary = "only the keys around the query";
  let description = [{
    Query i may attend to key j where `-before <= j - (i + offset) <= after`: at most `before + after + 1` keys. `offset` is
    that of `mask.causal`, with the same default. A sliding window of W keys that ends with the query is `before = W - 1 after = 0`.

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
  let summary = "only the first keys of each sequence";
  let description = [{
    Every query may attend to key j where `j < lengths[b]`, b being the sequence. A length below 0 or above the number of keys is an
    error of the call.

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
  let summary = "the first keys of each sequence, for every query";
  let description = [{
    Every query may attend to key j where `j < prefix[b]`. It is `lengths` by another name, for the keys that all queries see beside those of another
    mask: `causal or prefix` is a prefix language model. Any number is allowed: below 1 it is no key, above the number of keys all of them. Prefix
    keys ahead of the query count if all queries are in one call. A step on a cache has no keys after its own, and so gives another result: compiling
    such a decoder warns.

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
  let summary = "only keys of the query's own document";
  let description = [{
    Two forms. With ids, query i may attend to key j where `queries[b, i] = keys[b, j]`: `[B, Tq]` and `[B, Tk]`. With `offset`, the
    ids of queries are `queries[b, i + offset]`, as on a cache, where one table of ids serves both sides.

    With `starts`, documents are packed one after another in a single row (B = 1): `queries` and `keys` are N + 1 ascending
    numbers each, the first 0, the last the number of queries or keys; document n owns rows `[queries[n], queries[n + 1])`, which
    may attend to keys `[keys[n], keys[n + 1])`. Equal neighbours are an empty document. Under this form b is the document, and
    i, j, the numbers of queries and keys, and offsets of every mask and rule beside it count inside the document.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: `queries` and `keys` have rank 2; with `starts` rank 1.
    * C3: with `starts`, the static sizes of `queries` and `keys` are equal and at least 1.
    * C4: the static sizes of ids equal the batch, queries and keys of the attention that uses the mask.
    * C5: with `starts`, the batch of the attention that uses the mask is not known to be other than 1.
    * C6: with `starts`, the op stands once, and as a conjunct: `or` and `not` do not use it.
    * C7: with `starts`, no `mask.dense`, `mask.blocks` or `bias.dense` stands beside it.
    * C8: `offset` and `starts` do not stand together.

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
    Query i may attend to key j where `table[b, h, i, j]` is true. Each dimension of the table is 1 (the entry holds for all) or as large as the
    attention's: `[B|1, H|1, Tq|1, Tk|1]`. Its usual use is a table of keys to keep, `[B, 1, 1, Tk]`. A constant table that is a band becomes one,
    which `heddle compile` reports as a `remark:`.

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
  let summary = "a table of booleans, one a block";
  let description = [{
    Query i may attend to key j where `table[b, h, i / rows, j / columns]` is true. The table is
    `[B|1, H|1, ceil(Tq / rows), ceil(Tk / columns)]`.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: `table` has rank 4.
    * C3: `rows` and `columns` are at least 1 and below 2^30.
    * C4: the first two static dimensions of `table` are 1 or equal the attention's, the last two are its queries over `rows`
      and its keys over `columns`, rounded up.

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
  let summary = "both masks";
  let description = [{
    Query i may attend to key j where `lhs(b, h, i, j) && rhs(b, h, i, j)`. A mask and itself is that mask; windows of one offset (and `causal`, a
    window without an end) become one window. The classes of tiles are exact for any number of masks over ranges of keys (causal, window, lengths,
    prefix, packed documents, and `not` of one bound).

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
  let summary = "either mask";
  let description = [{
    Query i may attend to key j where `lhs(b, h, i, j) || rhs(b, h, i, j)`. A mask or itself is that mask. A tile is empty if both masks are, and full
    if one of them is; a tile that only both together fill is treated as partial.

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
    Query i may attend to key j where `!mask(b, h, i, j)`. Twice not is the mask itself. Full tiles of the mask become empty, empty ones full.

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
