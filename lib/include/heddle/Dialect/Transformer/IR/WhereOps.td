//===- WhereOps.td - Masks and rules that are formulas -----*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas: masks and score rules that are regions over (b, h, i, j), the load
// that a region may use, and its terminator.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_WHEREOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_WHEREOPS_TD

include "heddle/Dialect/Transformer/IR/BiasOps.td"

class Transformer_WhereRegion : NativeOpTrait<"WhereRegion"> {
  let cppNamespace = "::heddle::transformer";
}
def Transformer_IsWhere : Transformer_WhereRegion;

def Transformer_MaskWhereOp : Transformer_MaskOp<"where", "where", ["emitPredicate", "bound"], [SingleBlock, Transformer_IsWhere]> {
  let summary = "a mask defined by a formula";
  let description = [{
    Query i may attend to key j if the region yields true for (b, h, i, j): the sequence, the query
    head, the query and the key. The region may use `transformer.mask.load` and, from `arith`,
    `constant`, `addi`, `subi`, `muli`, `floordivsi`, `ceildivsi`, `divsi`, `remsi`, `minsi`,
    `maxsi`, `andi`, `ori`, `xori`, `shli`, `shrsi`, `shrui`, `cmpi`, `select`, `extsi`, `extui`,
    `trunci`. From outside it may use i32 numbers and tensors to load from.

    Every op is defined for all operands: arithmetic wraps, `x / 0` and `x % 0` are 0, and the
    smallest i32 divided by -1 is itself. A shift by less than 0 or more than 31 yields 0 (`shrsi`:
    -1 for a negative number, else 0). A load outside its table yields 0.

    Constraints:
    * C1: the result is used by masks and attention of the same block.
    * C2: the region is one block with four i32 arguments that yields an i1.
    * C3: the region holds only the ops above, on i1, i8, i16 and i32; i8 and i16 only between a truncation and an extension.
    * C4: values from outside the region are i32 numbers, and tensors of i32 with rank 1 or 2 that
      it loads from.

    Example:
    ```mlir
    func.func @near(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.where {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
        %d = arith.subi %i, %j : i32
        %limit = arith.constant 100 : i32
        %near = arith.cmpi slt, %d, %limit : i32
        transformer.yield %near : i1
      }
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```

    Tiles of 64 by 64, 512 queries, 512 keys:
    ```
    ########
    o#######
    oo######
    .oo#####
    ..oo####
    ...oo###
    ....oo##
    .....oo#
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Transformer_BiasWhereOp : Transformer_BiasOp<"where", "where", [SingleBlock, Transformer_IsWhere]> {
  let summary = "a score rule defined by a formula";
  let description = [{
    Adds the number that the region yields for (b, h, i, j). In addition to the ops of `mask.where`,
    the region may use, on f32, `arith`'s `constant`, `addf`, `subf`, `mulf`, `divf`, `negf`,
    `maximumf`, `minimumf`, `cmpf`, `select`, `sitofp`, and `math`'s `absf`, `exp`, `log`. It may
    also use `transformer.mask.load` from tensors of f32.

    Constraints:
    * C1: the result is used by score rules and attention of the same block.
    * C2: the region is one block with four i32 arguments that yields an f32.
    * C3: the region holds only the ops above, on i1, i8, i16, i32 and f32.
    * C4: values from outside the region are i32 and f32 numbers, and tensors of i32 or f32 with
      rank 1 or 2 that it loads from.

    Example:
    ```mlir
    func.func @nearer_is_better(%x: tensor<?x8x?x8xf32>) -> tensor<?x8x?x8xf32> {
      %s = transformer.bias.where {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
        %d = arith.subi %j, %i : i32
        %f = arith.sitofp %d : i32 to f32
        %a = math.absf %f : f32
        %n = arith.negf %a : f32
        transformer.yield %n : f32
      }
      %y = transformer.attention %x, %x, %x bias(%s) {scale = 1.0 : f32}
         : (tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>) -> tensor<?x8x?x8xf32>
      return %y : tensor<?x8x?x8xf32>
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Transformer_MaskLoadOp : Transformer_Op<"mask.load", [Pure, ParentOneOf<["MaskWhereOp", "BiasWhereOp"]>,
    TypesMatchWith<"the result has the element type of the table", "table", "result", "::mlir::getElementTypeOrSelf($_self)">], ["takesWeight"]> {
  let summary = "loads an entry of a table in a formula";
  let description = [{
    `table[index]` (rank 1), or `table[b, index]` (rank 2, where b is the region's first argument);
    0 if the index is outside the table. A table of rank 1 may also be indexed by b, h, i or j.

    Constraints:
    * C1: there is one index for each dimension of the table.
    * C2: the first of two indices is the region's argument b.
    * C3: the table is defined outside the region; a table of f32 is for `bias.where` only.
    * C4: a static first dimension of a table of rank 2 equals the batch of the attention that uses it.

    Example:
    ```mlir
    func.func @same_color(%x: tensor<?x2x?x8xf32>, %colors: tensor<?xi32>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.where {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
        %u = transformer.mask.load %colors[%i] : tensor<?xi32>
        %v = transformer.mask.load %colors[%j] : tensor<?xi32>
        %same = arith.cmpi eq, %u, %v : i32
        transformer.yield %same : i1
      }
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[1DTensorOf<[I32, F32]>, 2DTensorOf<[I32, F32]>]>:$table, Variadic<I32>:$indices);
  let results = (outs AnyTypeOf<[I32, F32]>:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Transformer_YieldOp : Transformer_Op<"yield", [Pure, Terminator, ParentOneOf<["MaskWhereOp", "BiasWhereOp"]>]> {
  let summary = "yields the value of a formula";
  let description = [{
    Ends the region of `mask.where` with an i1, and the region of `bias.where` with an f32.

    Constraints:
    * C1: `value` is an i1 in `mask.where`, an f32 in `bias.where`.

    Example:
    ```mlir
    func.func @even_keys(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
      %m = transformer.mask.where {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
        %two = arith.constant 2 : i32
        %zero = arith.constant 0 : i32
        %r = arith.remsi %j, %two : i32
        %even = arith.cmpi eq, %r, %zero : i32
        transformer.yield %even : i1
      }
      %y = transformer.attention %x, %x, %x mask(%m) {scale = 1.0 : f32}
         : (tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
      return %y : tensor<?x2x?x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[I1, F32]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_WHEREOPS_TD
