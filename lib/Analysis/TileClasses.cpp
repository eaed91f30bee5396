//===- TileClasses.cpp - Empty, partial and full tiles of masks -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the mask's bounds for every tile. Each packed document is divided
// into tiles in its own coordinates, as in kernels.

#include "heddle/Analysis/TileClasses.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

using namespace mlir;
using namespace heddle::transformer;

int64_t TileMap::count(TileClass which) const { return llvm::count(classes, which); }

double TileMap::visited(int64_t queries, int64_t keys) const {
  double elements = 0;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (at(row, column) != TileClass::Empty)
        elements += static_cast<double>(rowStarts[row + 1] - rowStarts[row]) *
                    static_cast<double>(columnStarts[column + 1] - columnStarts[column]);
  return elements / (static_cast<double>(queries) * static_cast<double>(keys));
}

int64_t heddle::transformer::visitTileColumns(Value mask, int64_t chunk) {
  int64_t width = std::min<int64_t>(chunk, 64);
  if (mask)
    for (MaskOpInterface conjunct : conjunctsOf(mask))
      if (auto blocks = dyn_cast<MaskBlocksOp>(conjunct.getOperation()))
        while (chunk > 64 && width > 16 && blocks.getColumns() % width != 0)
          width /= 2;
  return width;
}

static TileClass classOf(const MaskBounds &bounds) {
  if (!bounds.may)
    return TileClass::Empty;
  return bounds.must ? TileClass::Full : TileClass::Partial;
}

namespace {
/// A packed document: rows [q0, q1) and keys [k0, k1) of the packed row.
struct Document {
  int64_t q0, q1, k0, k1;
};
} // namespace

/// The documents between consecutive starts. Each is checked to be inside the packed row.
static llvm::Expected<SmallVector<Document>> documentsOf(MaskDocumentsOp op, const MaskPlace &place,
                                                         const MaskInputs &inputs) {
  auto queries = inputs.find(op.getQueries()), keys = inputs.find(op.getKeys());
  if (queries == inputs.end() || keys == inputs.end() ||
      queries->second.values.size() != keys->second.values.size())
    return llvm::createStringError("expected as many starts of queries as of keys");
  SmallVector<Document> documents;
  const std::vector<uint32_t> &q = queries->second.values, &k = keys->second.values;
  for (size_t n = 0; n + 1 < q.size(); ++n) {
    if (q[n] > q[n + 1] || k[n] > k[n + 1] || q[n + 1] > place.queries || k[n + 1] > place.keys)
      return llvm::createStringError("expected ascending starts inside the packed row");
    documents.push_back({q[n], q[n + 1], k[n], k[n + 1]});
  }
  return documents;
}

/// Appends the tile starts of [from, to). Returns the index of the first.
static int64_t appendStarts(std::vector<int64_t> &starts, int64_t from, int64_t to, int64_t size) {
  auto first = static_cast<int64_t>(starts.size());
  for (int64_t start = from; start < to; start += size)
    starts.push_back(start);
  return first;
}

namespace {
/// Tiles of one document, or of the whole attention: rows [r0, r1) by columns [c0, c1) of the map.
struct Part {
  int64_t r0, r1, c0, c1;
};
} // namespace

/// Divides rows and columns into tiles, restarting at each document.
static SmallVector<Part> cutTiles(TileMap &map, ArrayRef<Document> documents,
                                  const MaskPlace &place) {
  SmallVector<Part> parts;
  for (const Document &d : documents) {
    Part part;
    part.r0 = appendStarts(map.rowStarts, d.q0, d.q1, map.tileRows);
    part.c0 = appendStarts(map.columnStarts, d.k0, d.k1, map.tileColumns);
    part.r1 = static_cast<int64_t>(map.rowStarts.size());
    part.c1 = static_cast<int64_t>(map.columnStarts.size());
    parts.push_back(part);
  }
  // Rows and keys after the last document.
  appendStarts(map.rowStarts, documents.empty() ? 0 : documents.back().q1, place.queries,
               map.tileRows);
  appendStarts(map.columnStarts, documents.empty() ? 0 : documents.back().k1, place.keys,
               map.tileColumns);
  map.rows = static_cast<int64_t>(map.rowStarts.size());
  map.columns = static_cast<int64_t>(map.columnStarts.size());
  map.rowStarts.push_back(place.queries);
  map.columnStarts.push_back(place.keys);
  return parts;
}

/// Classifies the tiles of a part in the document's coordinates.
static void classify(TileMap &map, const Part &part, const Document &d, const MaskPlace &place,
                     MaskEvaluator &mask, TileClass least) {
  for (int64_t row = part.r0; row < part.r1; ++row)
    for (int64_t column = part.c0; column < part.c1; ++column) {
      MaskTile tile{map.rowStarts[row] - d.q0, map.rowStarts[row + 1] - d.q0,
                    map.columnStarts[column] - d.k0, map.columnStarts[column + 1] - d.k0};
      map.classes[row * map.columns + column] = std::max(classOf(mask.bound(place, tile)), least);
    }
}

/// Bounds are sound but not exact: a tile that is not proven empty or full counts as partial.
llvm::Expected<TileMap> heddle::transformer::computeTileMap(ScoresOpInterface op,
                                                            const MaskPlace &place,
                                                            const MaskInputs &inputs,
                                                            int64_t tileRows, int64_t tileColumns) {
  TileMap map{tileRows, tileColumns, 0, 0, {}, {}, {}};
  MaskDocumentsOp packed = packedDocumentsOf(op.getMask());
  SmallVector<Document> documents{{0, place.queries, 0, place.keys}};
  if (packed) {
    llvm::Expected<SmallVector<Document>> found = documentsOf(packed, place, inputs);
    if (!found)
      return found.takeError();
    documents = std::move(*found);
  }
  // Each document may end in a partial tile.
  int64_t rows = llvm::divideCeil(place.queries, tileRows) + documents.size(),
          columns = llvm::divideCeil(place.keys, tileColumns) + documents.size();
  if (rows > mostTiles || columns > mostTiles || rows * columns > mostTiles)
    return llvm::createStringError("expected at most " + std::to_string(mostTiles) +
                                   " tiles, found about " + std::to_string(rows) + " by " +
                                   std::to_string(columns));
  SmallVector<Part> parts = cutTiles(map, documents, place);
  map.classes.assign(map.rows * map.columns, op.getMask() ? TileClass::Empty : TileClass::Full);
  if (!op.getMask())
    return map;
  int64_t heads = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1);
  llvm::Expected<MaskEvaluator> mask = MaskEvaluator::create(op.getMask(), heads, inputs);
  if (!mask)
    return mask.takeError();
  TileClass least = op.getRules().hiddenScore ? TileClass::Partial : TileClass::Empty;
  for (auto [n, d] : llvm::enumerate(documents)) {
    MaskPlace inside = place;
    if (packed)
      inside = {static_cast<int64_t>(n), place.head, d.q1 - d.q0, d.k1 - d.k0};
    classify(map, parts[n], d, inside, *mask, least);
  }
  return map;
}
