//===- ReferenceMasks.cpp - Reference masks -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks, one function per op. Positions have 64 bits, so that offsets near the limits of i32 do not
// overflow.

#include "ReferenceMasks.h"

#include "heddle/Analysis/ScalarProgram.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle::reference {

static int64_t whole(const RefTensor &table, int64_t at) {
  return static_cast<int64_t>(table.values[at]);
}

Status checkPerSequence(Operation *op, const RefTensor &table, const Extents &extents) {
  if (table.size() != extents.sequences)
    return errorAt(op, "expected " + std::to_string(extents.sequences) + " entries, found " +
                           std::to_string(table.size()));
  return {};
}

Status checkBroadcast(Operation *op, const RefTensor &table, const std::vector<int64_t> &expected) {
  for (size_t d = 0; d < expected.size(); ++d)
    if (table.shape[d] != 1 && table.shape[d] != expected[d])
      return errorAt(op, "expected a table of " + shapeText(expected) +
                             " or 1 in a dimension, found " + shapeText(table.shape));
  return {};
}

double entryAt(const RefTensor &table, int64_t b, int64_t h, int64_t i, int64_t j) {
  int64_t at[] = {b, h, i, j}, index = 0;
  for (int d = 0; d < 4; ++d)
    index = index * table.shape[d] + (table.shape[d] == 1 ? 0 : at[d]);
  return table.values[index];
}

Expected<Offset> offsetOf(Operation *op, Value operand, const Extents &extents,
                          const Lookup &lookup) {
  if (!operand)
    return Offset([](const Pair &p) { return p.keys - p.queries; });
  const RefTensor &offset = lookup(operand);
  if (offset.shape.empty())
    return Offset([n = whole(offset, 0)](const Pair &) { return n; });
  HEDDLE_TRY(checkPerSequence(op, offset, extents));
  return Offset([&offset](const Pair &p) { return whole(offset, p.b); });
}

//===- Formulas ----------------------------------------------------------===//

/// Function table[x] or table[b, x]; 0 outside the table.
static ScalarProgram::Function load(const RefTensor &table) {
  return [&table](const double *x, double *result) {
    int64_t at = 0;
    for (size_t d = 0; d < table.shape.size(); ++d) {
      auto index = static_cast<int64_t>(x[d]);
      if (index < 0 || index >= table.shape[d]) {
        *result = 0;
        return;
      }
      at = at * table.shape[d] + index;
    }
    *result = table.values[at];
  };
}

/// Compiles the region to a scalar program in f64, which represents i32 and i1 exactly.
Expected<ScoreRule> formula(Operation *where, const Lookup &lookup) {
  ScalarProgram program;
  ScalarProgram::Site site;
  site.captured = [&](Value value) { return lookup(value).values[0]; };
  site.function = [&](Operation *op) {
    auto loaded = dyn_cast<MaskLoadOp>(op);
    return loaded ? load(lookup(loaded.getTable())) : ScalarProgram::Function();
  };
  Block &body = where->getRegion(0).front();
  if (Operation *unknown = program.compile(body, site))
    return errorAt(unknown, "expected an op of formulas that the reference supports, found another "
                            "one");
  unsigned yielded = program.cellOf(body.getTerminator()->getOperand(0), site);
  return ScoreRule([program, yielded](const Pair &pair) {
    double arguments[] = {static_cast<double>(pair.b), static_cast<double>(pair.h),
                          static_cast<double>(pair.i), static_cast<double>(pair.j)};
    return program.run(arguments)[yielded];
  });
}

//===- Mask ops ----------------------------------------------------------===//

static Expected<Predicate> causal(MaskCausalOp op, const Extents &extents, const Lookup &lookup) {
  Offset offset = HEDDLE_TRY(offsetOf(op, op.getOffset(), extents, lookup));
  return Predicate([offset](const Pair &p) { return p.j <= p.i + offset(p); });
}

static Expected<Predicate> window(MaskWindowOp op, const Extents &extents, const Lookup &lookup) {
  Offset offset = HEDDLE_TRY(offsetOf(op, op.getOffset(), extents, lookup));
  int64_t before = static_cast<int64_t>(op.getBefore()),
          after = static_cast<int64_t>(op.getAfter());
  return Predicate([offset, before, after](const Pair &p) {
    int64_t distance = p.j - (p.i + offset(p));
    return -before <= distance && distance <= after;
  });
}

/// Predicate j < table[b], for lengths and prefix masks.
static Expected<Predicate> below(Operation *op, const RefTensor &table, const Extents &extents) {
  HEDDLE_TRY(checkPerSequence(op, table, extents));
  return Predicate([&table](const Pair &p) { return p.j < whole(table, p.b); });
}

