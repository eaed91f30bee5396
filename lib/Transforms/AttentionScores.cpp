//===- AttentionScores.cpp - Scores of a query and key tile ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores of a tile of queries and keys. A mask bounds the range of keys that a tile of rows needs.
// It classifies the column tiles of a chunk (bits of visited and full tiles). Its predicate decides
// on single elements, and is evaluated only for visited tiles that are not full.
//
// Order of the rules (docs/semantics.md): scale, soft-cap, bias, mask.

#include "AttentionScores.h"

#include "heddle/Dialect/ElementFormats.h"

#include "heddle/Analysis/TileClasses.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Size;

//===- The mask site of a tile ------------------------------------------===//

namespace {
class TileMaskSite : public MaskSite {
public:
  /// `oneQuery`: all rows belong to query i.
  TileMaskSite(KernelBuilder &f, const Sequence &s, Value h, Value i, Value j,
               RankedTensorType tile, int64_t heads, bool oneQuery)
      : f(f), t(f.t), s(s), h(h), i(i), j(j), tile(tile), heads(heads), oneQuery(oneQuery) {}

  Location loc() const override { return t.loc; }
  Value rowIndices(OpBuilder &b) override {
    return oneQuery ? splat(b, t.i32(i)) : t.iota(true, i, of(t.b.getI32Type()));
  }
  Value columnIndices(OpBuilder &) override { return t.iota(false, j, of(t.b.getI32Type())); }
  Value splat(OpBuilder &, Value scalar) override {
    return t.broadcast(scalar, of(scalar.getType()));
  }
  Value keyCount(OpBuilder &) override { return t.i32(s.keys); }
  Value queryCount(OpBuilder &) override { return t.i32(s.queries); }
  Value batch(OpBuilder &) override { return t.i32(s.number); }
  Value head(OpBuilder &) override { return t.i32(h); }
  int64_t headCount() const override { return heads; }
  Value defaultOffset(OpBuilder &) override { return t.sub(t.i32(s.keys), t.i32(s.queries)); }
  Value scalar(OpBuilder &, Value operand) override { return f.scalar(operand); }
  Value perBatch(OpBuilder &, Value table) override {
    return read(f.view(f.viewOf(table)), {s.number});
  }
  Value perHead(OpBuilder &, Value table, Value x) override {
    return read(f.view(f.viewOf(table)), {t.toIndex(x), h});
  }

  /// Dimensions of size 1 are broadcast.
  Value dense(OpBuilder &, Value table) override {
    Value view = f.view(f.viewOf(table));
    auto type = cast<kernel::ViewType>(view.getType());
    auto size = [&](int64_t dim, int64_t full) { return isOne(type, dim) ? 1 : full; };
    Value matrix = sharedSlice(view);
    RankedTensorType part =
        t.type(size(2, tile.getDimSize(0)), size(3, tile.getDimSize(1)), type.getElementType());
    Value loaded = kernel::LoadOp::create(t.b, t.loc, part, matrix,
                                          ValueRange{at(type, 2, i), at(type, 3, j)}, UnitAttr());
    if (type.getElementType().isF32())
      return t.broadcast(loaded, tile);
    return t.broadcast(isSet(loaded), of(t.b.getI1Type()));
  }

  Value lookup(OpBuilder &, Value table, Value indices) override {
    return lookupIn(rowOf(table), indices);
  }
  Value lookupRow(OpBuilder &, Value table, Value offset) override {
    RankedTensorType rows = t.type(tile.getDimSize(0), 1, t.b.getI32Type());
    Value indices = t.iota(true, i, rows);
    if (offset)
      indices = t.add(indices, t.broadcast(offset, rows));
    Value found = lookupIn(rowOf(table), indices);
    return t.broadcast(found, of(getElementTypeOrSelf(found.getType())));
  }
  Value lookupColumn(OpBuilder &, Value table) override {
    Value indices = t.iota(false, j, t.type(1, tile.getDimSize(1), t.b.getI32Type()));
    Value found = lookupIn(rowOf(table), indices);
    return t.broadcast(found, of(getElementTypeOrSelf(found.getType())));
  }

