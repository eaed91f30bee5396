//===- KernelOps.td - Kernels and their tile bodies --------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of stage `tiled`: kernel.func, its parts and their bodies. Tiles are
// static tensors of rank 2 that keep their dimensions: a row vector is 1xN, a
// column vector Mx1. Products are in ContractOps.td, stores in StoreOps.td, groups
// and kernels over tensors in GroupOps.td, launch lists in ProgramOps.td.

#ifndef HEDDLE_DIALECT_KERNEL_IR_KERNELOPS_TD
#define HEDDLE_DIALECT_KERNEL_IR_KERNELOPS_TD

include "heddle/Dialect/Kernel/IR/GroupOps.td"
include "heddle/Dialect/Kernel/IR/KernelAttrs.td"
include "heddle/Dialect/Kernel/IR/KernelInterfaces.td"
include "heddle/Dialect/Kernel/IR/KernelTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===- The tiled kernel --------------------------------------------------===//

def Kernel_FuncOp : Kernel_Op<"func", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "a kernel: a grid of workgroups that run one body";
  let description = [{
    Arguments are views. `scalars` lists the names of the kernel's numbers, in the order in which a
    launch passes them. The grid has up to three axes. Each axis is a number or a scalar divided
    into tiles, and the body receives the first element of its tile on each axis. A body that
    consists of `kernel.part` ops has one more axis, the last, over the tiles of all its parts.

    C1: views use only listed scalars. C2: grid axes use only listed scalars, and tiles are
    positive. C3: the block's arguments are the views, followed by one index for each axis. C4: a
    body with parts holds only parts, and the grid has at most three axes including the axis of the
    parts. C5: `storage`, if present, is `memory` or `weight` for each view. C6: `few_rows`, if
    present, is the scalar of a grid axis. The kernel is then a form of the preceding kernel, with
    the same arguments, for launches with at most one tile of rows along that axis. C7: the body has
    the products that its `plan` requires. C8: an axis of the grid has tiles with the rows of the
    plan's `tile`, if present.

    A kernel with `rounds` is also a form of the preceding kernel with the same arguments. It rounds
    the rows of a product whose plan is `rounded`. Stores to f16 use the device's conversion, as the
    other forms do that round the rows themselves.

    Example:
    ```mlir
    kernel.func @double(%x: !kernel.view<[d0, 64], f32>, %y: !kernel.view<[d0, 64], f32>) scalars(d0) grid(%i = d0 by 32) {
      %zero = arith.constant 0 : index
      %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 64], f32> -> tensor<32x64xf32>
      %s = arith.addf %t, %t : tensor<32x64xf32>
      kernel.store %s, %y[%i, %zero] : tensor<32x64xf32>, !kernel.view<[d0, 64], f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$scalars, ArrayAttr:$grid_sizes, DenseI64ArrayAttr:$grid_tiles,
                       OptionalAttr<Kernel_PlanAttr>:$plan, OptionalAttr<TypedArrayAttrBase<Kernel_StorageAttr, "memory of each view">>:$storage,
                       OptionalAttr<StrAttr>:$few_rows, UnitAttr:$rounds);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  // Also creates the block: its arguments are the views, then one index for each grid axis.
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::ArrayRef<::mlir::Type>":$views, "::llvm::ArrayRef<::mlir::StringRef>":$scalars,
                                 "::llvm::ArrayRef<Size>":$gridSizes, "::llvm::ArrayRef<int64_t>":$gridTiles, CArg<"PlanAttr", "{}">:$plan)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getNumViews() { return getBody().getNumArguments() - getNumAxes(); }
    int64_t getNumAxes() { return getGridTiles().size(); }
    Size getGridSize(int64_t axis) { return Size::fromAttribute(getGridSizes()[axis]); }
    ::mlir::BlockArgument getView(int64_t i) { return getBody().getArgument(i); }
    ::mlir::BlockArgument getGridIndex(int64_t axis) { return getBody().getArgument(getNumViews() + axis); }
    /// Position of a scalar in the list, or -1.
    int64_t getScalarIndex(::llvm::StringRef name);
    bool hasParts();
    /// The maximum number of rows of a form for few rows; 0 if the kernel is no such form.
    int64_t getMostRows();
    /// Whether any store writes through argument `i`.
    bool isWritten(int64_t i);
    /// Whether argument `i` is a packed weight according to `storage`.
    bool isWeight(int64_t i);
    /// Whether the body has a product.
    bool multiplies();
  }];
}

def Kernel_PartOp : Kernel_Op<"part", [HasParent<"FuncOp">, SingleBlock, NoTerminator]> {
  let summary = "one of several bodies that share a launch";
  let description = [{
    The kernel's last axis numbers the grid points of its parts consecutively. A part has one point
    for each of its tiles.

    C1: the tile is positive. C2: the block has one index argument.

    Example:
    ```mlir
    kernel.part(%j = 512 by 64) {
      %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 512], f32>, !kernel.view<[512, 512], f32, panel = 16> -> tensor<96x64xf32>
      kernel.store %c, %y[%i, %j] : tensor<96x64xf32>, !kernel.view<[d0, 512], f32>
    }
    ```
  }];
  let arguments = (ins AnyAttr:$size, I64Attr:$tile);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "Size":$size, "int64_t":$tile)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getIndex() { return getBody().getArgument(0); }
    Size getExtent() { return Size::fromAttribute(getSize()); }
  }];
}

def Kernel_ScalarOp : Kernel_Op<"scalar", [Pure]> {
  let summary = "a number that the launch passes";
  let description = [{
    C1: the kernel lists the scalar.

    Example:
    ```mlir
    %n = kernel.scalar "d0" : index
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Index:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===- Views -------------------------------------------------------------===//

def Kernel_SliceOp : Kernel_Op<"slice", [Pure]> {
  let summary = "fixes the leading dimensions of a view";
  let description = [{
    C1: there are fewer indices than dimensions. C2: the result has the remaining dimensions, the
    element type and the panel of the view.

    Example:
    ```mlir
    %qh = kernel.slice %q[%b, %h] : !kernel.view<[d0, 8, d1|d2, 64], f32> -> !kernel.view<[d1|d2, 64], f32>
    ```
  }];
  let arguments = (ins Kernel_View:$view, Variadic<Index>:$indices);
  let results = (outs Kernel_View:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$indices)>];
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` custom<View>(type($view)) `->` custom<View>(type($result))";
  let hasVerifier = 1;
}

def Kernel_ExtentOp : Kernel_Op<"extent", [Pure]> {
  let summary = "the number of valid elements of a dimension";
  let description = [{
    C1: the dimension exists.

    Example:
    ```mlir
    %tk = kernel.extent %kh, 0 : !kernel.view<[d3|d4, 64], f32, panel = 16>
    ```
  }];
  let arguments = (ins Kernel_View:$view, I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $dim attr-dict `:` custom<View>(type($view))";
  let hasVerifier = 1;
}

def Kernel_ReadOp : Kernel_Op<"read", [Pure]> {
  let summary = "loads one element of a view as a scalar";
  let description = [{
    C1: there is one index for each dimension. C2: the result has the view's element type.

    Example:
    ```mlir
    %n = kernel.read %lengths[%b] : !kernel.view<[d0], i32> -> i32
    ```
  }];
  let arguments = (ins Kernel_View:$view, Variadic<Index>:$indices);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$indices)>];
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` custom<View>(type($view)) `->` type($result)";
  let hasVerifier = 1;
}

