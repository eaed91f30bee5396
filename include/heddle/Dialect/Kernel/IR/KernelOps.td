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
    Arguments are views. `scalars` names the kernel's numbers, in the order in which a launch passes them. The grid has up to three axes, each a
    number or scalar cut in tiles; the body gets the first element of its tile on each axis. A body that consists of `kernel.part` ops has one more
    axis, the last, over the tiles of all its parts.

    C1: views use only listed scalars. C2: so do grid axes; tiles are positive. C3: the block's arguments are the views, then one index an axis.
    C4: parts come alone, and leave room for their axis (at most three in all). C5: `storage`, where it is given, says `memory` or `weight` for each
    view. C6: `few_rows`, where it is given, is the scalar of a grid axis: this kernel is a form of the one before it, which has the same arguments, for
    launches with at most a tile of rows along that axis. C7: a body has the products that its `plan` is for. C8: an axis of the grid has tiles of as
    many rows as the `tile` of the plan, where it is given.

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
  // Creates the block too: views first, then one index for each grid axis.
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
    /// The most rows of a form for few of them; 0: no such form.
    int64_t getMostRows();
    /// Whether any store writes through argument `i`.
    bool isWritten(int64_t i);
    /// Whether argument `i` is a packed weight, by `storage`.
    bool isWeight(int64_t i);
    /// Whether the body has a product.
    bool multiplies();
  }];
}