  Value lookupScalar(OpBuilder &, Value table, Value x) override {
    Value row = rowOf(table), count = extent(row, 0);
    Value place = t.toIndex(x), zero = t.index(0);
    Value inside = arith::AndIOp::create(t.b, t.loc, notLess(place, zero), t.less(place, count));
    Value found = read(row, {t.select(inside, place, zero)});
    Value none =
        arith::ConstantOp::create(t.b, t.loc, cast<TypedAttr>(t.b.getZeroAttr(found.getType())));
    return t.select(inside, found, none);
  }

  std::pair<Value, Value> tableRange(OpBuilder &, Value table, Value from, Value to) override {
    auto range = kernel::TableRangeOp::create(t.b, t.loc, t.b.getI32Type(), t.b.getI32Type(),
                                              rowOf(table), t.toIndex(from), t.toIndex(to));
    return {range.getMin(), range.getMax()};
  }

  /// Rows of packed documents are contiguous.
  Value ofRow(OpBuilder &b, Value table, bool keys, Value indices) override {
    Value rows = keys ? columnIndices(b) : rowIndices(b);
    if (Value first = keys ? s.firstKey : s.firstQuery)
      rows = t.add(rows, t.broadcast(t.i32(first), of(t.b.getI32Type())));
    Value matrix = f.slice(f.view(f.viewOf(table)), {s.batch, h});
    return kernel::LookupOp::create(t.b, t.loc, of(t.b.getF32Type()), matrix,
                                    ValueRange{rows, indices});
  }

  Value block(OpBuilder &, Value table, Value y, Value x) override {
    Value view = f.view(f.viewOf(table));
    Value matrix = sharedSlice(view);
    if (isa<RankedTensorType>(y.getType()))
      return isSet(kernel::LookupOp::create(t.b, t.loc, y.getType(), matrix, ValueRange{y, x}));
    Value zero = t.index(0), row = t.toIndex(y), column = t.toIndex(x), inside;
    for (auto [dim, place] : {std::pair(0, row), std::pair(1, column)}) {
      Value count = extent(matrix, dim);
      Value fits = arith::AndIOp::create(t.b, t.loc, notLess(place, zero), t.less(place, count));
      inside = inside ? arith::AndIOp::create(t.b, t.loc, inside, fits) : fits;
    }
    Value found = read(matrix, {t.select(inside, row, zero), t.select(inside, column, zero)});
    return arith::AndIOp::create(t.b, t.loc, inside, isSet(found));
  }

private:
  RankedTensorType of(Type element) {
    return t.type(tile.getDimSize(0), tile.getDimSize(1), element);
  }
  static bool isOne(kernel::ViewType type, int64_t dim) {
    return type.getDim(dim).extent == Size(1);
  }
  Value at(kernel::ViewType type, int64_t dim, Value index) {
    return isOne(type, dim) ? t.index(0) : index;
  }
  /// Returns the matrix of this sequence and head. The number of matrices may be known only at run
  /// time, so the index is clamped, which lets a single matrix serve all.
  Value sharedSlice(Value view) {
    auto type = cast<kernel::ViewType>(view.getType());
    auto point = [&](int64_t dim, Value index) -> Value {
      Size count = type.getDim(dim).extent;
      if (count.isStatic())
        return at(type, dim, index);
      return t.min(index, t.sub(f.sizeValue(count), t.index(1)));
    };
    return kernel::SliceOp::create(t.b, t.loc, view, ValueRange{point(0, s.batch), point(1, h)});
  }
  Value extent(Value view, int64_t dim) {
    return kernel::ExtentOp::create(t.b, t.loc, t.b.getIndexType(), view,
                                    t.b.getI64IntegerAttr(dim));
  }
  Value read(Value view, ValueRange indices) {
    return kernel::ReadOp::create(t.b, t.loc, view, indices);
  }
  Value notLess(Value x, Value y) {
    return arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sge, x, y);
  }
  Value isSet(Value flags) {
    return arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ne, flags,
                                 t.constantI(0, flags));
  }
  /// Returns a vector, or the row of a table for this sequence.
  Value rowOf(Value table) {
    Value view = f.view(f.viewOf(table));
    if (cast<kernel::ViewType>(view.getType()).getRank() == 1)
      return view;
    return kernel::SliceOp::create(t.b, t.loc, view, ValueRange{s.number});
  }
  Value lookupIn(Value vector, Value indices) {
    auto shape = cast<RankedTensorType>(indices.getType());
    Type element = cast<kernel::ViewType>(vector.getType()).getElementType();
    return kernel::LookupOp::create(t.b, t.loc, shape.clone(element), vector, ValueRange{indices});
  }

  KernelBuilder &f;
  TileBuilder &t;
  const Sequence &s;
  Value h, i, j;
  RankedTensorType tile;
  int64_t heads;
  bool oneQuery;
};
} // namespace

