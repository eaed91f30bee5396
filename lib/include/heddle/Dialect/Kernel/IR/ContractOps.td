//===- ContractOps.td - Products of tiled bodies -----------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products over features, over rows, and over groups of features with scales.
// KernelOps.td includes this file after the types that it uses.

#ifndef HEDDLE_DIALECT_KERNEL_IR_CONTRACTOPS_TD
#define HEDDLE_DIALECT_KERNEL_IR_CONTRACTOPS_TD

class Kernel_ProductOp<string mnemonic, list<Trait> traits = []> : Kernel_Op<mnemonic, [Pure, ProductOpInterface] # traits> {
  let results = (outs Kernel_Tile:$result);
  let hasVerifier = 1;
}

def Kernel_ContractOp : Kernel_ProductOp<"contract", [AttrSizedOperandSegments]> {
  let summary = "product over features; each element is one ascending chain of fused multiply-adds";
  let description = [{
    `result[r, c] = sum over k of lhs[i + r, k] * rhs[j + c, k]`, with k ascending from zero.

    Three clauses limit the work:

    * `columns(%n)`: only the first n columns of the result are needed.
    * `from(%f)`: columns before column f of the result are not needed.
    * `tiles(%visited by 64)`: column tiles (64 wide, counted from column 0) whose bit is not set
      are not needed.

    The element types define the arithmetic:

    * bf16 on both sides: the sum takes pairs k, k + 1 from an even k. It adds the odd k first, then
      the even k, each by one fused multiply-add. A missing partner is zero, and denormals count as
      zero.
    * i8 on both sides: bytes are unsigned on the left and signed on the right. The sum is an exact
      i32. With `{centered}`, 128 is subtracted from each byte on the left: bytes of 128 + code count
      as signed codes.
    * f32 or bf16 on the left, another type on the right: elements of the right operand are
      converted to f32 when read, and rounded to the left's type. i8 elements are codes: `kept(%e)`
      holds a number e for each row of the right operand, and a code represents `e * code`, rounded
      to f32.

    Elements that are stored in a narrower type than they are multiplied in are widened and summed
    as f32, including padding features that share a word with the last one. With f16 on both sides,
    up to 128 products may be summed in f16 first.

    C1: both operands are views of rank 2 with equal last dimensions. The left view is row-major,
    the right view is in panels. C2: the operands have the types of rows and weights of a number
    format (`Support/Formats.h`) whose scales do not enter the sums, or the right operand has a type
    in which keys and values are kept. C3: `kept` is present if and only if the right operand holds
    codes that are converted. C4: the result has the type of the format's sums. C5: a tile of
    `tiles` divides the columns of the result into at most 32. C6: only products of i8 are centered.

    Example:
    ```mlir
    %c = kernel.contract %x[%i], %w[%j] : !kernel.view<[d0, 512], f32>, !kernel.view<[512, 512], f32, panel = 16> -> tensor<96x64xf32>
    %s = kernel.contract %q[%i], %k[%j] columns(%n) : !kernel.view<[d1|d2, 64], f32>, !kernel.view<[d3|d4, 64], f32, panel = 16> -> tensor<96x512xf32>
    ```
  }];
  let arguments = (ins Kernel_View:$lhs, Index:$lhs_index, Kernel_View:$rhs, Index:$rhs_index, Optional<Kernel_View>:$kept_scales,
                       Optional<Index>:$columns, Optional<Index>:$from, Optional<I32>:$visited, OptionalAttr<I64Attr>:$visit_tile,
                       UnitAttr:$centered);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$lhsIndex, "::mlir::Value":$rhs,
                                 "::mlir::Value":$rhsIndex), [{
    build($_builder, $_state, type, lhs, lhsIndex, rhs, rhsIndex, /*kept_scales=*/::mlir::Value(), /*columns=*/::mlir::Value(),
          /*from=*/::mlir::Value(), /*visited=*/::mlir::Value(), /*visit_tile=*/::mlir::IntegerAttr());
  }]>];
  let extraClassDeclaration = [{
    RowRange getRange() {
      return {getFrom(), getColumns(), getVisited(), static_cast<int64_t>(getVisitTile().value_or(0))};
    }
  }];
  let assemblyFormat = [{
    $lhs `[` $lhs_index `]` `,` $rhs `[` $rhs_index `]` (`kept` `(` $kept_scales^ `:` custom<View>(type($kept_scales)) `)`)?
    (`columns` `(` $columns^ `)`)? (`from` `(` $from^ `)`)? (`tiles` `(` $visited^ `by` $visit_tile `)`)? attr-dict
    `:` custom<View>(type($lhs)) `,` custom<View>(type($rhs)) `->` type($result)
  }];
}

