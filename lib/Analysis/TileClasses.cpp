//===- TileClasses.cpp - Which tiles of an attention are visited ----------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the bounds of a mask about every tile. Packed documents are asked one by
// one, in their own coordinates, as kernels do.
//
//===----------------------------------------------------------------------===//

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
        elements += static_cast<double>(std::min(tileRows, queries - row * tileRows)) *
                    static_cast<double>(std::min(tileColumns, keys - column * tileColumns));
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
/// Rows [q0, q1) and keys [k0, k1) of the packed row.
struct Document {
  int64_t q0, q1, k0, k1;
};
} // namespace

static std::optional<MaskDocumentsOp> packedDocuments(Value mask) {
  for (MaskOpInterface conjunct : conjunctsOf(mask))
    if (auto documents = dyn_cast<MaskDocumentsOp>(*conjunct); documents && documents.getStarts())
      return documents;
  return std::nullopt;
}

/// The documents that the starts tell of, each inside the packed row.
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

/// A tile of the packed row is what its documents make of it: full only inside a single one.
static MaskBounds boundPacked(MaskEvaluator &mask, const MaskPlace &place, const MaskTile &t,
                              ArrayRef<Document> documents) {
  MaskBounds result{false, false};
  for (auto [n, d] : llvm::enumerate(documents)) {
    MaskTile part{std::max(t.i0, d.q0) - d.q0, std::min(t.i1, d.q1) - d.q0,
                  std::max(t.j0, d.k0) - d.k0, std::min(t.j1, d.k1) - d.k0};
    if (part.i0 >= part.i1 || part.j0 >= part.j1)
      continue;
    MaskBounds bounds =
        mask.bound({static_cast<int64_t>(n), place.head, d.q1 - d.q0, d.k1 - d.k0}, part);
    bool whole = part.i1 - part.i0 == t.i1 - t.i0 && part.j1 - part.j0 == t.j1 - t.j0;
    result.may |= bounds.may;
    result.must |= bounds.must && whole;
  }
  return result;
}

llvm::Expected<TileMap> heddle::transformer::computeTileMap(AttentionOp op, const MaskPlace &place,
                                                            const MaskInputs &inputs,
                                                            int64_t tileRows, int64_t tileColumns) {
  auto tiles = [](int64_t count, int64_t size) { return (count + size - 1) / size; };
  TileMap map{
      tileRows, tileColumns, tiles(place.queries, tileRows), tiles(place.keys, tileColumns), {}};
  map.classes.assign(map.rows * map.columns, TileClass::Full);
  if (!op.getMask())
    return map;
  int64_t heads = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1);
  llvm::Expected<MaskEvaluator> mask = MaskEvaluator::create(op.getMask(), heads, inputs);
  if (!mask)
    return mask.takeError();
  std::optional<MaskDocumentsOp> packed = packedDocuments(op.getMask());
  SmallVector<Document> documents;
  if (packed) {
    llvm::Expected<SmallVector<Document>> found = documentsOf(*packed, place, inputs);
    if (!found)
      return found.takeError();
    documents = std::move(*found);
  }
  for (auto [n, which] : llvm::enumerate(map.classes)) {
    int64_t i0 = static_cast<int64_t>(n) / map.columns * tileRows,
            j0 = static_cast<int64_t>(n) % map.columns * tileColumns;
    MaskTile tile{i0, std::min(i0 + tileRows, place.queries), j0,
                  std::min(j0 + tileColumns, place.keys)};
    which = classOf(packed ? boundPacked(*mask, place, tile, documents) : mask->bound(place, tile));
  }
  return map;
}
