//===- ScoreShapes.cpp - Shapes of the tables of masks --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requirements on symbolic sizes: the tables of masks and score rules against
// the attention that uses them. Under packed documents, "one number for each
// sequence" means one for each document.

#include "AttentionRules.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

/// Collects all ops of a mask or rule.
static void collect(Value value, llvm::SetVector<Operation *> &ops) {
  if (!value || !value.getDefiningOp() || !ops.insert(value.getDefiningOp()))
    return;
  for (Value operand : value.getDefiningOp()->getOperands())
    if (isa<MaskType, BiasType>(operand.getType()))
      collect(operand, ops);
}

namespace {
/// Requires the shapes of the tables of masks and rules in an attention over `full`.
class RuleShapes {
public:
  RuleShapes(SymbolicShapes &of, const Shape &full) : of(of), full(full), sequences(full[0]) {}

  /// Must be called first: under packed documents, tables have one row for each document.
  void countSequences(MaskDocumentsOp op);
  void check(Operation *rule);
  void oneASequence(Value table, const char *what);

private:
  Shape shape(Value table) const { return of.of(table); }
  void fits(const SizeExpr &found, const SizeExpr &size, bool keys, const char *what);
  void dense(Value table, const char *what);
  void blocks(MaskBlocksOp op);
  void distances(BiasDistanceOp op);
  void documentIds(MaskDocumentsOp op);

  SymbolicShapes &of;
  const Shape &full;
  SizeExpr sequences;
};
} // namespace

void heddle::transformer::requireScales(SymbolicShapes &shapes, Value codes, Value scales) {
  const Shape &rows = shapes.of(codes), &found = shapes.of(scales);
  for (size_t i = 0; i < 3; ++i)
    shapes.require(rows[i], found[i], "codes and their scales");
}

void heddle::transformer::requireRuleShapes(SymbolicShapes &shapes, ScoresOpInterface op,
                                            const Shape &full) {
  llvm::SetVector<Operation *> ops;
  collect(op.getMask(), ops);
  collect(op.getRules().bias, ops);
  RuleShapes rules(shapes, full);
  for (Operation *rule : ops)
    if (auto documents = dyn_cast<MaskDocumentsOp>(rule); documents && documents.getStarts())
      rules.countSequences(documents);
  for (Operation *rule : ops)
    rules.check(rule);
  rules.oneASequence(op.getRules().keyCounts, "the counts of keys");
  if (Value scales = op.getRules().keyScales)
    requireScales(shapes, op.getKey(), scales);
}

void RuleShapes::countSequences(MaskDocumentsOp op) {
  of.require(full[0], 1, "the batch of packed documents");
  sequences = shape(op.getQueries())[0] - 1;
  of.require(shape(op.getKeys())[0], shape(op.getQueries())[0], "the starts of documents");
}

void RuleShapes::check(Operation *rule) {
  llvm::TypeSwitch<Operation *>(rule)
      .Case<MaskCausalOp, MaskWindowOp, BiasAlibiOp, BiasRelativeOp>(
          [&](auto o) { oneASequence(o.getOffset(), "the offsets of a mask"); })
      .Case<MaskLengthsOp>(
          [&](MaskLengthsOp o) { oneASequence(o.getLengths(), "the lengths of a mask"); })
      .Case<MaskPrefixOp>(
          [&](MaskPrefixOp o) { oneASequence(o.getPrefix(), "the prefixes of a mask"); })
      .Case<MaskDenseOp>([&](MaskDenseOp o) { dense(o.getTable(), "a dense mask"); })
      .Case<BiasDenseOp>([&](BiasDenseOp o) { dense(o.getTable(), "a dense score rule"); })
      .Case<BiasDistanceOp>([&](BiasDistanceOp o) { distances(o); })
      .Case<MaskBlocksOp>([&](MaskBlocksOp o) { blocks(o); })
      .Case<MaskDocumentsOp>([&](MaskDocumentsOp o) {
        if (!o.getStarts())
          documentIds(o);
      })
      .Case<MaskWhereOp, BiasWhereOp>([&](auto o) {
        o->walk([&](MaskLoadOp load) {
          if (cast<ShapedType>(load.getTable().getType()).getRank() == 2)
            oneASequence(load.getTable(), "the table of a formula");
        });
      });
}

/// The rows of packed documents are counted over all documents.
void RuleShapes::distances(BiasDistanceOp op) {
  Shape table = shape(op.getTable());
  of.require(table[0], full[0], "the batch of a table of distances");
  of.require(table[2], full[op.getOfKeys() ? 3 : 2], "the rows of a table of distances");
}

/// Requires a vector, or the first dimension of a table, to have one entry for each sequence.
void RuleShapes::oneASequence(Value table, const char *what) {
  if (table && isa<ShapedType>(table.getType()))
    of.require(shape(table)[0], sequences, what);
}

/// Requires 1 or `size`. A table over the keys of a cache may be longer than the current number of
/// keys.
void RuleShapes::fits(const SizeExpr &found, const SizeExpr &size, bool keys, const char *what) {
  if (found == SizeExpr(1) || found == size || of.isOneOrFull(found))
    return;
  bool ofCache = of.isCounted(size) || (size.dimName().empty() && !size.isConstant());
  if (keys && ofCache)
    of.requireAtMost(size, found, what);
  else
    of.require(found, size, what);
}

void RuleShapes::dense(Value table, const char *what) {
  for (auto [axis, found] : llvm::enumerate(shape(table)))
    fits(found, full[axis], axis == 3, what);
}

void RuleShapes::blocks(MaskBlocksOp op) {
  Shape table = shape(op.getTable());
  fits(table[0], full[0], false, "a table of blocks");
  fits(table[1], full[1], false, "a table of blocks");
  of.require(table[2], SizeExpr::ceilDiv(full[2], static_cast<int64_t>(op.getRows())),
             "the rows of a table of blocks");
  of.require(table[3], SizeExpr::ceilDiv(full[3], static_cast<int64_t>(op.getColumns())),
             "the columns of a table of blocks");
}

void RuleShapes::documentIds(MaskDocumentsOp op) {
  Shape queries = shape(op.getQueries()), keys = shape(op.getKeys());
  of.require(queries[0], sequences, "the documents of queries");
  if (!op.getOffset())
    of.require(queries[1], full[2], "the documents of queries");
  else // on a cache, the table holds the ids of its keys and of the new queries
    fits(queries[1], full[3], true, "the documents of queries");
  of.require(keys[0], sequences, "the documents of keys");
  oneASequence(op.getOffset(), "the offsets of a mask");
  fits(keys[1], full[3], true, "the documents of keys");
}