def Kernel_ContractRowsOp : Kernel_ProductOp<"contract_rows", [AttrSizedOperandSegments]> {
  let summary = "product over rows; each element is one ascending chain of fused multiply-adds";
  let description = [{
    `result[r, c] = sum over s < n of lhs[r, s] * rhs[k + s, c]`, with s ascending from zero. The
    left tile has at least n columns. With `{guarded}`, a product whose left factor is 0 is skipped
    if its right factor is not finite.

    Two clauses limit the work: with `from(%f)`, the sum begins at s = f, and with `tiles(%visited by
    64)`, it leaves out tiles of s (64 wide, counted from 0) whose bit is not set.

    The element types define the arithmetic as in `kernel.contract`. Pairs of bf16 are counted from
    s = 0.

    C1: the right view is row-major and of rank 2. C2: the result has the rows of the left tile. C3:
    the operands have the types of rows and weights of a number format without scales, or the right
    operand has a type in which keys and values are kept. C4: `kept` is present if and only if the
    right operand holds codes that are converted. C5: the result has the type of the format's sums.
    C6: a tile of `tiles` divides the columns of the left tile into at most 32.

    Example:
    ```mlir
    %o = kernel.contract_rows %p, %v[%k] rows(%n) {guarded} : tensor<96x512xf32>, !kernel.view<[d3|d4, 64], f32> -> tensor<96x64xf32>
    ```
  }];
  let arguments = (ins Kernel_Tile:$lhs, Kernel_View:$rhs, Index:$rhs_index, Optional<Kernel_View>:$kept_scales, Index:$rows,
                       Optional<Index>:$from, Optional<I32>:$visited, OptionalAttr<I64Attr>:$visit_tile, UnitAttr:$guarded);
  let extraClassDeclaration = [{
    bool isOverRows() { return true; }
    RowRange getRange() {
      return {getFrom(), getRows(), getVisited(), static_cast<int64_t>(getVisitTile().value_or(0))};
    }
  }];
  let assemblyFormat = [{
    $lhs `,` $rhs `[` $rhs_index `]` (`kept` `(` $kept_scales^ `:` custom<View>(type($kept_scales)) `)`)? `rows` `(` $rows `)`
    (`from` `(` $from^ `)`)? (`tiles` `(` $visited^ `by` $visit_tile `)`)? attr-dict
    `:` type($lhs) `,` custom<View>(type($rhs)) `->` type($result)
  }];
}

def Kernel_ContractCommonOp : Kernel_ProductOp<"contract_common", [AllTypesMatch<["init", "result"]>]> {
  let summary = "product over the rows that two views have in common";
  let description = [{
    `result[r, c] = init[r, c] + sum over s < n of lhs[m + s, i + r] * rhs[m + s, j + c]`, with s
    ascending. Each element continues the chain of fused multiply-adds that `init` begins.

    C1: both views are row-major, of rank 2 and of f32. C2: the result is of f32.

    Example:
    ```mlir
    %g = kernel.contract_common %x[%m, %i], %dy[%m, %j] rows(%n) onto(%init) : !kernel.view<[d0, 512], f32>, !kernel.view<[d0, 2048], f32> -> tensor<96x64xf32>
    ```
  }];
  let arguments = (ins Kernel_View:$lhs, Index:$lhs_index, Index:$lhs_column, Kernel_View:$rhs, Index:$rhs_index, Index:$rhs_column,
                       Index:$rows, Kernel_Tile:$init);
  let extraClassDeclaration = [{
    bool isOverRows() { return true; }
    RowRange getRange() { return {{}, getRows(), {}, 0}; }
  }];
  let assemblyFormat = [{
    $lhs `[` $lhs_index `,` $lhs_column `]` `,` $rhs `[` $rhs_index `,` $rhs_column `]` `rows` `(` $rows `)` `onto` `(` $init `)` attr-dict
    `:` custom<View>(type($lhs)) `,` custom<View>(type($rhs)) `->` type($result)
  }];
}

def Kernel_ContractGroupsOp : Kernel_ProductOp<"contract_groups"> {
  let summary = "product over groups of features, whose integer sums are scaled";
  let description = [{
    Multiplies codes p of the left view and codes q of the right view. The right operand has a scale
    d and a minimum m for each group, in its panels. A row of `scales` holds e and s for each group
    of the left row. The sum starts at +0. For each group, ascending, it computes `a = fma(f32(sum of
    p * q), e * f32(d), a)`, then `a = fma(s, f32(m), a)`.

    C1: both operands are views of rank 2 with equal last dimensions. The left view is row-major,
    the right view is in panels. C2: the operands have the types of rows and weights of a number
    format whose scales enter the sums (`Support/Formats.h`). C3: `scales` is a row-major view of f32
    with the left's rows, and each row has the number of scales that the format defines. C4: the
    result has the type of the format's sums.

    Example:
    ```mlir
    %g = kernel.contract_groups %q[%i], %u[%j] scales(%s : !kernel.view<[d0, 32], f32>) : !kernel.view<[d0, 512], i8>, !kernel.view<[512, 512], i4, panel = 16> -> tensor<96x64xf32>
    ```
  }];
  let arguments = (ins Kernel_View:$lhs, Index:$lhs_index, Kernel_View:$rhs, Index:$rhs_index, Kernel_View:$scales);
  let assemblyFormat = [{
    $lhs `[` $lhs_index `]` `,` $rhs `[` $rhs_index `]` `scales` `(` $scales `:` custom<View>(type($scales)) `)` attr-dict
    `:` custom<View>(type($lhs)) `,` custom<View>(type($rhs)) `->` type($result)
  }];
}

#endif // HEDDLE_DIALECT_KERNEL_IR_CONTRACTOPS_TD
