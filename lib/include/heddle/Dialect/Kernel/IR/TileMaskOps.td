//===- TileMaskOps.td - Masks and tables of tiles -------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that hide elements of a tile and look elements up in views. KernelOps.td includes this
// file after the types that it uses.

#ifndef HEDDLE_DIALECT_KERNEL_IR_TILEMASKOPS_TD
#define HEDDLE_DIALECT_KERNEL_IR_TILEMASKOPS_TD

def Kernel_MaskOp : Kernel_Op<"mask", [Pure, SingleBlock, AllTypesMatch<["tile", "result"]>]> {
  let summary = "replaces elements where a predicate is false";
  let description = [{
    Elements keep their value if the region yields true; the others become `value`. `visited` and
    `full` have one bit for each column tile (`by` columns wide, counted from column 0). A full tile
    is kept, a tile that is not visited becomes `value`, and the region need not be evaluated for
    either.

    C1: the region yields i1 of the tile's shape. C2: the column tile divides the tile's columns
    into at most 32.

    Example:
    ```mlir
    %t = kernel.mask %s tiles(%visited, %full by 64) else -1.0e+30 : tensor<96x512xf32> {
      %j = kernel.iota columns from %c : tensor<96x512xi32>
      %n = kernel.broadcast %length : i32 -> tensor<96x512xi32>
      %a = arith.cmpi slt, %j, %n : tensor<96x512xi32>
      kernel.mask.yield %a : tensor<96x512xi1>
    }
    ```
  }];
  let arguments = (ins Kernel_Tile:$tile, I32:$visited, I32:$full, I64Attr:$visit_tile, F32Attr:$value);
  let results = (outs Kernel_Tile:$result);
  let regions = (region SizedRegion<1>:$predicate);
  let assemblyFormat = "$tile `tiles` `(` $visited `,` $full `by` $visit_tile `)` `else` $value attr-dict `:` type($tile) $predicate";
  let hasVerifier = 1;
}

def Kernel_MaskYieldOp : Kernel_Op<"mask.yield", [Pure, Terminator, HasParent<"MaskOp">]> {
  let summary = "truth values of a mask's elements";
  let description = [{
    Example:
    ```mlir
    kernel.mask.yield %a : tensor<96x512xi1>
    ```
  }];
  let arguments = (ins Kernel_Tile:$truth);
  let assemblyFormat = "$truth attr-dict `:` type($truth)";
}

def Kernel_LookupOp : Kernel_Op<"lookup", [Pure]> {
  let summary = "loads an element of a vector or matrix for each element of the tile";
  let description = [{
    `result[r, c] = view[y[r, c], x[r, c]]`, without `y` for a vector. The result is 0 if an index
    is outside the view's extent.

    C1: there is one tile of indices for each dimension of the view, at most two, of i32 and with
    the result's shape. C2: the result has the view's element type. C3: the view is row-major.

    Example:
    ```mlir
    %d = kernel.lookup %ids[%x] : !kernel.view<[d0], i32>, tensor<96x512xi32> -> tensor<96x512xi32>
    ```
  }];
  let arguments = (ins Kernel_View:$view, Variadic<Kernel_Tile>:$indices);
  let results = (outs Kernel_Tile:$result);
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` custom<View>(type($view)) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def Kernel_TableRangeOp : Kernel_Op<"table_range", [Pure]> {
  let summary = "the smallest and largest element in a range of a vector";
  let description = [{
    The smallest and the largest of `view[x]` for x in `[from, to)`, as i32. Positions outside the
    view's extent count as 0. For an empty range both results are 0.

    C1: the view is a vector of i32.

    Example:
    ```mlir
    %min, %max = kernel.table_range %ids[%from to %end] : !kernel.view<[d0], i32>
    ```
  }];
  let arguments = (ins Kernel_View:$view, Index:$from, Index:$to);
  let results = (outs I32:$min, I32:$max);
  let assemblyFormat = "$view `[` $from `to` $to `]` attr-dict `:` custom<View>(type($view))";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_KERNEL_IR_TILEMASKOPS_TD
