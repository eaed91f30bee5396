//===- AttentionRules.cpp - Constraints of masks and rules ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the ops of an attention's mask and score rules against the sizes of
// the scores: constraints C10 and C12 to C18. The two ops that compute returned
// weights share these checks.

#include "AttentionRules.h"
#include "ShapeChecks.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;
using heddle::transformer::detail::differ;

static bool isPacked(Operation *part) {
  auto documents = dyn_cast<MaskDocumentsOp>(part);
  return documents && documents.getStarts();
}

namespace {
/// Checks masks and score rules against the sizes of an attention.
class RuleVerifier {
public:
  RuleVerifier(Operation *op, const RuleSizes &sizes) : op(op), sizes(sizes) {}

  /// Checks every op of `value`, a mask or a score rule.
  LogicalResult check(Value value, StringRef constraint, StringRef what) {
    constraintName = constraint;
    subject = what;
    SmallVector<Value> open = {value};
    llvm::SmallPtrSet<Value, 8> seen;
    while (!open.empty()) {
      Value next = open.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      Operation *def = next.getDefiningOp();
      if (!isa_and_nonnull<MaskOpInterface, BiasOpInterface>(def) ||
          def->getBlock() != op->getBlock())
        return error() << "expected the " << what << " to be made by " << what
                       << " ops of the same block, found another value";
      if (LogicalResult fits = checkTables(def); failed(fits))
        return fits;
      for (Value operand : def->getOperands())
        if (isa<MaskType, BiasType>(operand.getType()))
          open.push_back(operand);
    }
    return success();
  }

private:
  InFlightDiagnostic error() { return op->emitOpError(constraintName) << ": "; }

  LogicalResult checkTables(Operation *def) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(def)
        .Case<MaskCausalOp, MaskWindowOp, BiasAlibiOp>(
            [&](auto o) { return checkSequences(o.getOffset()); })
        .Case([&](MaskLengthsOp o) { return checkSequences(o.getLengths()); })
        .Case([&](MaskPrefixOp o) { return checkSequences(o.getPrefix()); })
        .Case([&](MaskDenseOp o) { return checkDense(o.getTable(), "dense mask"); })
        .Case([&](BiasDenseOp o) { return checkDense(o.getTable(), "dense rule"); })
        .Case([&](MaskBlocksOp o) { return checkBlocks(o); })
        .Case([&](MaskDocumentsOp o) { return o.getStarts() ? success() : checkIds(o); })
        .Case([&](BiasRelativeOp o) { return checkRelative(o); })
        .Case([&](BiasDistanceOp o) { return checkDistance(o); })
        .Case<MaskWhereOp, BiasWhereOp>([&](auto o) { return checkFormula(o.getBody()); })
        .Default([](Operation *) { return success(); });
  }

  LogicalResult checkSequences(Value table) {
    auto type = table ? dyn_cast<RankedTensorType>(table.getType()) : RankedTensorType();
    if (!type || !differ(type.getDimSize(0), sizes.batch))
      return success();
    return error() << "expected numbers of the " << subject << " for " << sizes.batch
                   << " sequences, found " << type.getDimSize(0);
  }

  /// A dimension that must have `size`; with `orOne`, 1 is allowed too.
  struct Dimension {
    StringRef name;
    int64_t size;
    bool orOne = false;
  };

  /// Checks the dimensions of a table. A wrong rank is reported by the op's own verifier.
  LogicalResult checkTable(Value table, StringRef what, ArrayRef<Dimension> dimensions) {
    auto type = cast<RankedTensorType>(table.getType());
    if (type.getRank() != static_cast<int64_t>(dimensions.size()))
      return success();
    for (auto [i, dimension] : llvm::enumerate(dimensions)) {
      int64_t found = type.getDimSize(i);
      if (differ(found, dimension.size) && !(dimension.orOne && found == 1))
        return error() << "expected dimension " << i << " of the " << what << " (" << dimension.name
                       << ") to be " << (dimension.orOne ? "1 or " : "") << dimension.size
                       << ", found " << found;
    }
    return success();
  }

  LogicalResult checkDense(Value table, StringRef what) {
    return checkTable(table, what,
                      {{"batch", sizes.batch, true},
                       {"heads", sizes.heads, true},
                       {"queries", sizes.queries, true},
                       {"keys", sizes.keys, true}});
  }

  LogicalResult checkBlocks(MaskBlocksOp mask) {
    auto blocks = [](int64_t count, uint64_t size) {
      return ShapedType::isDynamic(count)
                 ? count
                 : llvm::divideCeilSigned(count, static_cast<int64_t>(size));
    };
    return checkTable(mask.getTable(), "table of blocks",
                      {{"batch", sizes.batch, true},
                       {"heads", sizes.heads, true},
                       {"blocks of queries", blocks(sizes.queries, mask.getRows())},
                       {"blocks of keys", blocks(sizes.keys, mask.getColumns())}});
  }

