//===- MaskVerifiers.cpp - Verifiers and folds of the mask ops ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and folds of mask ops. Constraints that depend on the attention
// that uses a mask are in AttentionRules.cpp.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle::transformer;

LogicalResult heddle::transformer::detail::verifyStaysInBlock(Operation *op) {
  bool rule = isa<BiasOpInterface>(op);
  StringRef what = rule ? "score rule" : "mask", like = rule ? "score rules" : "masks";
  for (Value operand : op->getOperands())
    if (isa<MaskType, BiasType>(operand.getType()) &&
        !isa_and_nonnull<MaskOpInterface, BiasOpInterface>(operand.getDefiningOp()))
      return op->emitOpError("C1: expected a ")
             << what << " made by a " << what << " op of the same block, found another value";
  for (Operation *user : op->getResult(0).getUsers()) {
    bool fits = isa<ScoresOpInterface>(user) ||
                (rule ? isa<BiasOpInterface>(user) : isa<MaskOpInterface>(user));
    if (!fits)
      return op->emitOpError("C1: expected only ")
             << like << " and attention to use a " << what << ", found '" << user->getName() << "'";
    if (user->getBlock() != op->getBlock())
      return op->emitOpError("C1: expected a ")
             << what << " to be used in its own block, found a use in another";
  }
  return success();
}

//===- window, documents, dense, blocks ----------------------------------===//

LogicalResult MaskWindowOp::verify() {
  for (auto [name, keys] : {std::pair("before", getBefore()), std::pair("after", getAfter())})
    if (static_cast<int64_t>(keys) < 0 ||
        static_cast<int64_t>(keys) > std::numeric_limits<int32_t>::max())
      return emitOpError("C2: expected ")
             << name << " of at least 0 and below 2147483648, found " << static_cast<int64_t>(keys);
  return success();
}

/// `custom<DocumentTables>`: ids print as `%q, %k`, starts as `starts(%q, %k)`.
ParseResult heddle::transformer::detail::parseDocumentTables(
    OpAsmParser &parser, OpAsmParser::UnresolvedOperand &queries,
    OpAsmParser::UnresolvedOperand &keys, UnitAttr &starts) {
  bool packed = succeeded(parser.parseOptionalKeyword("starts"));
  if (packed)
    starts = parser.getBuilder().getUnitAttr();
  if ((packed && parser.parseLParen()) || parser.parseOperand(queries) || parser.parseComma() ||
      parser.parseOperand(keys))
    return failure();
  return packed ? parser.parseRParen() : ParseResult(success());
}

void heddle::transformer::detail::printDocumentTables(OpAsmPrinter &printer, Operation *,
                                                      Value queries, Value keys, UnitAttr starts) {
  if (starts)
    printer << "starts(" << queries << ", " << keys << ")";
  else
    printer << queries << ", " << keys;
}

LogicalResult MaskDocumentsOp::verify() {
  int64_t rank = getStarts() ? 1 : 2;
  for (auto [name, table] : {std::pair("queries", getQueries()), std::pair("keys", getKeys())})
    if (int64_t found = cast<RankedTensorType>(table.getType()).getRank(); found != rank)
      return emitOpError("C2: expected ")
             << name << " of rank " << rank
             << (getStarts() ? " [documents + 1]" : " [batch, tokens]") << ", found rank " << found;
  if (!getStarts())
    return success();
  if (getOffset())
    return emitOpError("C8: expected offset or starts, found both");
  int64_t q = cast<RankedTensorType>(getQueries().getType()).getDimSize(0),
          k = cast<RankedTensorType>(getKeys().getType()).getDimSize(0);
  if (q == 0 || k == 0)
    return emitOpError("C3: expected at least one start, found none");
  if (!ShapedType::isDynamic(q) && !ShapedType::isDynamic(k) && q != k)
    return emitOpError("C3: expected as many starts of queries as of keys, found ")
           << q << " and " << k;
  return success();
}

LogicalResult MaskDenseOp::verify() {
  if (int64_t rank = cast<RankedTensorType>(getTable().getType()).getRank(); rank != 4)
    return emitOpError(
               "C2: expected table of rank 4 [batch|1, heads|1, queries|1, keys|1], found rank ")
           << rank;
  return success();
}

LogicalResult MaskBlocksOp::verify() {
  if (int64_t rank = cast<RankedTensorType>(getTable().getType()).getRank(); rank != 4)
    return emitOpError(
               "C2: expected table of rank 4 [batch|1, heads|1, blocks of queries, blocks of "
               "keys], found rank ")
           << rank;
  for (auto [name, size] : {std::pair("rows", getRows()), std::pair("columns", getColumns())})
    if (static_cast<int64_t>(size) < 1 || static_cast<int64_t>(size) >= int64_t(1) << 30)
      return emitOpError("C3: expected ")
             << name << " of at least 1 and below 1073741824, found " << static_cast<int64_t>(size);
  return success();
}

//===- Folds -------------------------------------------------------------===//

OpFoldResult MaskAndOp::fold(FoldAdaptor) { return getLhs() == getRhs() ? getLhs() : Value(); }
OpFoldResult MaskOrOp::fold(FoldAdaptor) { return getLhs() == getRhs() ? getLhs() : Value(); }

OpFoldResult MaskNotOp::fold(FoldAdaptor) {
  auto inner = getMask().getDefiningOp<MaskNotOp>();
  return inner ? inner.getMask() : Value();
}
