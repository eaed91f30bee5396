//===- AttentionScores.h - Scores of a query and key tile -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that attention, its returned weights and its gradients share: views of a head's queries and
// keys, the tiles that the mask visits, and the base-2 scores of a tile with all rules applied.
#pragma once

#include "Tiling.h"

namespace heddle {

/// Score of hidden pairs, and initial maximum of a row. Both are below every score that counts, and
/// finite, because some devices do not preserve infinities.
constexpr double maskedScore = -0x1p+127, lowestMaximum = -0x1p+120;

/// Queries and keys of a workgroup, and their positions in memory. All values have type index.
struct Sequence {
  mlir::Value batch;         ///< batch element of the tensors in memory
  mlir::Value number;        ///< index for masks: the batch element, or the document
  mlir::Value queries, keys; ///< number of queries and of keys
  mlir::Value firstQuery;    ///< row of query 0; null is 0
  mlir::Value firstKey;      ///< row of key 0; null is 0
  mlir::Value firstPanelRow; ///< row of column 0 of the scores in panels; null is 0
};

/// The rows of a tile of scores. The columns are keys, or queries if the rows are keys. With
/// `OneQuery`, rows are heads of a single query that share a key head.
enum class ScoreRows { Queries, OneQuery, Keys };

/// Columns [first, first + count) of a chunk, and the column tiles that the mask visits. Columns
/// before `from` need not be computed. Columns are keys, unless rows are keys.
struct KeyChunk {
  mlir::Value first, from, count;
  mlir::Value visited, full; ///< i32, one bit per column tile
  bool skips = false;        ///< whether tiles within [from, count) may be unvisited
  bool unaligned = false;    ///< whether keys may be before or after the sequence
};

/// Scores of an attention, for one head at a time.
class Scores {
public:
  Scores(KernelBuilder &f, mlir::Value query, mlir::Value key, mlir::Value mask, double scale,
         transformer::ScoreRules rules, ScoreRows rows = ScoreRows::Queries);

  /// Packed documents of the mask, each of which needs its own panels; null if there are none.
  transformer::MaskDocumentsOp packed() const { return documents; }
  /// Selects a head of a sequence, and creates views of its queries and keys.
  void enter(const Sequence &sequence, mlir::Value head);
  /// Returns the document of a tile of rows and the tile's first row in it. `slot` is the tile's
  /// position in a grid of `slots` (KernelBuilder).
  std::pair<Sequence, mlir::Value> document(mlir::Value batch, mlir::Value slot, int64_t rows);
  /// Returns a whole batch element, without packed documents.
  Sequence batchElement(mlir::Value batch);

  /// Columns that rows [i, i + rows) need: start of the first chunk, first column, end.
  struct Range {
    mlir::Value start, low, high;
  };
  Range range(mlir::Value i, int64_t rows, int64_t chunk);
  /// Number of rows in a head of the sequence.
  mlir::Value rowCount();
  /// Returns the part of a chunk of `columns` columns, starting at `c`, that is in the range.
  KeyChunk chunk(const Range &range, mlir::Value i, int64_t rows, mlir::Value c, int64_t columns);
  /// Returns `columns` keys starting at `column`, counted over all packed documents. The keys may
  /// belong to any document, and their panels continue from the first document.
  KeyChunk unalignedChunk(mlir::Value column, int64_t columns);
  /// Folds the chunks of a range, in ascending order. `next` returns the values after a chunk from
  /// the values before it; chunks whose tiles the mask hides are skipped.
  using Next =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(const KeyChunk &, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> fold(const Range &range, mlir::Value i, int64_t rows,
                                      int64_t columns, mlir::ValueRange initial, Next next);
  /// Base-2 scores of rows starting at i and the columns of a chunk; hidden pairs have
  /// `maskedScore`.
  mlir::Value tile(mlir::Value i, const KeyChunk &chunk, mlir::RankedTensorType type);
  /// 2^(score - maximum), or 0 if it is below 2^-125; `rounded` is the rounded score.
  mlir::Value power(mlir::Value score, mlir::Value rounded, mlir::Value maximum);
  /// Multiplies by the derivative of the scores of the last tile with respect to the scaled
  /// products. Scores that `hidden_score` has replaced have derivative 0.
  mlir::Value timesSlope(mlir::Value gradient, mlir::Value i, const KeyChunk &chunk);

  /// Products of rows of `left`, starting at i, and the columns of a chunk in `panels`. Columns
  /// that the mask hides need not be computed.
  mlir::Value product(mlir::Value left, mlir::Value panels, mlir::Value i, const KeyChunk &chunk,
                      mlir::RankedTensorType type);
  /// Products of a tile of the chunk and its rows of `right`, a matrix of `columns` columns.
  /// `argument` is the argument with this matrix; `scales` is null unless it holds codes.
  mlir::Value overRows(mlir::Value tile, mlir::Value argument, mlir::Value right,
                       const KeyChunk &chunk, int64_t columns, mlir::Value scales = {});
  /// First query and first key of the tile of the rows starting at i and the columns of a chunk.
  mlir::Value queryOf(mlir::Value i, const KeyChunk &chunk) {
    return rowsAreKeys() ? chunk.first : queryOf(i);
  }
  mlir::Value keyOf(mlir::Value i, const KeyChunk &chunk) {
    return rowsAreKeys() ? i : chunk.first;
  }
  bool rowsAreKeys() const { return tileRows == ScoreRows::Keys; }
  /// Numbers of the keys or queries of a tile, as an i32 tile that can be broadcast to `type`.
  mlir::Value numbers(bool ofKeys, mlir::Value i, const KeyChunk &chunk,
                      mlir::RankedTensorType type);

  unsigned queryView, keyView;
  mlir::Value key;
  kernel::Size queries, keys;
  mlir::Value batch, keyHead, head;
  int64_t heads, group; ///< number of query heads, and of query heads per key head
  Sequence sequence;
  /// Width of the column tiles, determined by the mask and the device's chunk.
  int64_t visitTile;

private:
  /// Query of row i, or the row itself if rows are keys.
  mlir::Value queryOf(mlir::Value i) { return tileRows == ScoreRows::OneQuery ? t.index(0) : i; }
  mlir::Value columnCount() { return rowsAreKeys() ? sequence.queries : sequence.keys; }
  mlir::Value rowEnd(mlir::Value i, int64_t rows);
  Range rangeOfBand(const transformer::KeyBand &band, mlir::Value i, mlir::Value end);
  Range rangeOfQueries(const transformer::KeyBand &band, mlir::Value i, mlir::Value end);
  llvm::SmallVector<mlir::Value> visit(const KeyChunk &chunk, mlir::ValueRange before, Next next);
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
  ScoreRows tileRows;
  mlir::Value q, k;
  mlir::Value keyScales; ///< scales of this head; null unless keys are codes
  mlir::Value biasTile;  ///< bias of the last tile; null without a bias
  mlir::Value capTile;   ///< scores of the last tile divided by the soft-cap; null without one
};

} // namespace heddle
