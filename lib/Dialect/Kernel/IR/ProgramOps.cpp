//===- ProgramOps.cpp - Launch lists and buffers --------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the `program` stage: every expression parses, every word is one
// of its enumeration, a launch gives one offset an argument.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Support/SizeExpr.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// A bare word of an enumeration, kept as a string.
static ParseResult parseWord(OpAsmParser &parser, StringAttr &word) {
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  word = parser.getBuilder().getStringAttr(text);
  return success();
}

static void printWord(OpAsmPrinter &printer, Operation *, StringAttr word) {
  printer << word.getValue();
}

static LogicalResult verifyWord(Operation *op, StringRef what, StringRef word,
                                ArrayRef<StringRef> known) {
  if (llvm::is_contained(known, word))
    return success();
  return op->emitOpError() << "expected " << what << " to be one of " << llvm::join(known, ", ")
                           << ", found " << word;
}

static LogicalResult verifySize(Operation *op, StringRef text) {
  auto expr = SizeExpr::parse(std::string_view(text.data(), text.size()));
  if (!expr)
    return op->emitOpError() << "expected a size expression, found \"" << text
                             << "\": " << expr.error().message;
  return success();
}

static LogicalResult verifySizes(Operation *op, ArrayAttr texts) {
  for (auto text : texts.getAsRange<StringAttr>())
    if (failed(verifySize(op, text.getValue())))
      return failure();
  return success();
}

LogicalResult BufferOp::verify() {
  if (failed(verifyWord(*this, "kind", getKind(), {"temporary", "argument", "state", "table"})))
    return failure();
  if ((getKind() == "table") != getGenerator().has_value())
    return emitOpError("expected a generator for tables, and only for them");
  return verifySize(*this, getElements());
}

LogicalResult WeightOp::verify() {
  if (std::optional<StringRef> element = getElement();
      element && failed(verifyWord(*this, "element", *element, {"bf16", "f16", "i8", "i4"})))
    return failure();
  return verifyWord(*this, "layout", getLayout(), {"vector", "rows", "panels", "scales"});
}

LogicalResult CheckOp::verify() {
  if (failed(verifyWord(*this, "relation", getRelation(), {"equal", "at_most"})))
    return failure();
  return failure(failed(verifySize(*this, getLeft())) || failed(verifySize(*this, getRight())));
}

LogicalResult LaunchOp::verify() {
  if (getOffsets().size() != getArguments().size())
    return emitOpError() << "expected one offset an argument: " << getArguments().size()
                         << ", found " << getOffsets().size();
  return failure(failed(verifySizes(*this, getOffsets())) ||
                 failed(verifySizes(*this, getScalars())) ||
                 failed(verifySize(*this, getFlops())) || failed(verifySize(*this, getBytes())));
}

#define GET_OP_CLASSES
#include "heddle/Dialect/Kernel/IR/ProgramOps.cpp.inc"
