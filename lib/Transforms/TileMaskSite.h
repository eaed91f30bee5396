//===- TileMaskSite.h - The mask site of a tile -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates of a tile of scores, and reads of the operands of masks and score rules.
#pragma once

#include "AttentionScores.h"

namespace heddle {

/// Site of the tile that starts at query i and key j, of one head of a sequence.
class TileMaskSite : public transformer::MaskSite {
public:
  TileMaskSite(KernelBuilder &f, const Sequence &s, mlir::Value h, mlir::Value i, mlir::Value j,
               mlir::RankedTensorType tile, int64_t heads, ScoreRows rows)
      : f(f), t(f.t), s(s), h(h), i(i), j(j), tile(tile), heads(heads), rows(rows) {}

  mlir::Location loc() const override { return t.loc; }
  mlir::Value rowIndices(mlir::OpBuilder &b) override {
    return rows == ScoreRows::OneQuery ? splat(b, t.i32(i))
                                       : t.iota(!rowsAreKeys(), i, of(t.b.getI32Type()));
  }
  mlir::Value columnIndices(mlir::OpBuilder &) override {
    return t.iota(rowsAreKeys(), j, of(t.b.getI32Type()));
  }
  mlir::Value splat(mlir::OpBuilder &, mlir::Value scalar) override {
    return t.broadcast(scalar, of(scalar.getType()));
  }
  mlir::Value keyCount(mlir::OpBuilder &) override { return t.i32(s.keys); }
  mlir::Value queryCount(mlir::OpBuilder &) override { return t.i32(s.queries); }
  mlir::Value batch(mlir::OpBuilder &) override { return t.i32(s.number); }
  mlir::Value head(mlir::OpBuilder &) override { return t.i32(h); }
  int64_t headCount() const override { return heads; }
  mlir::Value defaultOffset(mlir::OpBuilder &) override {
    return t.sub(t.i32(s.keys), t.i32(s.queries));
  }
  mlir::Value scalar(mlir::OpBuilder &, mlir::Value operand) override { return f.scalar(operand); }
  mlir::Value perBatch(mlir::OpBuilder &, mlir::Value table) override {
    return read(f.view(f.viewOf(table)), {s.number});
  }
  mlir::Value perHead(mlir::OpBuilder &, mlir::Value table, mlir::Value x) override {
    return read(f.view(f.viewOf(table)), {t.toIndex(x), h});
  }

  /// Dimensions of size 1 are broadcast.
  mlir::Value dense(mlir::OpBuilder &b, mlir::Value table) override {
    mlir::Value view = f.view(f.viewOf(table));
    auto type = llvm::cast<kernel::ViewType>(view.getType());
    if (rowsAreKeys()) { // the table is transposed
      mlir::Value zero = splat(b, t.i32(t.index(0)));
      mlir::Value found =
          kernel::LookupOp::create(t.b, t.loc, of(type.getElementType()), sharedSlice(view),
                                   mlir::ValueRange{isOne(type, 2) ? zero : rowIndices(b),
                                                    isOne(type, 3) ? zero : columnIndices(b)});
      return type.getElementType().isF32() ? found : isSet(found);
    }
    auto size = [&](int64_t dim, int64_t full) { return isOne(type, dim) ? 1 : full; };
    mlir::Value matrix = sharedSlice(view);
    mlir::RankedTensorType part =
        t.type(size(2, tile.getDimSize(0)), size(3, tile.getDimSize(1)), type.getElementType());
    mlir::Value loaded =
        kernel::LoadOp::create(t.b, t.loc, part, matrix,
                               mlir::ValueRange{at(type, 2, i), at(type, 3, j)}, mlir::UnitAttr());
    if (type.getElementType().isF32())
      return t.broadcast(loaded, tile);
    return t.broadcast(isSet(loaded), of(t.b.getI1Type()));
  }

  mlir::Value lookup(mlir::OpBuilder &, mlir::Value table, mlir::Value indices) override {
    return lookupIn(rowOf(table), indices);
  }
  mlir::Value lookupRow(mlir::OpBuilder &, mlir::Value table, mlir::Value offset) override {
    mlir::Value indices = numbers(!rowsAreKeys(), i);
    if (offset)
      indices = t.add(indices,
                      t.broadcast(offset, llvm::cast<mlir::RankedTensorType>(indices.getType())));
    mlir::Value found = lookupIn(rowOf(table), indices);
    return t.broadcast(found, of(mlir::getElementTypeOrSelf(found.getType())));
  }
  mlir::Value lookupColumn(mlir::OpBuilder &, mlir::Value table) override {
    mlir::Value indices = numbers(rowsAreKeys(), j);
    mlir::Value found = lookupIn(rowOf(table), indices);
    return t.broadcast(found, of(mlir::getElementTypeOrSelf(found.getType())));
  }

  mlir::Value lookupScalar(mlir::OpBuilder &, mlir::Value table, mlir::Value x) override {
    mlir::Value row = rowOf(table), count = extent(row, 0);
    mlir::Value place = t.toIndex(x), zero = t.index(0);
    mlir::Value inside =
        mlir::arith::AndIOp::create(t.b, t.loc, notLess(place, zero), t.less(place, count));
    mlir::Value found = read(row, {t.select(inside, place, zero)});
    mlir::Value none = mlir::arith::ConstantOp::create(
        t.b, t.loc, llvm::cast<mlir::TypedAttr>(t.b.getZeroAttr(found.getType())));
    return t.select(inside, found, none);
  }