def Kernel_PartOp : Kernel_Op<"part", [HasParent<"FuncOp">, SingleBlock, NoTerminator]> {
  let summary = "one of several bodies that share a launch";
  let description = [{
    The kernel's last axis numbers the grid points of its parts one after the other; a part has one point for each of its tiles.

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
  let summary = "a view of lower rank, at points of the leading dimensions";
  let description = [{
    C1: fewer indices than dimensions. C2: the result has the remaining dimensions, element and panel.

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
  let summary = "how many elements of a dimension are valid";
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
  let summary = "one element of a view as a scalar";
  let description = [{
    C1: one index a dimension. C2: the result has the view's element type.

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
  let summary = "a tile of a view";
  let description = [{
    From a view of rank 2 or more: leading points, then the first row and column. From a vector: `[%j]` gives 1xN, `[%i] as rows` Mx1.
    Rows and columns past the extent may be read; their values are unspecified.

    C1: one index a dimension. C2: the tile has the view's element type. C3: from a vector the tile is 1xN, or Mx1 with `as rows`.
    C4: the view is row-major.

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
  let summary = "a table row for each row of the tile";
  let description = [{
    `result[r, c] = view[rows[r], column + c]`, as f32: narrower elements are widened, codes become numbers. Rows past the extent of the tile may hold
    any index: the lowering clamps it to the table.

    C1: the view is a table of rank 2, in panels if its elements are narrower than 4 bytes. C2: rows is Mx1 of i32 with the tile's rows. C3: the tile is
    of f32.

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
  let summary = "writes a tile to a view";
  let description = [{
    Leading points, then the first row and column; a view in panels takes rows at any offset. With `rows(%n)` only the first n rows of
    the tile are written; without it rows past the extent may be written too (planned memory is rounded up). `as rows` stores an Mx1 tile to a vector.
    With `ring`, rows go on from row 0 where they reach it.
    With `at(%p)` row r of the tile goes to row `index + p[r]` of matrix `first index + r`; where p[r] is negative it is not stored.

    The columns of a tile may be those of heads side by side that memory pads to multiples of 16. With `{over_heads}` columns behind the last of a
    matrix are the first of the next one, of the third last dimension; those behind the last matrix are not stored. With `{columns = n}` only the
    first n columns of the tile are stored, those of one head. Both are multiples of 4, and zeros are stored where rows are padded.

    C1: one index a dimension. C2: the tile has the view's element type. C3: `as rows` takes an Mx1 tile and a vector, vectors take nothing else.
    C4: `at` is Mx1 of i32 with the tile's rows, of a view of rank 3 or more, with `rows` and without `ring`.
    C5: `over_heads` takes a view of rank 4 with a static number of heads. C6: `columns` takes a view in rows and no `over_heads`, `at` or `ring`.
    C7: both take static columns, a multiple of 4, and a tile of a multiple of 16, for `columns` of at least as many; these divide those of the view.

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
    /// Columns that the view has for the tile: of all heads where it goes over them.
    Size getViewColumns();
    /// Columns of which neighbours lie side by side in memory, from a multiple of them on; 0: all of the tile's.
    int64_t getPieceColumns();
  }];
  let assemblyFormat = "$tile `,` $view `[` $indices `]` (`as` `rows` $as_rows^)? (`at` `(` $places^ `:` type($places) `)`)? (`rows` `(` $rows^ `)`)? attr-dict `:` type($tile) `,` custom<View>(type($view))";
  let hasVerifier = 1;
}

//===- Tiles -------------------------------------------------------------===//

def Kernel_ContractOp : Kernel_Op<"contract", [Pure, AttrSizedOperandSegments,
    PredOpTrait<"C8: formats whose scales enter the sums, and no others, have `scales`, of f32, for the left's rows", CPred<"hasOwnScales()">>]> {
  let summary = "matrix product: one ascending chain of fused multiply-adds an element";
  let description = [{
    `%x[%i], %w[%j]`: `result[r, c] = sum over k of lhs[i + r, k] * rhs[j + c, k]`, k ascending from zero; the right view is in panels.
    `%p, %v[%k] over rows(%n)`: `sum over s < n of lhs[r, s] * rhs[k + s, c]`; the left is a tile, n at most its columns. `{guarded}`: products with a
    left factor of 0 are left out where a value of those rows is not finite.
    `columns(%n)`: only the first n columns of the result are needed. `from(%f)`: nor are those before column f; with `over rows` the sum begins at
    row f of the range. `tiles(%visited by 64)`: nor are column tiles (64 wide, counted from column 0) whose bit is not set; with `over rows` such
    tiles of rows are left out of the sum.
    bf16 on both sides: the sum takes pairs k, k + 1 from an even k (with `over rows` counted from row 0 of the range), the odd k first, then the even
    one, each by a fused multiply-add; a missing partner is zero. Denormals count as zero.
    i8 on both sides: bytes are unsigned on the left, signed on the right; the sum is an exact i32.
    f32 or bf16 on the left, another type on the right: elements of the right become f32 as they enter, and are rounded to the left's type. Those of
    i8 are codes, beside them `kept(%e)` has a number e for each row of the right: they stand for `e * code`, rounded to f32.
    i8 and i4, with `scales(%s)`: bytes on the left are codes p; the right has codes q, and a scale d and a minimum m a group. A row of `scales` has e
    and s of each group of the left's row. Group by group, from +0: `a = fma(f32(sum of p * q), e * f32(d), a)`, then `a = fma(s, f32(m), a)`.

    C1: a view on the left has an index, a tile has none. C2: without `over rows` both are views of rank 2 that agree in their last dimension and the right is in panels.
    C3: with `over rows` the left is a tile and the right a row-major view of rank 2. C4: `guarded` needs `over rows`. C5: the result's rows are the left tile's.
    C6: a tile of `tiles` divides the columns of the result (with `over rows`, of the left), into at most 32.
    C7: the sides have the elements of rows and weights of a number format (`Support/Formats.h`), or the right has those of a type in which keys and
    values are kept, with `kept` if they are codes, and only then; the result has the elements of the format's sums; with `over rows`
    the format has no scales. Elements stored narrower than they are multiplied are widened, and summed as f32, including padding features that share
    a word with the last one. With f16 on both sides, up to 128 products may be summed in f16 first. C8: formats whose scales enter the sums, and no
    others, have `scales`: a view of f32 with the left's rows, each of as many numbers as the format says.

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
    /// Whether the right side is a packed weight, which the product streams and can prefetch.
    bool readsWeights();
    /// Format in which both sides are multiplied; null in an op that is not verified.
    const ::heddle::NumberFormat *findFormat();
    const ::heddle::NumberFormat &getFormat() { return *findFormat(); }
    /// Whether elements of the right side become those of the format as they enter.
    bool convertsRight();
    /// C8.
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
    C1: each dimension of the operand is 1 or the result's. C2: element types agree.

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
    `add` sums 16 virtual lanes (column mod 16), each ascending, then the lanes in one fixed tree: l and l + 8, l and l + 4, and so on.

    C1: the result is Mx1 with the operand's rows and element.

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
    `value * 2^exponent` for exponents that are integers, at most 127, held as f32; 0 where the exponent is below -125, so that no
    weight of a softmax is a denormal. A NaN stays one. (scaleB: IEEE 754, section 5.3.3.)

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

//===- Masks and tables --------------------------------------------------===//

def Kernel_MaskOp : Kernel_Op<"mask", [Pure, SingleBlock, AllTypesMatch<["tile", "result"]>]> {
  let summary = "replaces elements where a predicate is false";
  let description = [{
    Elements keep their value where the region yields true; the others become `value`. Column tiles (`by` columns wide, counted from column 0) have a
    bit each in `visited` and `full`: a full tile is kept, one that is not visited becomes `value`, and the region need not be evaluated for either.

    C1: the region yields i1 of the tile's shape. C2: the column tile divides the tile's columns, into at most 32.

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
  let summary = "the truth of a mask's elements";
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
  let summary = "an element of a vector or matrix for each element of the tile";
  let description = [{
    `result[r, c] = view[y[r, c], x[r, c]]`, without `y` in a vector; 0 if an index is outside the view's extent.

    C1: one tile of indices a dimension of the view, at most two, i32 and of the result's shape. C2: the result has the view's
    element type. C3: the view is row-major.

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
  let summary = "smallest and largest element in a range of a vector";
  let description = [{
    Over `view[x]` for x in `[from, to)`, i32 values; a place outside the view's extent counts as 0. In an empty range both are 0.

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

#endif // HEDDLE_DIALECT_KERNEL_IR_KERNELOPS_TD
