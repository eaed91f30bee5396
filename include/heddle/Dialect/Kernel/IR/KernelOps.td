//===- KernelOps.td - Kernels and their tile bodies --------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of stage `tiled`: kernel.func, its parts and their bodies. Tiles are
// static tensors of rank 2 that keep their dimensions: a row vector is 1xN, a
// column vector Mx1. Groups and kernels over tensors are in GroupOps.td, launch
// lists in ProgramOps.td.

#ifndef HEDDLE_DIALECT_KERNEL_IR_KERNELOPS_TD
#define HEDDLE_DIALECT_KERNEL_IR_KERNELOPS_TD

include "heddle/Dialect/Kernel/IR/GroupOps.td"
include "heddle/Dialect/Kernel/IR/KernelAttrs.td"
include "heddle/Dialect/Kernel/IR/KernelTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// A tile: a static tensor of rank 2.
def Kernel_Tile : Type<And<[IsRankedTensorTypePred, HasStaticShapePred, HasAnyRankOfPred<[2]>]>, "tile (static tensor of rank 2)", "::mlir::RankedTensorType">;
def Kernel_TileOrScalar : AnyTypeOf<[Kernel_Tile, F32, I32, I1]>;
def Kernel_TileOrView : AnyTypeOf<[Kernel_Tile, Kernel_View]>;

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
                       OptionalAttr<StrAttr>:$few_rows);
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
    converted to numbers. Rows past the extent of the tile may hold any index; the lowering clamps
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

def Kernel_StoreOp : Kernel_Op<"store", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "stores a tile to a view";
  let description = [{
    The indices select points of the leading dimensions, then the first row and column. A view in
    panels accepts rows at any offset. With `rows(%n)`, only the first n rows of the tile are
    stored. Without it, rows past the extent may be stored too, because planned memory is rounded
    up. `as rows` stores an Mx1 tile to a vector. With `ring`, rows that reach it continue at row 0.
    With `at(%p)`, row r of the tile is stored in row `index + p[r]` of matrix `first index + r`; a
    row with a negative p[r] is not stored.

    The columns of a tile may belong to several adjacent heads, each of which memory pads to a
    multiple of 16 columns. With `{over_heads}`, columns after the last column of a matrix are the
    first columns of the next matrix along the third last dimension; columns after the last matrix
    are not stored. With `{columns = n}`, only the first n columns of the tile are stored, as the
    columns of one head. The size of a head and n are multiples of 4. Zeros are stored to the
    padding of rows.

    C1: there is one index for each dimension. C2: the tile has the view's element type. C3:
    `as rows` takes an Mx1 tile and a vector, and vectors require it. C4: `at` is an Mx1 tile of i32
    with the tile's rows. It requires a view of rank 3 or more and `rows`, and excludes `ring`. C5:
    `over_heads` requires a view of rank 4 with a static number of heads. C6: `columns` requires a
    row-major view of rank 2 or more and excludes `over_heads`, `at` and `ring`. C7: both require
    that the view's columns are static and the tile's a multiple of 16. The size of a head or
    `columns` is a multiple of 4. `columns` is at most the tile's columns and divides the view's.

    Example:
    ```mlir
    kernel.store %t, %y[%i, %j] rows(%n) : tensor<96x64xf32>, !kernel.view<[d0, 512], f32>
    kernel.store %t, %y[%b, %h, %i, %j] at(%p : tensor<96x1xi32>) rows(%n) : tensor<96x64xf32>, !kernel.view<[d0, 8, d1, 64], f32>
    kernel.store %t, %y[%b, %c0, %i, %j] rows(%n) {over_heads} : tensor<96x64xf32>, !kernel.view<[d0, 8, d1, 36], f32>
    ```
  }];
  let arguments = (ins Kernel_Tile:$tile, Kernel_View:$view, Variadic<Index>:$indices, Optional<Kernel_Tile>:$places, Optional<Index>:$rows,
                       UnitAttr:$as_rows, OptionalAttr<I64Attr>:$ring, UnitAttr:$over_heads, OptionalAttr<I64Attr>:$columns);
  let builders = [OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$view, "::mlir::ValueRange":$indices, CArg<"::mlir::Value", "{}">:$rows,
                             CArg<"::mlir::IntegerAttr", "{}">:$ring), [{
    build($_builder, $_state, tile, view, indices, /*places=*/::mlir::Value(), rows, /*as_rows=*/::mlir::UnitAttr(), ring, /*over_heads=*/::mlir::UnitAttr(), /*columns=*/::mlir::IntegerAttr());
  }]>,
  OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$view, "::mlir::ValueRange":$indices, "::mlir::Value":$rows, "::mlir::UnitAttr":$as_rows,
             CArg<"::mlir::IntegerAttr", "{}">:$ring), [{
    build($_builder, $_state, tile, view, indices, /*places=*/::mlir::Value(), rows, as_rows, ring, /*over_heads=*/::mlir::UnitAttr(), /*columns=*/::mlir::IntegerAttr());
  }]>,
  OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$view, "::mlir::ValueRange":$indices, "::mlir::Value":$places, "::mlir::Value":$rows), [{
    build($_builder, $_state, tile, view, indices, places, rows, /*as_rows=*/::mlir::UnitAttr(), /*ring=*/::mlir::IntegerAttr(), /*over_heads=*/::mlir::UnitAttr(), /*columns=*/::mlir::IntegerAttr());
  }]>];
  let extraClassDeclaration = [{
    /// Columns of the view that the tile may cover; with `over_heads`, the columns of all heads.
    Size getViewColumns();
    /// Number of columns that are contiguous in memory from each of its multiples on; 0 if all
    /// columns of the tile are.
    int64_t getPieceColumns();
  }];
  let assemblyFormat = "$tile `,` $view `[` $indices `]` (`as` `rows` $as_rows^)? (`at` `(` $places^ `:` type($places) `)`)? (`rows` `(` $rows^ `)`)? attr-dict `:` type($tile) `,` custom<View>(type($view))";
  let hasVerifier = 1;
}

