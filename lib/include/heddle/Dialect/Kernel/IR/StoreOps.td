//===- StoreOps.td - Stores of tiles -----------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores of a tile to a matrix, to a vector, to heads, and to one row of each of
// several matrices. KernelOps.td includes this file after the types that it uses.

#ifndef HEDDLE_DIALECT_KERNEL_IR_STOREOPS_TD
#define HEDDLE_DIALECT_KERNEL_IR_STOREOPS_TD

class Kernel_TileStoreOp<string mnemonic, list<Trait> traits = []>
    : Kernel_Op<mnemonic, [MemoryEffects<[MemWrite]>, StoreOpInterface] # traits> {
  let hasVerifier = 1;
}

def Kernel_StoreOp : Kernel_TileStoreOp<"store", [AttrSizedOperandSegments]> {
  let summary = "stores a tile to a matrix";
  let description = [{
    The indices select points of the leading dimensions, then the first row and column. A view in
    panels accepts rows at any offset. With `rows(%n)`, only the first n rows of the tile are
    stored. Without it, rows past the extent may be stored too, because planned memory is rounded
    up. With `ring`, rows that reach it continue at row 0.

    C1: there is one index for each dimension, of which there are two or more. C2: the tile has the
    view's element type.

    Example:
    ```mlir
    kernel.store %t, %y[%i, %j] rows(%n) : tensor<96x64xf32>, !kernel.view<[d0, 512], f32>
    ```
  }];
  let arguments = (ins Kernel_Tile:$tile, Kernel_View:$view, Variadic<Index>:$indices, Optional<Index>:$rows, OptionalAttr<I64Attr>:$ring);
  let builders = [OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$view, "::mlir::ValueRange":$indices, "::mlir::Value":$rows), [{
    build($_builder, $_state, tile, view, indices, rows, /*ring=*/::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = "$tile `,` $view `[` $indices `]` (`rows` `(` $rows^ `)`)? attr-dict `:` type($tile) `,` custom<View>(type($view))";
}

def Kernel_StoreVectorOp : Kernel_TileStoreOp<"store_vector"> {
  let summary = "stores a column to a vector";
  let description = [{
    The rows of the tile are elements of the vector. `rows` and `ring` have the meaning that they
    have in `kernel.store`.

    C1: the tile is Mx1, and the view is a vector. C2: the tile has the view's element type.

    Example:
    ```mlir
    kernel.store_vector %m, %y[%i] rows(%n) : tensor<96x1xf32>, !kernel.view<[d0], f32>
    ```
  }];
  let arguments = (ins Kernel_Tile:$tile, Kernel_View:$view, Index:$index, Optional<Index>:$rows, OptionalAttr<I64Attr>:$ring);
  let builders = [OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$view, "::mlir::Value":$index, "::mlir::Value":$rows), [{
    build($_builder, $_state, tile, view, index, rows, /*ring=*/::mlir::IntegerAttr());
  }]>];
  let extraClassDeclaration = [{
    ::mlir::OperandRange getIndices() { return getODSOperands(2); }
    ::std::optional<Size> getViewColumns() { return ::std::nullopt; }
  }];
  let assemblyFormat = "$tile `,` $view `[` $index `]` (`rows` `(` $rows^ `)`)? attr-dict `:` type($tile) `,` custom<View>(type($view))";
}

def Kernel_StoreHeadsOp : Kernel_TileStoreOp<"store_heads", [AttrSizedOperandSegments]> {
  let summary = "stores a tile whose columns belong to adjacent heads";
  let description = [{
    A head is a matrix, and the third last dimension of the view counts heads. Memory pads a row of
    a head to a multiple of 16 columns. Columns of the tile after the last column of a head are the
    first columns of the next head; columns after the last head are not stored. Zeros are stored to
    the padding of rows. `rows` and `ring` have the meaning that they have in `kernel.store`.

    C1: the view has rank 4 and a static number of heads, and there is one index for each dimension.
    C2: the tile has the view's element type. C3: the columns of a head are static and a multiple of
    4, and the tile's columns are a multiple of 16.

    Example:
    ```mlir
    kernel.store_heads %t, %y[%b, %c0, %i, %j] rows(%n) : tensor<96x64xf32>, !kernel.view<[d0, 8, d1, 36], f32>
    ```
  }];
  let arguments = (ins Kernel_Tile:$tile, Kernel_View:$view, Variadic<Index>:$indices, Optional<Index>:$rows, OptionalAttr<I64Attr>:$ring);
  let extraClassDeclaration = [{
    ::std::optional<Size> getViewColumns() { return detail::columnsOfHeads(getView().getType()); }
    int64_t getPieceColumns() { return detail::piecesOfHeads(getView().getType()); }
  }];
  let assemblyFormat = "$tile `,` $view `[` $indices `]` (`rows` `(` $rows^ `)`)? attr-dict `:` type($tile) `,` custom<View>(type($view))";
}

def Kernel_StoreColumnsOp : Kernel_TileStoreOp<"store_columns", [AttrSizedOperandSegments]> {
  let summary = "stores the first columns of a tile, as the columns of one head";
  let description = [{
    Stores the first `columns` columns of the tile. A row of the view holds the columns of all heads
    without padding between them. Zeros are stored to the padding of rows. `rows` has the meaning
    that it has in `kernel.store`.

    C1: the view is row-major, and there is one index for each dimension, of which there are two or
    more. C2: the tile has the view's element type. C3: `columns` is a multiple of 4, is at most the
    tile's columns and divides the view's, which are static. The tile's columns are a multiple of
    16.

    Example:
    ```mlir
    kernel.store_columns %t, %y[%i, %j] columns(12) rows(%n) : tensor<96x16xf32>, !kernel.view<[d0, 96], f32>
    ```
  }];
  let arguments = (ins Kernel_Tile:$tile, Kernel_View:$view, Variadic<Index>:$indices, Optional<Index>:$rows, I64Attr:$columns);
  let extraClassDeclaration = [{
    ::std::optional<Size> getViewColumns() { return ::std::nullopt; }
    int64_t getPieceColumns();
  }];
  let assemblyFormat = [{
    $tile `,` $view `[` $indices `]` `columns` `(` $columns `)` (`rows` `(` $rows^ `)`)? attr-dict
    `:` type($tile) `,` custom<View>(type($view))
  }];
}

def Kernel_ScatterOp : Kernel_TileStoreOp<"scatter"> {
  let summary = "stores each row of a tile to a matrix of its own";
  let description = [{
    Row r of the tile is stored in row `index + p[r]` of matrix `first index + r`. A row with a
    negative p[r] is not stored, and neither are rows from n on, with `rows(%n)`. With
    `{over_heads}`, the columns of the tile belong to adjacent heads, as in `kernel.store_heads`.

    C1: the view has rank 3 or more, and there is one index for each dimension. C2: the tile has the
    view's element type. C3: `p` is an Mx1 tile of i32 with the tile's rows. C4: with `over_heads`,
    C1 and C3 of `kernel.store_heads` hold.

    Example:
    ```mlir
    kernel.scatter %t, %y[%b, %h, %i, %j] at(%p : tensor<96x1xi32>) rows(%n) : tensor<96x64xf32>, !kernel.view<[d0, 8, d1, 64], f32>
    ```
  }];
  let arguments = (ins Kernel_Tile:$tile, Kernel_View:$view, Variadic<Index>:$indices, Kernel_Tile:$places, Index:$rows, UnitAttr:$over_heads);
  let extraClassDeclaration = [{
    ::std::optional<Size> getViewColumns() {
      ViewType view = getView().getType();
      return getOverHeads() ? detail::columnsOfHeads(view) : view.getDims().back().extent;
    }
    int64_t getPieceColumns() { return getOverHeads() ? detail::piecesOfHeads(getView().getType()) : 0; }
  }];
  let assemblyFormat = [{
    $tile `,` $view `[` $indices `]` `at` `(` $places `:` type($places) `)` `rows` `(` $rows `)` attr-dict
    `:` type($tile) `,` custom<View>(type($view))
  }];
}

#endif // HEDDLE_DIALECT_KERNEL_IR_STOREOPS_TD
