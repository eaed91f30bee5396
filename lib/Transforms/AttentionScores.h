//===- AttentionScores.h - Scores of a tile of queries and keys -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common part of attention and its returned weights: views of a head's queries
// and keys, the tiles of them that the mask visits, and the scores of a tile,
// in base 2, with all rules applied.
#pragma once

#include "Tiling.h"

namespace heddle {

/// Score of hidden pairs, and initial maximum of a row: below every score that counts, and finite,
/// because some devices do not keep infinities.
constexpr double maskedScore = -0x1p+127, lowestMaximum = -0x1p+120;

/// Queries and keys of a workgroup, and where they are stored. All are index values.
struct Sequence {
  mlir::Value batch;                   ///< batch element of the tensors in memory
  mlir::Value number;                  ///< index for masks: the batch element, or the document
  mlir::Value queries, keys;           ///< how many there are
  mlir::Value firstQuery;              ///< row of query 0; null is 0
  mlir::Value firstKey, firstPanelRow; ///< row of key 0 in values and in panels of keys; null is 0
};

/// Keys [first, first + count) of a chunk, and the column tiles among them that the mask visits.
/// Keys before `from` need not be computed.
struct KeyChunk {
  mlir::Value first, from, count;
  mlir::Value visited, full; ///< a bit for each column tile, i32
  bool skips = false;        ///< whether tiles inside [from, count) may be unvisited
  bool unaligned = false;    ///< whether keys may lie in front of the sequence or behind it
};

/// Scores of an attention, for one head at a time.
class Scores {
public:
  /// `oneQuery`: the rows of the query's view are heads of a single query, which share a key head.
  Scores(KernelBuilder &f, mlir::Value query, mlir::Value key, mlir::Value mask, double scale,
         transformer::ScoreRules rules, bool oneQuery = false);

  /// Packed documents of the mask, each of which needs panels of its own; null if there are none.
  transformer::MaskDocumentsOp packed() const { return documents; }
  /// Selects a head of a sequence: views of its queries and keys.
  void enter(const Sequence &sequence, mlir::Value head);
  /// The document of a tile of rows, and the tile's first row in it. `slot` is the tile's place in
  /// a grid of `slots` (KernelBuilder).
  std::pair<Sequence, mlir::Value> document(mlir::Value batch, mlir::Value slot, int64_t rows);
  /// A whole batch element, without packed documents.
  Sequence batchElement(mlir::Value batch);

  /// Keys that rows [i, i + rows) need: the first key of the first chunk, the first key, the end.
  struct Range {
    mlir::Value start, low, high;
  };
  Range range(mlir::Value i, int64_t rows, int64_t chunk);
  /// How many rows a head of the sequence has.
  mlir::Value rowCount();
  /// The part of a chunk of `columns` keys from `c` on that lies in the range.
  KeyChunk chunk(const Range &range, mlir::Value i, int64_t rows, mlir::Value c, int64_t columns);
  /// `columns` keys from `column` on, counted over all packed documents and belonging to any of
  /// them. Their panels run on from the first document.
  KeyChunk unalignedChunk(mlir::Value column, int64_t columns);
  /// Base-2 scores of rows from i and the keys of a chunk; hidden pairs have `maskedScore`.
  mlir::Value tile(mlir::Value i, const KeyChunk &chunk, mlir::RankedTensorType type);
  /// 2^(score - maximum), 0 where that is below 2^-125; `rounded` is the rounded score.
  mlir::Value power(mlir::Value score, mlir::Value rounded, mlir::Value maximum);

  unsigned queryView, keyView;
  mlir::Value key;
  kernel::Size queries, keys;
  mlir::Value batch, keyHead, head;
  Sequence sequence;
  /// Width of the column tiles; a function of the mask and the device's chunk.
  int64_t visitTile;

private:
  /// The query of row i.
  mlir::Value queryOf(mlir::Value i) { return oneQuery ? t.index(0) : i; }
  mlir::Value rawScores(mlir::Value i, const KeyChunk &chunk, mlir::RankedTensorType type);
  mlir::Value withRules(mlir::Value raw, transformer::MaskSite &site, mlir::Value i, mlir::Value j);
  mlir::Value ruleTile(mlir::Value bias, transformer::MaskSite &site, mlir::Value i, mlir::Value j,
                       mlir::RankedTensorType type);
  mlir::Value relativeTile(transformer::BiasRelativeOp rule, transformer::MaskSite &site,
                           mlir::Value i, mlir::Value j, mlir::RankedTensorType type);
  void visitAll(KeyChunk &chunk, mlir::Value width);
  llvm::SmallVector<mlir::Value> nextTile(const KeyChunk &chunk, mlir::Value i, mlir::Value end,
                                          mlir::Value column, mlir::Value width,
                                          mlir::ValueRange carried, mlir::RankedTensorType type);
  mlir::Value clampFinite(mlir::Value score);
  mlir::Value hideNegativeInfinity(mlir::Value score);
  mlir::Value masked(mlir::Value tile, mlir::Value visited, mlir::Value full, int64_t visit,
                     double value, llvm::function_ref<mlir::Value()> predicate);

  KernelBuilder &f;
  TileBuilder &t;
  mlir::Value mask;
  double scale;
  TileBuilder::Accuracy accuracy = TileBuilder::Accuracy::F32;
  transformer::ScoreRules rules;
  transformer::MaskDocumentsOp documents;
  bool oneQuery;
  int64_t heads, group; ///< query heads, and how many of them share a key head
  mlir::Value q, k;
  mlir::Value keyScales; ///< of this head; null unless keys are codes
  mlir::Value biasTile;  ///< bias of the last tile; null without a bias
};

} // namespace heddle