  /// Checks ids of documents. With an offset, the ids of queries are part of a longer table.
  LogicalResult checkIds(MaskDocumentsOp mask) {
    int64_t queries = mask.getOffset() ? ShapedType::kDynamic : sizes.queries;
    LogicalResult fits = checkTable(mask.getQueries(), "ids of queries",
                                    {{"batch", sizes.batch}, {"queries", queries}});
    return failed(fits) ? fits
                        : checkTable(mask.getKeys(), "ids of keys",
                                     {{"batch", sizes.batch}, {"keys", sizes.keys}});
  }

  LogicalResult checkRelative(BiasRelativeOp rule) {
    LogicalResult fits = checkTable(rule.getTable(), "relative table",
                                    {{"buckets", ShapedType::kDynamic}, {"heads", sizes.heads}});
    return failed(fits) ? fits : checkSequences(rule.getOffset());
  }

  /// Checks a table of distances. Its batch is not checked here, because it differs from `sizes`
  /// under packed documents; the symbolic shapes require equality.
  LogicalResult checkDistance(BiasDistanceOp rule) {
    return checkTable(
        rule.getTable(), "table of distances",
        {{"batch", ShapedType::kDynamic},
         {"heads", sizes.heads},
         {rule.getOfKeys() ? "keys" : "queries", rule.getOfKeys() ? sizes.keys : sizes.queries},
         {"distances", ShapedType::kDynamic}});
  }

  LogicalResult checkFormula(Region &body) {
    return success(llvm::all_of(body.getOps<MaskLoadOp>(), [&](MaskLoadOp load) {
      return succeeded(checkTable(load.getTable(), "loaded table",
                                  {{"batch", sizes.batch}, {"entries", ShapedType::kDynamic}}));
    }));
  }

  Operation *op;
  const RuleSizes &sizes;
  StringRef constraintName, subject;
};
} // namespace

/// The ops of a mask or a score rule.
static llvm::SetVector<Operation *> partsOf(ArrayRef<Value> values) {
  llvm::SetVector<Operation *> parts;
  SmallVector<Value> open(values);
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *def = next ? next.getDefiningOp() : nullptr;
    if (!def || !parts.insert(def))
      continue;
    for (Value operand : def->getOperands())
      if (isa<MaskType, BiasType>(operand.getType()))
        open.push_back(operand);
  }
  return parts;
}

/// Whether a mask may limit the valid keys of each sequence separately. A cache of such keys has
/// one length for each sequence.
static bool tellsLengths(Operation *part) {
  if (auto dense = dyn_cast<MaskDenseOp>(part)) {
    auto table = cast<RankedTensorType>(dense.getTable().getType());
    return table.getRank() == 4 && table.getDimSize(0) != 1 && table.getDimSize(3) != 1;
  }
  return isa<MaskLengthsOp, MaskPrefixOp>(part);
}

/// C17: a default offset is derived from the number of keys. This locates the queries only if all
/// keys are valid.
static LogicalResult verifyOffsets(Operation *op, const llvm::SetVector<Operation *> &parts) {
  Operation *keys = cast<ScoresOpInterface>(op).getKey().getDefiningOp();
  bool whole = isa_and_nonnull<StateGetOp>(keys);
  bool counted = static_cast<bool>(cast<ScoresOpInterface>(op).getRules().keyCounts);
  bool ragged = isa_and_nonnull<CacheAppendOp>(keys) && llvm::any_of(parts, tellsLengths);
  StringRef why = counted  ? "are counted for each sequence"
                  : whole  ? "come from a state"
                  : ragged ? "come from a cache with a length a sequence"
                           : "";
  if (why.empty())
    return success();
  for (Operation *part : parts)
    if (isa<MaskCausalOp, MaskWindowOp, BiasAlibiOp, BiasRelativeOp>(part) &&
        llvm::none_of(part->getOperandTypes(), [](Type type) {
          auto table = dyn_cast<RankedTensorType>(type);
          return type.isInteger(32) || (table && table.getElementType().isInteger(32));
        }))
      return op->emitOpError("C17: expected an offset on '")
             << part->getName() << "': the keys " << why
             << ", and their number does not tell where the queries stand";
  return success();
}