def Kernel_LoadOp : Kernel_Op<"load", [Pure]> {
  let summary = "loads a tile of a view";
  let description = [{
    For a view of rank 2 or more, the indices select points of the leading dimensions, then the
    first row and column. For a vector, `[%j]` loads a 1xN tile and `[%i] as rows` an Mx1 tile. Rows
    and columns past the extent may be read; their values are unspecified.

    C1: there is one index for each dimension. C2: the tile has the view's element type. C3: a tile
    of a vector is 1xN, or Mx1 with `as rows`. C4: the view is row-major.

    Example:
    ```mlir
    %t = kernel.load %x[%i, %j] : !kernel.view<[d0, 512], f32> -> tensor<96x64xf32>
    %b = kernel.load %bias[%j] : !kernel.view<[512], f32> -> tensor<1x64xf32>
    %r = kernel.load %ids[%i] as rows : !kernel.view<[d0], i32> -> tensor<96x1xi32>
    ```
  }];
  let arguments = (ins Kernel_View:$view, Variadic<Index>:$indices, UnitAttr:$as_rows);
  let results = (outs Kernel_Tile:$result);
  let assemblyFormat = "$view `[` $indices `]` (`as` `rows` $as_rows^)? attr-dict `:` custom<View>(type($view)) `->` type($result)";
  let hasVerifier = 1;
}

def Kernel_GatherOp : Kernel_Op<"gather", [Pure]> {
  let summary = "loads a table row for each row of the tile";
  let description = [{
    `result[r, c] = view[rows[r], column + c]`, as f32: narrower elements are widened, and codes are
    converted to numbers. Codes that are stored with scales and minimums are multiplied and added
    to them. Rows past the extent of the tile may hold any index; the lowering clamps
    it to the table.

    C1: the view is a table of rank 2, in panels if its elements are narrower than 4 bytes. C2:
    `rows` is an Mx1 tile of i32 with the tile's rows. C3: the tile is of f32.

    Example:
    ```mlir
    %e = kernel.gather %table[%rows], %j : !kernel.view<[1000, 512], f32>, tensor<96x1xi32> -> tensor<96x64xf32>
    ```
  }];
  let arguments = (ins Kernel_View:$view, Kernel_Tile:$rows, Index:$column);
  let results = (outs Kernel_Tile:$result);
  let assemblyFormat = "$view `[` $rows `]` `,` $column attr-dict `:` custom<View>(type($view)) `,` type($rows) `->` type($result)";
  let hasVerifier = 1;
}

