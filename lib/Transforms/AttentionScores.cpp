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

#include "TileMaskSite.h"

#include "heddle/Dialect/ElementFormats.h"

#include "heddle/Analysis/TileClasses.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Size;

//===- Heads and sequences -----------------------------------------------===//

Scores::Scores(KernelBuilder &f, Value query, Value key, Value mask, double scale, ScoreRules rules,
               ScoreRows rows)
    : queryView(f.viewOf(query)), keyView(f.viewOf(key)), key(key),
      visitTile(visitTileColumns(mask, f.plan.getColumns()[0])), f(f), t(f.t), mask(mask),
      scale(scale), rules(rules), tileRows(rows) {
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
  s.queries = tileRows == ScoreRows::OneQuery ? t.index(1) : f.sizeValue(queries);
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
  DocumentTile found = findDocument(t, rowsAreKeys() ? keyStarts : starts, count, number, rows);
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
  s.keys = t.sub(start(keyStarts, next), s.firstKey);
  // A tile past the document's end has no columns.
  Value &columns = rowsAreKeys() ? s.queries : s.keys;
  columns = t.select(t.less(i, rowsAreKeys() ? s.keys : s.queries), columns, zero);
  Value panel = t.index(16), first = rowsAreKeys() ? s.firstQuery : s.firstKey;
  s.firstPanelRow = t.mul(t.add(t.div(first, panel), found.document), panel);
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

Value Scores::rowCount() {
  if (tileRows == ScoreRows::OneQuery)
    return f.sizeValue(queries);
  return rowsAreKeys() ? sequence.keys : sequence.queries;
}

/// End of the rows [i, i + rows) of the sequence.
Value Scores::rowEnd(Value i, int64_t rows) {
  return t.min(t.add(i, t.index(rows)), rowsAreKeys() ? sequence.keys : sequence.queries);
}

Scores::Range Scores::range(Value i, int64_t rows, int64_t chunk) {
  i = queryOf(i);
  Value zero = t.index(0);
  if (!mask || rules.hiddenScore) // hidden scores are replaced, so every pair counts
    return {zero, zero, columnCount()};
  TileMaskSite site(f, sequence, head, i, i, t.type(rows, chunk), heads, tileRows);
  Value end = rowEnd(i, rows);
  KeyBand band = bandOf(mask, t.b, site);
  Range range = rowsAreKeys() ? rangeOfQueries(band, i, end) : rangeOfBand(band, i, end);
  // A band may end before it begins.
  range.high = t.select(t.less(range.low, range.high), range.high, zero);
  Value size = t.index(chunk);
  range.start = t.mul(t.div(range.low, size), size);
  return range;
}

/// Keys in the band of queries [i, end).
Scores::Range Scores::rangeOfBand(const KeyBand &band, Value i, Value end) {
  Value zero = t.index(0), low = zero, high = sequence.keys;
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
  return {{}, low, high};
}

/// Queries whose band contains one of the keys [j, end): j - relativeHigh to end - 1 - relativeLow.
Scores::Range Scores::rangeOfQueries(const KeyBand &band, Value j, Value end) {
  Value zero = t.index(0), low = zero, high = sequence.queries;
  if (band.low)
    j = t.max(t.toIndex(band.low), j);
  if (band.high)
    end = t.min(t.toIndex(band.high), end);
  if (band.relativeHigh)
    low = t.max(t.sub(j, t.toIndex(band.relativeHigh)), zero);
  if (band.relativeLow)
    high = t.min(t.sub(end, t.toIndex(band.relativeLow)), high);
  if (band.low || band.high)
    high = t.select(t.less(j, end), high, zero);
  if (band.relativeLow && band.relativeHigh) { // no query has a key
    Value empty = t.less(band.relativeHigh, band.relativeLow);
    high = t.select(empty, zero, high);
  }
  return {{}, low, high};
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
  TileMaskSite site(f, sequence, head, rowsAreKeys() ? first : i, rowsAreKeys() ? i : first, type,
                    heads, tileRows);
  TileCorners corners{t.i32(i), t.i32(end), t.i32(first),
                      t.i32(t.add(chunk.first, t.min(columnEnd, chunk.count)))};
  if (rowsAreKeys())
    corners = {corners.j0, corners.j1, corners.i0, corners.i1};
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
  TileMaskSite place(f, sequence, head, i, c, type, heads, tileRows);
  chunk.skips = !isBand(mask, t.b, place);
  Value before = t.max(t.sub(range.low, c), zero);
  chunk.from = t.mul(t.div(before, width), width);
  Value end = rowEnd(i, rows);
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

SmallVector<Value> Scores::fold(const Range &range, Value i, int64_t rows, int64_t columns,
                                ValueRange initial, Next next) {
  auto loop = scf::ForOp::create(t.b, t.loc, range.start, range.high, t.index(columns), initial);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  KeyChunk chunk = this->chunk(range, i, rows, loop.getInductionVar(), columns);
  scf::YieldOp::create(t.b, t.loc, visit(chunk, loop.getRegionIterArgs(), next));
  return SmallVector<Value>(loop.getResults());
}

/// Processes a chunk, or skips it if the mask hides all of its tiles.
SmallVector<Value> Scores::visit(const KeyChunk &chunk, ValueRange before, Next next) {
  if (!chunk.skips || kernel::splitsKeys(f.plan.getMapping())) // no invocation may skip a barrier
    return next(chunk, before);
  Value zero = arith::ConstantIntOp::create(t.b, t.loc, 0, 32);
  Value any = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ne, chunk.visited, zero);
  auto branch = scf::IfOp::create(t.b, t.loc, before.getTypes(), any, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(t.b, t.loc, before);
  t.b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(t.b, t.loc, next(chunk, before));
  return SmallVector<Value>(branch.getResults());
}

//===- Products ----------------------------------------------------------===//

Value Scores::product(Value left, Value panels, Value i, const KeyChunk &chunk,
                      RankedTensorType type) {
  auto visit =
      chunk.skips ? t.b.getI64IntegerAttr(std::min(visitTile, type.getDimSize(1))) : IntegerAttr();
  Value first = rowsAreKeys() ? sequence.firstKey : sequence.firstQuery;
  Value row = first ? t.add(i, first) : i;
  Value column = rowsAreKeys() ? chunk.first : f.inRing(key, chunk.first);
  if (sequence.firstPanelRow)
    column = t.add(column, sequence.firstPanelRow);
  bool starts = mask && !rules.hiddenScore;
  return kernel::ContractOp::create(t.b, t.loc, type, left, row, panels, column, keyScales,
                                    chunk.count, starts ? chunk.from : Value(),
                                    chunk.skips ? chunk.visited : Value(), visit);
}

Value Scores::overRows(Value tile, Value argument, Value right, const KeyChunk &chunk,
                       int64_t columns, Value scales) {
  bool starts = mask && !rules.hiddenScore;
  auto visit = chunk.skips ? t.b.getI64IntegerAttr(visitTile) : IntegerAttr();
  Value row = f.inRing(argument, chunk.first);
  if (Value first = rowsAreKeys() ? sequence.firstQuery : sequence.firstKey)
    row = t.add(row, first);
  Value factors = t.narrow(tile, f.viewType(queryView).getElementType());
  const int64_t rows = cast<RankedTensorType>(tile.getType()).getDimSize(0);
  return kernel::ContractRowsOp::create(t.b, t.loc, t.type(rows, columns), factors, right, row,
                                        scales, chunk.count, starts ? chunk.from : Value(),
                                        chunk.skips ? chunk.visited : Value(), visit,
                                        t.b.getUnitAttr());
}

//===- Scores ------------------------------------------------------------===//

Value Scores::rawScores(Value i, const KeyChunk &chunk, RankedTensorType type) {
  return rowsAreKeys() ? product(k, q, i, chunk, type) : product(q, k, i, chunk, type);
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
  TileMaskSite site(f, sequence, head, queryOf(i, chunk), keyOf(i, chunk), type, heads, tileRows);
  Value raw = rawScores(i, chunk, type);
  Value score = hideNegativeInfinity(withRules(raw, site, queryOf(i, chunk), keyOf(i, chunk)));
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
    Value column = rowsAreKeys() ? site.rowIndices(t.b) : site.columnIndices(t.b);
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

Value Scores::timesSlope(Value gradient, Value i, const KeyChunk &chunk) {
  if (capTile)
    gradient = t.mul(gradient, t.sub(t.constant(1, capTile), t.mul(capTile, capTile)));
  if (!mask || !rules.hiddenScore)
    return gradient;
  auto type = cast<RankedTensorType>(gradient.getType());
  TileMaskSite site(f, sequence, head, queryOf(i, chunk), keyOf(i, chunk), type, heads, tileRows);
  Value none = arith::ConstantIntOp::create(t.b, t.loc, 0, 32);
  Value all = arith::ConstantIntOp::create(t.b, t.loc, -1, 32);
  return masked(gradient, all, none, std::min(visitTile, type.getDimSize(1)), 0,
                [&] { return site.predicateOf(t.b, mask); });
}

Value Scores::numbers(bool ofKeys, Value i, const KeyChunk &chunk, RankedTensorType type) {
  bool ofRows = ofKeys == rowsAreKeys();
  return t.iota(
      ofRows, ofKeys ? keyOf(i, chunk) : queryOf(i, chunk),
      t.type(ofRows ? type.getDimSize(0) : 1, ofRows ? 1 : type.getDimSize(1), t.b.getI32Type()));
}