/// C16: packed documents occur once, as a conjunct of the mask, with a batch of 1 and without
/// tables over whole rows.
static LogicalResult verifyPacked(Operation *op, const RuleSizes &sizes, Value mask,
                                  const llvm::SetVector<Operation *> &parts) {
  int64_t all = llvm::count_if(parts, isPacked);
  if (all == 0)
    return success();
  int64_t conjuncts =
      mask ? llvm::count_if(conjunctsOf(mask), [&](MaskOpInterface m) { return isPacked(m); }) : 0;
  if (conjuncts != all)
    return op->emitOpError(
        "C16: expected packed documents as a conjunct of the mask, found them under "
        "transformer.mask.or or transformer.mask.not");
  if (all > 1)
    return op->emitOpError("C16: expected packed documents once in a mask, found them ")
           << all << " times";
  if (differ(sizes.batch, 1))
    return op->emitOpError("C16: expected packed documents in a batch of 1, found ") << sizes.batch;
  for (Operation *part : parts)
    if (isa<MaskDenseOp, MaskBlocksOp, BiasDenseOp>(part))
      return op->emitOpError("C16: expected no '")
             << part->getName() << "' with packed documents, found one";
  return success();
}

/// C13 to C15: sinks, softcap and hidden_score.
static LogicalResult verifyNumbers(Operation *op, const RuleSizes &sizes, Value mask,
                                   const ScoreRules &rules) {
  if (rules.sinks)
    if (int64_t found = cast<RankedTensorType>(rules.sinks.getType()).getDimSize(0);
        found != sizes.heads)
      return op->emitOpError("C13: expected ")
             << sizes.heads << " sinks, one a head, found " << found;
  if (rules.softcap &&
      (!rules.softcap.getValue().isFinite() || !(rules.softcap.getValueAsDouble() > 0)))
    return op->emitOpError("C14: expected a finite positive softcap, found ") << rules.softcap;
  if (rules.hiddenScore && !rules.hiddenScore.getValue().isFinite())
    return op->emitOpError("C15: expected a finite hidden_score, found ") << rules.hiddenScore;
  if (rules.hiddenScore && !mask)
    return op->emitOpError("C15: expected a mask with hidden_score, found none");
  return success();
}

/// C19: the counts of keys.
static LogicalResult verifyCounts(Operation *op, const RuleSizes &sizes, Value mask,
                                  const ScoreRules &rules) {
  if (!rules.keyCounts)
    return success();
  int64_t found = cast<RankedTensorType>(rules.keyCounts.getType()).getDimSize(0);
  if (differ(found, sizes.batch))
    return op->emitOpError("C19: expected counts of keys for ")
           << sizes.batch << " sequences, found " << found;
  if (packedDocumentsOf(mask))
    return op->emitOpError("C19: expected no packed documents with counts of keys, found them");
  return success();
}

/// Sizes required of the tables of masks and rules: under packed documents, the sizes of one
/// document.
static RuleSizes sizesOfTables(const RuleSizes &sizes, const llvm::SetVector<Operation *> &parts) {
  const auto *packed = llvm::find_if(parts, isPacked);
  if (packed == parts.end())
    return sizes;
  int64_t starts =
      cast<RankedTensorType>(cast<MaskDocumentsOp>(*packed).getQueries().getType()).getDimSize(0);
  return {ShapedType::isDynamic(starts) ? starts : starts - 1, sizes.heads, ShapedType::kDynamic,
          ShapedType::kDynamic};
}

LogicalResult heddle::transformer::verifyKept(Operation *op, StringRef name, Value kept,
                                              Value scales, Value mask) {
  auto type = cast<RankedTensorType>(kept.getType());
  if (heddle::formatOf(type).isCode() != static_cast<bool>(scales))
    return op->emitOpError("C20: expected scales with ")
           << name << " of i8, and with no others, found " << (scales ? "some with " : "none with ")
           << type.getElementType();
  if (!scales)
    return success();
  ArrayRef<int64_t> found = cast<RankedTensorType>(scales.getType()).getShape();
  for (int64_t i = 0; i < 3; ++i)
    if (differ(found[i], type.getDimSize(i)))
      return op->emitOpError("C20: dimension ")
             << i << " of the scales of " << name << ": expected " << type.getDimSize(i)
             << ", found " << found[i];
  if (packedDocumentsOf(mask))
    return op->emitOpError("C20: expected no packed documents with scales, found them");
  return success();
}

LogicalResult heddle::transformer::verifyRules(Operation *op, const RuleSizes &sizes, Value mask,
                                               const ScoreRules &rules) {
  if (failed(verifyNumbers(op, sizes, mask, rules)) || failed(verifyCounts(op, sizes, mask, rules)))
    return failure();
  llvm::SetVector<Operation *> parts = partsOf({mask, rules.bias});
  RuleSizes tables = sizesOfTables(sizes, parts);
  RuleVerifier verifier(op, tables);
  if (mask)
    if (LogicalResult fits = verifier.check(mask, "C10", "mask"); failed(fits))
      return fits;
  if (rules.bias)
    if (LogicalResult fits = verifier.check(rules.bias, "C12", "score rule"); failed(fits))
      return fits;
  if (LogicalResult fits = verifyPacked(op, sizes, mask, parts); failed(fits))
    return fits;
  return verifyOffsets(op, parts);
}