  std::pair<mlir::Value, mlir::Value> tableRange(mlir::OpBuilder &, mlir::Value table,
                                                 mlir::Value from, mlir::Value to) override {
    auto range = kernel::TableRangeOp::create(t.b, t.loc, t.b.getI32Type(), t.b.getI32Type(),
                                              rowOf(table), t.toIndex(from), t.toIndex(to));
    return {range.getMin(), range.getMax()};
  }

  /// Rows of packed documents are contiguous.
  mlir::Value ofRow(mlir::OpBuilder &b, mlir::Value table, bool keys,
                    mlir::Value indices) override {
    mlir::Value rows = keys ? columnIndices(b) : rowIndices(b);
    if (mlir::Value first = keys ? s.firstKey : s.firstQuery)
      rows = t.add(rows, t.broadcast(t.i32(first), of(t.b.getI32Type())));
    mlir::Value matrix = f.slice(f.view(f.viewOf(table)), {s.batch, h});
    return kernel::LookupOp::create(t.b, t.loc, of(t.b.getF32Type()), matrix,
                                    mlir::ValueRange{rows, indices});
  }

  mlir::Value block(mlir::OpBuilder &, mlir::Value table, mlir::Value y, mlir::Value x) override {
    mlir::Value view = f.view(f.viewOf(table));
    mlir::Value matrix = sharedSlice(view);
    if (llvm::isa<mlir::RankedTensorType>(y.getType()))
      return isSet(
          kernel::LookupOp::create(t.b, t.loc, y.getType(), matrix, mlir::ValueRange{y, x}));
    mlir::Value zero = t.index(0), row = t.toIndex(y), column = t.toIndex(x), inside;
    for (auto [dim, place] : {std::pair(0, row), std::pair(1, column)}) {
      mlir::Value count = extent(matrix, dim);
      mlir::Value fits =
          mlir::arith::AndIOp::create(t.b, t.loc, notLess(place, zero), t.less(place, count));
      inside = inside ? mlir::arith::AndIOp::create(t.b, t.loc, inside, fits) : fits;
    }
    mlir::Value found = read(matrix, {t.select(inside, row, zero), t.select(inside, column, zero)});
    return mlir::arith::AndIOp::create(t.b, t.loc, inside, isSet(found));
  }

  /// Numbers of the tile's rows as a column, or of its columns as a row, counted from `first`.
  mlir::Value numbers(bool ofRows, mlir::Value first) {
    return t.iota(
        ofRows, first,
        t.type(ofRows ? tile.getDimSize(0) : 1, ofRows ? 1 : tile.getDimSize(1), t.b.getI32Type()));
  }
  bool rowsAreKeys() const { return rows == ScoreRows::Keys; }

private:
  mlir::RankedTensorType of(mlir::Type element) {
    return t.type(tile.getDimSize(0), tile.getDimSize(1), element);
  }
  static bool isOne(kernel::ViewType type, int64_t dim) {
    return type.getDim(dim).extent == kernel::Size(1);
  }
  mlir::Value at(kernel::ViewType type, int64_t dim, mlir::Value index) {
    return isOne(type, dim) ? t.index(0) : index;
  }
  /// Returns the matrix of this sequence and head. The number of matrices may be known only at run
  /// time, so the index is clamped, which lets a single matrix serve all.
  mlir::Value sharedSlice(mlir::Value view) {
    auto type = llvm::cast<kernel::ViewType>(view.getType());
    auto point = [&](int64_t dim, mlir::Value index) -> mlir::Value {
      kernel::Size count = type.getDim(dim).extent;
      if (count.isStatic())
        return at(type, dim, index);
      return t.min(index, t.sub(f.sizeValue(count), t.index(1)));
    };
    return kernel::SliceOp::create(t.b, t.loc, view,
                                   mlir::ValueRange{point(0, s.batch), point(1, h)});
  }
  mlir::Value extent(mlir::Value view, int64_t dim) {
    return kernel::ExtentOp::create(t.b, t.loc, t.b.getIndexType(), view,
                                    t.b.getI64IntegerAttr(dim));
  }
  mlir::Value read(mlir::Value view, mlir::ValueRange indices) {
    return kernel::ReadOp::create(t.b, t.loc, view, indices);
  }
  mlir::Value notLess(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(t.b, t.loc, mlir::arith::CmpIPredicate::sge, x, y);
  }
  mlir::Value isSet(mlir::Value flags) {
    return mlir::arith::CmpIOp::create(t.b, t.loc, mlir::arith::CmpIPredicate::ne, flags,
                                       t.constantI(0, flags));
  }
  /// Returns a vector, or the row of a table for this sequence.
  mlir::Value rowOf(mlir::Value table) {
    mlir::Value view = f.view(f.viewOf(table));
    if (llvm::cast<kernel::ViewType>(view.getType()).getRank() == 1)
      return view;
    return kernel::SliceOp::create(t.b, t.loc, view, mlir::ValueRange{s.number});
  }
  mlir::Value lookupIn(mlir::Value vector, mlir::Value indices) {
    auto shape = llvm::cast<mlir::RankedTensorType>(indices.getType());
    mlir::Type element = llvm::cast<kernel::ViewType>(vector.getType()).getElementType();
    return kernel::LookupOp::create(t.b, t.loc, shape.clone(element), vector,
                                    mlir::ValueRange{indices});
  }

  KernelBuilder &f;
  TileBuilder &t;
  const Sequence &s;
  mlir::Value h, i, j;
  mlir::RankedTensorType tile;
  int64_t heads;
  ScoreRows rows;
};

} // namespace heddle