//===- Heads and sequences -----------------------------------------------===//

Scores::Scores(KernelBuilder &f, Value query, Value key, Value mask, double scale, ScoreRules rules,
               bool oneQuery)
    : queryView(f.viewOf(query)), keyView(f.viewOf(key)), key(key),
      visitTile(visitTileColumns(mask, f.plan.getColumns()[0])), f(f), t(f.t), mask(mask),
      scale(scale), rules(rules), oneQuery(oneQuery) {
  kernel::ViewType q = f.viewType(queryView), k = f.viewType(keyView);
  accuracy = TileBuilder::accuracyBeside(dtypeOf(q.getElementType()));
  queries = q.getDim(2).extent;
  keys = k.getDim(2).extent;
  heads = q.getDim(1).extent.value;
  group = heads / k.getDim(1).extent.value;
  documents = packedDocumentsOf(mask);
}

Sequence Scores::batchElement(Value batch) {
  Sequence s;
  s.batch = s.number = batch;
  s.queries = oneQuery ? t.index(1) : f.sizeValue(queries);
  s.keys = f.sizeValue(keys);
  if (rules.keyCounts)
    s.keys =
        t.toIndex(kernel::ReadOp::create(t.b, t.loc, f.view(f.viewOf(rules.keyCounts)), batch));
  return s;
}

std::pair<Sequence, Value> Scores::document(Value batch, Value slot, int64_t rows) {
  Value starts = f.view(f.viewOf(documents.getQueries())),
        keyStarts = f.view(f.viewOf(documents.getKeys()));
  Value one = t.index(1), zero = t.index(0);
  Value count = t.sub(f.sizeValue(cast<kernel::ViewType>(starts.getType()).getDim(0).extent), one);
  Value number = t.div(slot, t.index(rows));
  DocumentTile found = findDocument(t, starts, count, number, rows);
  Value i = t.mul(t.sub(number, found.first), t.index(rows));
  auto start = [&](Value view, Value d) {
    return t.toIndex(kernel::ReadOp::create(t.b, t.loc, view, ValueRange{d}));
  };
  Value next = t.add(found.document, one);
  Sequence s;
  s.batch = batch;
  s.number = found.document;
  s.firstQuery = start(starts, found.document);
  s.queries = t.sub(start(starts, next), s.firstQuery);
  s.firstKey = start(keyStarts, found.document);
  // A tile past the document's end has no keys.
  s.keys = t.select(t.less(i, s.queries), t.sub(start(keyStarts, next), s.firstKey), zero);
  Value panel = t.index(16);
  s.firstPanelRow = t.mul(t.add(t.div(s.firstKey, panel), found.document), panel);
  return {s, i};
}

void Scores::enter(const Sequence &entered, Value enteredHead) {
  sequence = entered;
  batch = sequence.batch;
  head = enteredHead;
  keyHead = group == 1 ? head : t.div(head, t.index(group));
  q = f.slice(f.view(queryView), {batch, head});
  k = f.slice(f.view(keyView), {batch, keyHead});
  if (rules.keyScales)
    keyScales = f.slice(f.view(f.viewOf(rules.keyScales)), {batch, keyHead});
}

//===- Ranges and visited tiles -------------------------------------------===//

Value Scores::rowCount() { return oneQuery ? f.sizeValue(queries) : sequence.queries; }

Scores::Range Scores::range(Value i, int64_t rows, int64_t chunk) {
  i = queryOf(i);
  Value zero = t.index(0);
  if (!mask || rules.hiddenScore) // hidden scores are replaced, so every key counts
    return {zero, zero, sequence.keys};
  TileMaskSite site(f, sequence, head, i, i, t.type(rows, chunk), heads, oneQuery);
  Value end = t.min(t.add(i, t.index(rows)), sequence.queries);
  KeyBand band = bandOf(mask, t.b, site);
  Value low = zero, high = sequence.keys;
  if (band.low)
    low = t.max(t.toIndex(band.low), low);
  if (band.relativeLow)
    low = t.max(t.add(i, t.toIndex(band.relativeLow)), low);
  if (band.high)
    high = t.min(t.toIndex(band.high), high);
  if (band.relativeHigh)
    high = t.min(t.add(end, t.toIndex(band.relativeHigh)), high);
  if (band.relativeLow && band.relativeHigh) { // no row has a key
    Value empty = t.less(band.relativeHigh, band.relativeLow);
    high = t.select(empty, zero, high);
  }
  high = t.select(t.less(low, high), high, zero); // a band may end before it begins
  Value size = t.index(chunk);
  return {t.mul(t.div(low, size), size), low, high};
}