/// ids[b, x]; 0 outside the table, which happens only in masks with packed documents.
static int64_t idAt(const RefTensor &ids, int64_t b, int64_t x) {
  bool inside = b < ids.shape[0] && x >= 0 && x < ids.shape[1];
  return inside ? whole(ids, b * ids.shape[1] + x) : 0;
}

static Expected<Predicate> documents(MaskDocumentsOp op, const Extents &extents,
                                     const Lookup &lookup) {
  if (op.getStarts()) // attention itself computes one document at a time
    return Predicate([](const Pair &) { return true; });
  const RefTensor &queries = lookup(op.getQueries()), &keys = lookup(op.getKeys());
  Offset first = [](const Pair &) { return int64_t(0); };
  if (op.getOffset())
    first = HEDDLE_TRY(offsetOf(op, op.getOffset(), extents, lookup));
  return Predicate([&queries, &keys, first](const Pair &p) {
    return idAt(queries, p.b, p.i + first(p)) == idAt(keys, p.b, p.j);
  });
}

Status checkPairs(Operation *op, const RefTensor &table, const Extents &x) {
  // In a decoding step, callers may give a table with more keys than the cache has.
  int64_t keys = std::max(x.keys, table.shape[3]);
  return checkBroadcast(op, table, {x.sequences, x.heads, x.queries, keys});
}

static Expected<Predicate> dense(MaskDenseOp op, const Extents &x, const Lookup &lookup) {
  const RefTensor &table = lookup(op.getTable());
  HEDDLE_TRY(checkPairs(op, table, x));
  return Predicate([&table](const Pair &p) { return entryAt(table, p.b, p.h, p.i, p.j) != 0; });
}

static Expected<Predicate> blocks(MaskBlocksOp op, const Extents &x, const Lookup &lookup) {
  const RefTensor &table = lookup(op.getTable());
  int64_t rows = static_cast<int64_t>(op.getRows()),
          columns = static_cast<int64_t>(op.getColumns());
  int64_t down = (x.queries + rows - 1) / rows, across = (x.keys + columns - 1) / columns;
  HEDDLE_TRY(checkBroadcast(op, table, {x.sequences, x.heads, down, across}));
  if (table.shape[2] != down || table.shape[3] != across)
    return errorAt(op, "expected a table of " + shapeText(std::vector{down, across}) +
                           " blocks, found " +
                           shapeText(std::vector{table.shape[2], table.shape[3]}));
  return Predicate([&table, rows, columns](const Pair &p) {
    return entryAt(table, p.b, p.h, p.i / rows, p.j / columns) != 0;
  });
}

static Expected<Predicate> where(MaskWhereOp op, const Lookup &lookup) {
  ScoreRule truth = HEDDLE_TRY(formula(op, lookup));
  return Predicate([truth](const Pair &p) { return truth(p) != 0; });
}

//===- Compositions ------------------------------------------------------===//

static Expected<Predicate> combined(Value lhs, Value rhs, bool both, const Extents &extents,
                                    const Lookup &lookup) {
  Expected<Predicate> l = predicate(lhs, extents, lookup), r = predicate(rhs, extents, lookup);
  if (!l || !r)
    return l ? std::move(r) : std::move(l);
  return Predicate(
      [l = *l, r = *r, both](const Pair &p) { return both ? l(p) && r(p) : l(p) || r(p); });
}

static Expected<Predicate> negated(MaskNotOp op, const Extents &extents, const Lookup &lookup) {
  Expected<Predicate> inner = predicate(op.getMask(), extents, lookup);
  if (!inner)
    return inner;
  return Predicate([inner = *inner](const Pair &p) { return !inner(p); });
}

Expected<Predicate> predicate(Value mask, const Extents &x, const Lookup &lookup) {
  using Made = Expected<Predicate>;
  return llvm::TypeSwitch<Operation *, Made>(mask.getDefiningOp())
      .Case([&](MaskCausalOp op) { return causal(op, x, lookup); })
      .Case([&](MaskWindowOp op) { return window(op, x, lookup); })
      .Case([&](MaskLengthsOp op) { return below(op, lookup(op.getLengths()), x); })
      .Case([&](MaskPrefixOp op) { return below(op, lookup(op.getPrefix()), x); })
      .Case([&](MaskDocumentsOp op) { return documents(op, x, lookup); })
      .Case([&](MaskDenseOp op) { return dense(op, x, lookup); })
      .Case([&](MaskBlocksOp op) { return blocks(op, x, lookup); })
      .Case([&](MaskWhereOp op) { return where(op, lookup); })
      .Case([&](MaskAndOp op) { return combined(op.getLhs(), op.getRhs(), true, x, lookup); })
      .Case([&](MaskOrOp op) { return combined(op.getLhs(), op.getRhs(), false, x, lookup); })
      .Case([&](MaskNotOp op) { return negated(op, x, lookup); })
      .Default([](Operation *op) -> Made {
        return errorAt(op, "expected a mask that the reference supports, found another one");
      });
}

} // namespace heddle::reference
