//===- MapOps.td - Feature maps of images ------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feature maps [B, h, w, C], whose height and width may vary between calls:
// their windows, from which a matrix product makes a convolution, their
// maximums, their rows, and the positions of their places.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_MAPOPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_MAPOPS_TD

include "heddle/Dialect/Transformer/IR/TransformerDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_Map : ConfinedType<RankedTensorOf<[F32]>, [Transformer_Rank<"== 4">],
    "tensor of f32, rank 4 [batch, height, width, features]", "::mlir::RankedTensorType">;

//===- Windows -----------------------------------------------------------===//

def Transformer_WindowsOp : Transformer_InferredOp<"windows", [], ["inferShapes"]> {
  let summary = "the square around each place of a map";
  let description = [{
    The matrix that a convolution multiplies by its weight. With `size` k, `stride` s and `padding`
    p, `[B, h, w, C]` becomes `[B, (h + 2p - k) / s + 1, (w + 2p - k) / s + 1, k * k * C]`,
    `result[b, y, x, (dy * k + dx) * C + c] = map[b, s * y + dy - p, s * x + dx - p, c]`, or 0
    outside the map. Quotients are rounded down. With `channels_first`, the map is `[B, C, h, w]`,
    and `result[b, y, x, (c * k + dy) * k + dx] = map[b, c, s * y + dy - p, s * x + dx - p]`.

    A map must be at least as large as a window: h + 2p >= k and w + 2p >= k.

    Constraints:
    * C1: the channels of `map` are static.
    * C2: `size` and `stride` are positive, and `padding` is at least 0 and less than `size`.
    * C3: the result is `[B, (h + 2p - k) / s + 1, (w + 2p - k) / s + 1, k * k * C]`.

    Example:
    ```mlir
    func.func @around(%x: tensor<?x?x?x16xf32>) -> tensor<?x?x?x144xf32> {
      %y = transformer.windows %x {padding = 1 : i64, size = 3 : i64, stride = 2 : i64} : tensor<?x?x?x16xf32> -> tensor<?x?x?x144xf32>
      return %y : tensor<?x?x?x144xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Map:$map, I64Attr:$size, DefaultValuedAttr<I64Attr, "1">:$stride, DefaultValuedAttr<I64Attr, "0">:$padding,
                       UnitAttr:$channels_first);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getMap()).clone(windowsShape(adaptor.getMap(), {adaptor.getSize(), adaptor.getStride(), adaptor.getPadding()}, adaptor.getChannelsFirst(), /*folds=*/false))";
  let assemblyFormat = "$map attr-dict `:` type($map) `->` type($result)";
}

def Transformer_MaxPoolOp : Transformer_InferredOp<"max_pool", [], ["inferShapes"]> {
  let summary = "the maximum in the square around each place of a map";
  let description = [{
    `result[b, y, x, c]` is the maximum of `map[b, s * y + dy - p, s * x + dx - p, c]` over dy and dx
    in [0, k), for the places inside the map, with k, s and p as in `transformer.windows`. If one of
    two numbers is NaN, their maximum is the other.

    Constraints:
    * C1: the features of `map` are static.
    * C2: `size` and `stride` are positive, and `padding` is at least 0 and at most half of `size`.
    * C3: the result is `[B, (h + 2p - k) / s + 1, (w + 2p - k) / s + 1, C]`.

    Example:
    ```mlir
    func.func @largest(%x: tensor<?x?x?x16xf32>) -> tensor<?x?x?x16xf32> {
      %y = transformer.max_pool %x {padding = 1 : i64, size = 3 : i64, stride = 2 : i64} : tensor<?x?x?x16xf32> -> tensor<?x?x?x16xf32>
      return %y : tensor<?x?x?x16xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Map:$map, I64Attr:$size, DefaultValuedAttr<I64Attr, "1">:$stride, DefaultValuedAttr<I64Attr, "0">:$padding);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getMap()).clone(windowsShape(adaptor.getMap(), {adaptor.getSize(), adaptor.getStride(), adaptor.getPadding()}, /*channelsFirst=*/false, /*folds=*/true))";
  let assemblyFormat = "$map attr-dict `:` type($map) `->` type($result)";
}

//===- Rows --------------------------------------------------------------===//

def Transformer_MapRowsOp : Transformer_InferredOp<"map_rows", [], ["inferShapes"]> {
  let summary = "the places of a map as rows";
  let description = [{
    `[B, h, w, C]` becomes `[B, h * w, C]`: `result[b, y * w + x, c] = map[b, y, x, c]`.

    Constraints:
    * C1: the features of `map` are static.
    * C2: the result is `[B, h * w, C]`.

    Example:
    ```mlir
    func.func @rows(%x: tensor<?x?x?x16xf32>) -> tensor<?x?x16xf32> {
      %y = transformer.map_rows %x : tensor<?x?x?x16xf32> -> tensor<?x?x16xf32>
      return %y : tensor<?x?x16xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Map:$map);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getMap()).clone(placesShape(adaptor.getMap(), features(adaptor.getMap())))";
  let assemblyFormat = "$map attr-dict `:` type($map) `->` type($result)";
}

def Transformer_SliceRowsOp : Transformer_InferredOp<"slice_rows", [], ["inferShapes"]> {
  let summary = "a range of each sequence's rows";
  let description = [{
    `[B, T, E]` becomes `[B, count, E]`: `result[b, i, e] = rows[b, first + i, e]`.

    Constraints:
    * C1: `rows` has rank 3.
    * C2: `first` is at least 0, `count` is positive, and a static T is at least `first + count`.
    * C3: the result is `[B, count, E]`.

    Example:
    ```mlir
    func.func @part(%x: tensor<?x?x16xf32>) -> tensor<?x100x16xf32> {
      %y = transformer.slice_rows %x {count = 100 : i64, first = 1 : i64} : tensor<?x?x16xf32> -> tensor<?x100x16xf32>
      return %y : tensor<?x100x16xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Activations:$rows, I64Attr:$first, I64Attr:$count);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getRows()).clone({dim(adaptor.getRows(), 0), static_cast<int64_t>(adaptor.getCount()), features(adaptor.getRows())})";
  let assemblyFormat = "$rows attr-dict `:` type($rows) `->` type($result)";
}

def Transformer_RepeatRowsOp : Transformer_InferredOp<"repeat_rows", [], ["inferShapes"]> {
  let summary = "the same rows for each image";
  let description = [{
    The rows `[R, E]` of a table for each image of `map`, `[B, h, w, C]`: `[B, R, E]`,
    `result[b, r, e] = table[r, e]`. Nothing but the batch of `map` is read.

    Constraints:
    * C1: the result is `[B, R, E]`.

    Example:
    ```mlir
    func.func @queries(%x: tensor<?x?x?x16xf32>, %q: tensor<100x64xf32>) -> tensor<?x100x64xf32> {
      %y = transformer.repeat_rows %x, %q : (tensor<?x?x?x16xf32>, tensor<100x64xf32>) -> tensor<?x100x64xf32>
      return %y : tensor<?x100x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Map:$map, Transformer_Matrix:$table);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getMap()).clone({dim(adaptor.getMap(), 0), dim(adaptor.getTable(), 0), dim(adaptor.getTable(), 1)})";
  let assemblyFormat = "$map `,` $table attr-dict `:` functional-type(operands, results)";
}

//===- Positions ---------------------------------------------------------===//

def Transformer_PositionPlaneOp : Transformer_InferredOp<"position.plane", [], ["inferShapes"]> {
  let summary = "sines of the places of a map";
  let description = [{
    A row for each place of `map`, `[B, h, w, C]`, as `[B, h * w, E]` with E = `features`. The first
    half of a row is of the height, the second half of the width. With F = E / 2,
    `u = (y + 1) / (h + 1e-6)` for the height and `u = (x + 1) / (w + 1e-6)` for the width:
    `result[b, y * w + x, 2i] = sin(2 pi u / temperature^(2i/F))`, and feature 2i + 1 is the cosine
    of the same angle. Nothing but the shape of `map` is read.
    Source: Carion et al., End-to-End Object Detection with Transformers, appendix A.4.

    Constraints:
    * C1: `features` is a positive multiple of 4.
    * C2: `temperature` is finite and at least 1.
    * C3: the result is `[B, h * w, E]`.

    Example:
    ```mlir
    func.func @places(%x: tensor<?x?x?x16xf32>) -> tensor<?x?x64xf32> {
      %y = transformer.position.plane %x {features = 64 : i64} : tensor<?x?x?x16xf32> -> tensor<?x?x64xf32>
      return %y : tensor<?x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Map:$map, I64Attr:$features, DefaultValuedAttr<F64Attr, "10000.0">:$temperature);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getMap()).clone(placesShape(adaptor.getMap(), static_cast<int64_t>(adaptor.getFeatures())))";
  let assemblyFormat = "$map attr-dict `:` type($map) `->` type($result)";
}

def Transformer_PositionResizedOp : Transformer_InferredOp<"position.resized", [], ["inferShapes"]> {
  let summary = "a table of positions, resized to the places of a map";
  let description = [{
    A row for each place of `map`, `[B, h, w, C]`, as `[B, h * w, E]`. `table` is `[r * c, E]`, a grid
    of c = `columns` columns. Its row `y * c + x` is the position of a place in a map of r by c
    places. For another h and w the grid is resized by cubic convolution (a = -3/4): place (y, x) is
    the weighted sum of the 4 by 4 places of the grid around `(y + 1/2) * r / h - 1/2` and
    `(x + 1/2) * c / w - 1/2`, where places outside are the nearest ones inside. Nothing but the
    shape of `map` is read.

    Constraints:
    * C1: `columns` is a positive divisor of the rows of `table`.
    * C2: the result is `[B, h * w, E]`.

    Example:
    ```mlir
    func.func @resized(%x: tensor<?x?x?x16xf32>, %table: tensor<12x64xf32>) -> tensor<?x?x64xf32> {
      %y = transformer.position.resized %x, %table {columns = 4 : i64} : (tensor<?x?x?x16xf32>, tensor<12x64xf32>) -> tensor<?x?x64xf32>
      return %y : tensor<?x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Transformer_Map:$map, Transformer_Matrix:$table, I64Attr:$columns);
  let results = (outs Transformer_Activations:$result);
  let resultType = "typeOf(adaptor.getMap()).clone(placesShape(adaptor.getMap(), dim(adaptor.getTable(), 1)))";
  let assemblyFormat = "$map `,` $table attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_MAPOPS_TD