/// Visits every tile of a chunk. All tiles are full, except one that the end cuts. A mask with
/// hidden_score is applied separately. All 32 bits may be set, and a shift by 32 is undefined, so
/// the shift is split in two.
void Scores::visitAll(KeyChunk &chunk, Value width) {
  Value one = t.i32(t.index(1)), zero = t.index(0);
  chunk.from = zero;
  Value tiles = t.div(chunk.count, width), half = t.div(tiles, t.index(2));
  Value whole = arith::ShLIOp::create(t.b, t.loc, one, t.i32(half));
  whole = arith::ShLIOp::create(t.b, t.loc, whole, t.i32(t.sub(tiles, half)));
  chunk.full = t.sub(whole, one);
}

/// Next values that the loop over a chunk's tiles carries: bits of full tiles; with `skips` also
/// bits of visited tiles, and their first and last column.
SmallVector<Value> Scores::nextTile(const KeyChunk &chunk, Value i, Value end, Value column,
                                    Value width, ValueRange carried, RankedTensorType type) {
  Value zero = arith::ConstantIntOp::create(t.b, t.loc, 0, 32),
        one = arith::ConstantIntOp::create(t.b, t.loc, 1, 32);
  Value columnEnd = t.add(column, width), first = t.add(chunk.first, column);
  TileMaskSite site(f, sequence, head, i, first, type, heads, oneQuery);
  TileCorners corners{t.i32(i), t.i32(end), t.i32(first),
                      t.i32(t.add(chunk.first, t.min(columnEnd, chunk.count)))};
  TileTruth truth = boundOf(mask, t.b, site, corners);
  // A tile with keys past the end is never full.
  Value whole =
      arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sle, columnEnd, chunk.count);
  Value must = arith::AndIOp::create(t.b, t.loc, truth.must, whole);
  Value bit = arith::ShLIOp::create(t.b, t.loc, one, t.i32(t.div(column, width)));
  auto with = [&](Value bits, Value condition) -> Value {
    return arith::OrIOp::create(t.b, t.loc, bits, t.select(condition, bit, zero));
  };
  SmallVector<Value> next{with(carried[0], must)};
  if (chunk.skips) {
    Value from = carried[2], to = carried[3];
    next.push_back(with(carried[1], truth.may));
    next.push_back(t.select(truth.may, t.min(from, column), from));
    next.push_back(t.select(truth.may, columnEnd, to));
  }
  return next;
}

KeyChunk Scores::chunk(const Range &range, Value i, int64_t rows, Value c, int64_t columns) {
  i = queryOf(i);
  KeyChunk chunk;
  chunk.first = c;
  chunk.count = t.min(t.index(columns), t.sub(range.high, c));
  if (rules.keyCounts) // a sequence may end before the chunk
    chunk.count = t.max(chunk.count, t.index(0));
  chunk.visited = arith::ConstantIntOp::create(t.b, t.loc, -1, 32);
  Value width = t.index(std::min(visitTile, columns)), zero = t.index(0);
  if (!mask || rules.hiddenScore) {
    visitAll(chunk, width);
    return chunk;
  }
  // Tiles between visited tiles may be empty if the mask is not a plain band.
  RankedTensorType type = t.type(rows, columns);
  TileMaskSite place(f, sequence, head, i, c, type, heads, oneQuery);
  chunk.skips = !isBand(mask, t.b, place);
  Value before = t.max(t.sub(range.low, c), zero);
  chunk.from = t.mul(t.div(before, width), width);
  Value end = t.min(t.add(i, t.index(rows)), sequence.queries);
  Value none = arith::ConstantIntOp::create(t.b, t.loc, 0, 32);
  SmallVector<Value> init{none};
  if (chunk.skips)
    init.append({none, chunk.count, zero});
  // Column tiles are classified at run time, because lengths and offsets are dynamic.
  auto loop = scf::ForOp::create(t.b, t.loc, chunk.from, chunk.count, width, init);
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        t.b, t.loc,
        nextTile(chunk, i, end, loop.getInductionVar(), width, loop.getRegionIterArgs(), type));
  }
  chunk.full = loop.getResult(0);
  if (!chunk.skips)
    return chunk;
  chunk.visited = loop.getResult(1);
  if (visitTile < columns) { // a chunk of one tile is visited entirely or not at all
    chunk.from = loop.getResult(2);
    chunk.count = t.min(chunk.count, loop.getResult(3));
  }
  return chunk;
}

