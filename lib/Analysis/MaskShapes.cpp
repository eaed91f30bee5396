//===- MaskShapes.cpp - What the tables of masks must fit -----------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes that are known before a call only by name: each table of a mask or score
// rule against the attention that uses it. Under packed documents a number a
// sentence is a number a document.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/ShapeExpressions.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

/// All ops that a mask or rule is made of.
static void collect(Value value, llvm::SetVector<Operation *> &ops) {
  if (!value || !value.getDefiningOp() || !ops.insert(value.getDefiningOp()))
    return;
  for (Value operand : value.getDefiningOp()->getOperands())
    if (isa<MaskType, BiasType>(operand.getType()))
      collect(operand, ops);
}

void ShapeExpressions::visitRules(AttentionOp op, const Shape &full) {
  llvm::SetVector<Operation *> ops;
  collect(op.getMask(), ops);
  collect(op.getBias(), ops);
  SizeExpr sequences = full[0];
  for (Operation *rule : ops)
    if (auto documents = dyn_cast<MaskDocumentsOp>(rule); documents && documents.getStarts()) {
      require(full[0], 1, "the batch of packed documents");
      sequences = shapes.lookup(documents.getQueries())[0] - 1;
      require(shapes.lookup(documents.getKeys())[0], shapes.lookup(documents.getQueries())[0],
              "the starts of documents");
    }
  auto one = [&](Value table, const char *what) {
    if (table && isa<ShapedType>(table.getType()))
      require(shapes.lookup(table)[0], sequences, what);
  };
  /// A dimension is 1 or `size`. Keys of a cache: the table may say more than has been seen.
  auto fits = [&](const SizeExpr &found, const SizeExpr &size, bool keys, const char *what) {
    if (found == SizeExpr(1) || found == size || oneOrFull.contains(found.dimName()))
      return;
    if (keys && size.dimName().empty() && !size.isConstant())
      required.push_back({size, found, what, /*atMost=*/true});
    else
      require(found, size, what);
  };
  auto dense = [&](Value table, const char *what) {
    for (auto [axis, found] : llvm::enumerate(shapes.lookup(table)))
      fits(found, full[axis], axis == 3, what);
  };
  for (Operation *rule : ops)
    llvm::TypeSwitch<Operation *>(rule)
        .Case<MaskCausalOp, MaskWindowOp, BiasAlibiOp, BiasRelativeOp>(
            [&](auto o) { one(o.getOffset(), "the offsets of a mask"); })
        .Case<MaskLengthsOp>([&](MaskLengthsOp o) { one(o.getLengths(), "the lengths of a mask"); })
        .Case<MaskPrefixOp>([&](MaskPrefixOp o) { one(o.getPrefix(), "the prefixes of a mask"); })
        .Case<MaskDenseOp>([&](MaskDenseOp o) { dense(o.getTable(), "a dense mask"); })
        .Case<BiasDenseOp>([&](BiasDenseOp o) { dense(o.getTable(), "a dense score rule"); })
        .Case<MaskBlocksOp>([&](MaskBlocksOp o) {
          Shape table = shapes.lookup(o.getTable());
          Shape expected{full[0], full[1],
                         SizeExpr::ceilDiv(full[2], static_cast<int64_t>(o.getRows())),
                         SizeExpr::ceilDiv(full[3], static_cast<int64_t>(o.getColumns()))};
          fits(table[0], expected[0], false, "a table of blocks");
          fits(table[1], expected[1], false, "a table of blocks");
          require(table[2], expected[2], "the rows of a table of blocks");
          require(table[3], expected[3], "the columns of a table of blocks");
        })
        .Case<MaskDocumentsOp>([&](MaskDocumentsOp o) {
          if (o.getStarts())
            return;
          Shape queries = shapes.lookup(o.getQueries()), keys = shapes.lookup(o.getKeys());
          require(queries[0], sequences, "the documents of queries");
          if (!o.getOffset())
            require(queries[1], full[2], "the documents of queries");
          else // of a cache: of its keys and the queries that come now
            fits(queries[1], full[3], true, "the documents of queries");
          require(keys[0], sequences, "the documents of keys");
          fits(keys[1], full[3], true, "the documents of keys");
        })
        .Case<MaskWhereOp, BiasWhereOp>([&](auto o) {
          o->walk([&](MaskLoadOp load) {
            if (cast<ShapedType>(load.getTable().getType()).getRank() == 2)
              one(load.getTable(), "the table of a formula");
          });
        });
}