//===- Tiles -------------------------------------------------------------===//

def Kernel_ContractOp : Kernel_Op<"contract", [Pure, AttrSizedOperandSegments,
    PredOpTrait<"C8: formats whose scales enter the sums, and no others, have `scales`, of f32, for the left's rows", CPred<"hasOwnScales()">>]> {
  let summary = "matrix product; each element is one ascending chain of fused multiply-adds";
  let description = [{
    The op has two forms:

    * `%x[%i], %w[%j]`, a product over features:
      `result[r, c] = sum over k of lhs[i + r, k] * rhs[j + c, k]`, with k ascending from zero. The
      right view is in panels.
    * `%p, %v[%k] over rows(%n)`, a product over rows:
      `sum over s < n of lhs[r, s] * rhs[k + s, c]`. The left operand is a tile with at least n
      columns. With `{guarded}`, a product whose left factor is 0 is skipped if its right factor is
      not finite.

    Three clauses limit the work:

    * `columns(%n)`: only the first n columns of the result are needed.
    * `from(%f)`: columns before column f of the result are not needed. With `over rows`, the sum
      begins at row f of the range.
    * `tiles(%visited by 64)`: column tiles (64 wide, counted from column 0) whose bit is not set
      are not needed. With `over rows`, these tiles of rows are left out of the sum.

    The element types define the arithmetic:

    * bf16 on both sides: the sum takes pairs k, k + 1 from an even k (with `over rows`, counted
      from row 0 of the range). It adds the odd k first, then the even k, each by one fused
      multiply-add. A missing partner is zero, and denormals count as zero.
    * i8 on both sides: bytes are unsigned on the left and signed on the right. The sum is an exact
      i32.
    * f32 or bf16 on the left, another type on the right: elements of the right operand are
      converted to f32 when read, and rounded to the left's type. i8 elements are codes: `kept(%e)`
      holds a number e for each row of the right operand, and a code represents `e * code`, rounded
      to f32.
    * i8 and i4, with `scales(%s)`: bytes on the left are codes p. The right operand has codes q,
      and a scale d and a minimum m for each group. A row of `scales` holds e and s for each group
      of the left row. The sum starts at +0. For each group it computes
      `a = fma(f32(sum of p * q), e * f32(d), a)`, then `a = fma(s, f32(m), a)`.

    C1: a view on the left has an index, a tile has none. C2: without `over rows`, both operands are
    views of rank 2 with equal last dimensions, and the right view is in panels. C3: with
    `over rows`, the left operand is a tile and the right one a row-major view of rank 2. C4:
    `guarded` requires `over rows`. C5: the result has the rows of the left tile. C6: a tile of
    `tiles` divides the columns of the result (with `over rows`, of the left operand) into at most
    32.

    C7: the operands have the types of rows and weights of a number format (`Support/Formats.h`), or
    the right operand has a type in which keys and values are kept. `kept` is present if and only if
    the right operand holds codes that are converted. The result has the type of the format's sums.
    With `over rows`, the format has no scales. Elements that are stored in a narrower type than
    they are multiplied in are widened and summed as f32, including padding features that share a
    word with the last one. With f16 on both sides, up to 128 products may be summed in f16 first.
    C8: `scales` is present if and only if the format's scales enter the sums. It is a view of f32
    with the left's rows, and each row has the number of scales that the format defines.

    Example:
    ```mlir
    %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 512], f32>, !kernel.view<[512, 512], f32, panel = 16> -> tensor<96x64xf32>
    %o = kernel.contract %p, %v[%k] over rows(%n) {guarded} : tensor<96x512xf32>, !kernel.view<[d3|d4, 64], f32> -> tensor<96x64xf32>
    %g = kernel.contract %q[%i], %u[%j] scales(%s : !kernel.view<[d0, 32], f32>) : !kernel.view<[d0, 512], i8>, !kernel.view<[512, 512], i4, panel = 16> -> tensor<96x64xf32>
    ```
  }];
  let arguments = (ins Kernel_TileOrView:$lhs, Optional<Index>:$lhs_index, Kernel_View:$rhs, Index:$rhs_index, Optional<Index>:$rows,
                       Optional<Index>:$columns, Optional<Index>:$from, Optional<I32>:$visited, Optional<Kernel_View>:$scales,
                       Optional<Kernel_View>:$kept_scales,
                       OptionalAttr<I64Attr>:$visit_tile, UnitAttr:$guarded);
  let results = (outs Kernel_Tile:$result);
  let extraClassDeclaration = [{
    /// Whether the right operand is a packed weight, which the product streams and can prefetch.
    bool readsWeights();
    /// Format in which the operands are multiplied; null in an op that was not verified.
    const ::heddle::NumberFormat *findFormat();
    const ::heddle::NumberFormat &getFormat() { return *findFormat(); }
    /// Whether elements of the right operand are converted to the format's weight type when read.
    bool convertsRight();
    /// Whether C8 holds.
    bool hasOwnScales() {
      const ::heddle::NumberFormat *format = findFormat();
      auto left = ::llvm::dyn_cast<ViewType>(getLhs().getType());
      if (!format || !format->sumsGroups() || !left || !getScales())
        return !getScales() && !(format && format->sumsGroups());
      auto given = ::llvm::cast<ViewType>(getScales().getType());
      const Size &features = left.getDims().back().extent;
      return given.getRank() == 2 && !given.getPanel() && given.getElementType().isF32() && given.getDim(0) == left.getDim(0) &&
             features.isStatic() && given.getDim(1).extent == Size(format->rowScales(features.value));
    }
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$lhsIndex, "::mlir::Value":$rhs, "::mlir::Value":$rhsIndex,
                   CArg<"::mlir::Value", "{}">:$scales), [{
      build($_builder, $_state, type, lhs, lhsIndex, rhs, rhsIndex, /*rows=*/::mlir::Value(), /*columns=*/::mlir::Value(), /*from=*/::mlir::Value(),
            /*visited=*/::mlir::Value(), scales, /*kept_scales=*/::mlir::Value(), /*visit_tile=*/::mlir::IntegerAttr(), /*guarded=*/::mlir::UnitAttr());
    }]>,
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$lhsIndex, "::mlir::Value":$rhs, "::mlir::Value":$rhsIndex,
                   "::mlir::Value":$rows, "::mlir::Value":$columns, "::mlir::Value":$from, "::mlir::Value":$visited,
                   "::mlir::Value":$keptScales, "::mlir::IntegerAttr":$visitTile, "::mlir::UnitAttr":$guarded), [{
      build($_builder, $_state, type, lhs, lhsIndex, rhs, rhsIndex, rows, columns, from, visited, /*scales=*/::mlir::Value(), keptScales, visitTile,
            guarded);
    }]>];
  let assemblyFormat = [{
    $lhs (`[` $lhs_index^ `]`)? `,` $rhs `[` $rhs_index `]` (`scales` `(` $scales^ `:` custom<View>(type($scales)) `)`)?
    (`kept` `(` $kept_scales^ `:` custom<View>(type($kept_scales)) `)`)? (`over` `rows` `(` $rows^ `)`)? (`columns` `(` $columns^ `)`)?
    (`from` `(` $from^ `)`)? (`tiles` `(` $visited^ `by` $visit_tile `)`)? attr-dict `:` type($lhs) `,` custom<View>(type($rhs)) `->` type($result)
  }];
  let hasVerifier = 1;
}

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

include "heddle/Dialect/Kernel/IR/TileMaskOps.td"

#endif // HEDDLE_DIALECT_KERNEL_IR_KERNELOPS_TD