KeyChunk Scores::unalignedChunk(Value column, int64_t columns) {
  KeyChunk chunk;
  chunk.first = t.sub(column, sequence.firstKey);
  chunk.from = t.index(0);
  chunk.count = t.index(columns);
  chunk.visited = arith::ConstantIntOp::create(t.b, t.loc, -1, 32);
  chunk.full = arith::ConstantIntOp::create(t.b, t.loc, 0, 32);
  chunk.unaligned = true;
  return chunk;
}

//===- Scores ------------------------------------------------------------===//

Value Scores::rawScores(Value i, const KeyChunk &chunk, RankedTensorType type) {
  auto visit =
      chunk.skips ? t.b.getI64IntegerAttr(std::min(visitTile, type.getDimSize(1))) : IntegerAttr();
  Value row = sequence.firstQuery ? t.add(i, sequence.firstQuery) : i;
  Value column = f.inRing(key, chunk.first);
  if (sequence.firstPanelRow)
    column = t.add(column, sequence.firstPanelRow);
  bool starts = mask && !rules.hiddenScore;
  return kernel::ContractOp::create(t.b, t.loc, type, q, row, k, column, keyScales, chunk.count,
                                    starts ? chunk.from : Value(),
                                    chunk.skips ? chunk.visited : Value(), visit);
}

Value Scores::masked(Value tile, Value visited, Value full, int64_t visit, double value,
                     function_ref<Value()> predicate) {
  auto op = kernel::MaskOp::create(t.b, t.loc, tile.getType(), tile, visited, full,
                                   t.b.getI64IntegerAttr(visit),
                                   t.b.getF32FloatAttr(static_cast<float>(value)));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.createBlock(&op.getPredicate());
  kernel::MaskYieldOp::create(t.b, t.loc, predicate());
  return op.getResult();
}

Value Scores::tile(Value i, const KeyChunk &chunk, RankedTensorType type) {
  int64_t visit = std::min(visitTile, type.getDimSize(1));
  TileMaskSite site(f, sequence, head, queryOf(i), chunk.first, type, heads, oneQuery);
  Value score = hideNegativeInfinity(withRules(rawScores(i, chunk, type), site, i, chunk.first));
  bool replaces = mask && rules.hiddenScore;
  if (replaces) {
    double value = std::max(
        static_cast<double>(static_cast<float>(rules.hiddenScore.getValueAsDouble())) * log2e,
        -0x1p+100);
    Value none = arith::ConstantIntOp::create(t.b, t.loc, 0, 32);
    Value all = arith::ConstantIntOp::create(t.b, t.loc, -1, 32);
    score = masked(score, all, none, visit, value, [&] { return site.predicateOf(t.b, mask); });
  }
  if (rules.bias) {
    // A bias of minus infinity excludes a key regardless of its score.
    Value excluded = t.less(biasTile, t.constant(-0x1.fffffep+127, biasTile));
    score = t.select(excluded, t.constant(maskedScore, score), score);
  }
  Value end = chunk.unaligned ? sequence.keys : t.add(chunk.first, chunk.count);
  return masked(score, chunk.visited, chunk.full, visit, maskedScore, [&] {
    Value column = site.columnIndices(t.b);
    Value allowed = t.less(column, site.splat(t.b, t.i32(end)));
    if (chunk.unaligned)
      allowed = arith::AndIOp::create(t.b, t.loc, allowed, t.less(t.constantI(-1, column), column));
    if (mask && !replaces)
      allowed = arith::AndIOp::create(t.b, t.loc, allowed, site.predicateOf(t.b, mask));
    return allowed;
  });
}

Value Scores::power(Value score, Value rounded, Value maximum) {
  return t.scaleb(t.exp2Fraction(t.sub(score, rounded), accuracy), t.sub(rounded, maximum));
}