//===- Tiles -------------------------------------------------------------===//

def Kernel_BroadcastOp : Kernel_Op<"broadcast", [Pure]> {
  let summary = "repeats a row, a column or a scalar";
  let description = [{
    C1: each dimension of the operand is 1 or the size of that dimension in the result. C2: element
    types agree.

    Example:
    ```mlir
    %tb = kernel.broadcast %t : tensor<1x64xf32> -> tensor<96x64xf32>
    ```
  }];
  let arguments = (ins Kernel_TileOrScalar:$operand);
  let results = (outs Kernel_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Kernel_ReduceOp : Kernel_Op<"reduce", [Pure]> {
  let summary = "row reduction";
  let description = [{
    `add` sums 16 virtual lanes (column mod 16), each in ascending order. It then combines the lanes
    by one fixed tree: l and l + 8, l and l + 4, and so on.

    C1: the result is an Mx1 tile with the rows and the element type of the operand.

    Example:
    ```mlir
    %m = kernel.reduce max %t : tensor<96x512xf32> -> tensor<96x1xf32>
    ```
  }];
  let arguments = (ins Kernel_ReduceKind:$kind, Kernel_Tile:$operand);
  let results = (outs Kernel_Tile:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Kernel_ScalebOp : Kernel_Op<"scaleb", [Pure, AllTypesMatch<["value", "exponent", "result"]>]> {
  let summary = "a float times a power of two";
  let description = [{
    Computes `value * 2^exponent`. Exponents are integers of at most 127, held as f32. The result is
    0 if the exponent is below -125, so that no softmax weight is a denormal. NaN stays NaN.
    (scaleB: IEEE 754, section 5.3.3.)

    C1: elements are f32.

    Example:
    ```mlir
    %p = kernel.scaleb %x by %n : tensor<96x512xf32>
    ```
  }];
  let arguments = (ins Kernel_TileOrScalar:$value, Kernel_TileOrScalar:$exponent);
  let results = (outs Kernel_TileOrScalar:$result);
  let assemblyFormat = "$value `by` $exponent attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Kernel_IotaOp : Kernel_Op<"iota", [Pure]> {
  let summary = "row or column indices";
  let description = [{
    `rows from %i`: `result[r, c] = i + r`; `columns from %j`: `result[r, c] = j + c`. The start wraps to i32.

    C1: the tile holds i32.

    Example:
    ```mlir
    %c = kernel.iota columns from %j : tensor<1x512xi32>
    ```
  }];
  let arguments = (ins UnitAttr:$of_rows, Index:$start);
  let results = (outs Kernel_Tile:$result);
  let assemblyFormat = "(`rows` $of_rows^) : (`columns`)? `from` $start attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kernel_RandomWordsOp : Kernel_Op<"random_words", [Pure]> {
  let summary = "a random word for each element of the tile";
  let description = [{
    `result[r, c]` is the word `(column / 16) mod 4` of Philox4x32-10 (Salmon et al., Parallel Random
    Numbers: As Easy as 1, 2, 3, 2011) with the counter `(16 * (column / 64) + column mod 16,
    position, example, site)` and the key `(seed, step)`. The columns c, c + 16, c + 32 and c + 48 of
    64 share one block of four words, so that a lowering computes it once for four vectors.

    C1: tiles hold i32. C2: each dimension of a tile of counters is 1 or the size of that dimension
    in the result.

    Example:
    ```mlir
    %j = kernel.iota columns from %c : tensor<1x64xi32>
    %i = kernel.iota rows from %r : tensor<96x1xi32>
    %w = kernel.random_words (%j, %i, %example, %site) key(%seed, %step) : (tensor<1x64xi32>, tensor<96x1xi32>, i32) -> tensor<96x64xi32>
    ```
  }];
  let arguments = (ins Kernel_TileOrScalar:$column, Kernel_TileOrScalar:$position, Kernel_TileOrScalar:$example, I32:$site, I32:$seed, I32:$step);
  let results = (outs Kernel_Tile:$result);
  let assemblyFormat = "`(` $column `,` $position `,` $example `,` $site `)` `key` `(` $seed `,` $step `)` attr-dict `:` `(` type($column) `,` type($position) `,` type($example) `)` `->` type($result)";
  let hasVerifier = 1;
}

include "heddle/Dialect/Kernel/IR/ContractOps.td"
include "heddle/Dialect/Kernel/IR/StoreOps.td"
include "heddle/Dialect/Kernel/IR/TileMaskOps.td"

#endif // HEDDLE_DIALECT_KERNEL_IR_KERNELOPS_TD
