//===- WhereOps.cpp - Verifiers of formulas -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of a formula's region: the ops it may hold, which must be defined
// for all operands, and the values it may capture.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle::transformer;

static bool isNarrow(Type type) { return type.isInteger(8) || type.isInteger(16); }

//===- Ops of a region ---------------------------------------------------===//

/// Whether an op is allowed on i32 or, with `onTruth`, on i1.
static bool isIntegerOp(StringRef name, bool onTruth) {
  static const llvm::StringSet<> both{"arith.andi", "arith.ori",    "arith.xori",
                                      "arith.cmpi", "arith.select", "arith.constant"};
  static const llvm::StringSet<> numbers{"arith.addi",      "arith.subi",  "arith.muli",
                                         "arith.divsi",     "arith.remsi", "arith.floordivsi",
                                         "arith.ceildivsi", "arith.minsi", "arith.maxsi",
                                         "arith.shli",      "arith.shrsi", "arith.shrui"};
  return both.contains(name) || (!onTruth && numbers.contains(name));
}

static bool isFloatOp(StringRef name) {
  static const llvm::StringSet<> names{
      "arith.constant", "arith.addf",     "arith.subf",     "arith.mulf", "arith.divf",
      "arith.negf",     "arith.maximumf", "arith.minimumf", "arith.cmpf", "arith.select",
      "arith.sitofp",   "math.absf",      "math.exp",       "math.log"};
  return names.contains(name);
}

static bool isResize(Operation *op) {
  return isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op);
}

/// The type that decides whether an op is allowed: the type of the last operand, or of a constant's
/// result.
static Type decidingType(Operation *op) {
  return op->getNumOperands() ? op->getOperands().back().getType() : op->getResult(0).getType();
}

static bool isAllowed(Operation *op, bool inBias) {
  if (isa<MaskLoadOp, YieldOp>(op))
    return true;
  if (op->getNumResults() != 1)
    return false;
  StringRef name = op->getName().getStringRef();
  Type type = decidingType(op);
  if (isResize(op)) {
    auto fits = [](Type t) { return t.isInteger(1) || t.isInteger(32) || isNarrow(t); };
    return fits(type) && fits(op->getResult(0).getType());
  }
  if (isa<arith::SIToFPOp>(op))
    return inBias && type.isInteger(32) && op->getResult(0).getType().isF32();
  if (type.isF32())
    return inBias && isFloatOp(name);
  return (type.isInteger(32) || type.isInteger(1)) && isIntegerOp(name, type.isInteger(1));
}

/// C4: captures are constants, i32 numbers and tables of loads.
static LogicalResult verifyCapture(Operation *where, Operation *op, OpOperand &use) {
  Type type = use.get().getType();
  bool table = isa<MaskLoadOp>(op) && use.getOperandNumber() == 0;
  if (table || type.isInteger(32) || matchPattern(use.get(), m_Constant()))
    return success();
  return where->emitOpError("C4: expected i32 numbers and loaded tables from outside the region, "
                            "found a value of ")
         << type;
}

static LogicalResult verifyOp(Operation *where, Operation *op, bool inBias) {
  if (!isAllowed(op, inBias)) {
    InFlightDiagnostic error = where->emitOpError("C3: expected ops of formulas on ")
                               << (inBias ? "i1, i32 and f32" : "i1 and i32") << ", found '"
                               << op->getName() << "'";
    if (op->getNumOperands() || op->getNumResults())
      error << " on " << decidingType(op);
    return error;
  }
  for (OpOperand &use : op->getOpOperands())
    if (!where->getRegion(0).isAncestor(use.get().getParentRegion()))
      if (LogicalResult fits = verifyCapture(where, op, use); failed(fits))
        return fits;
  return success();
}

LogicalResult heddle::transformer::detail::verifyWhereRegion(Operation *op) {
  Block &block = op->getRegion(0).front();
  bool inBias = isa<BiasWhereOp>(op);
  if (block.getNumArguments() != 4)
    return op->emitOpError("C2: expected 4 arguments (b, h, i, j), found ")
           << block.getNumArguments();
  for (BlockArgument argument : block.getArguments())
    if (!argument.getType().isInteger(32))
      return op->emitOpError("C2: expected arguments of i32, found ")
             << argument.getType() << " for argument " << argument.getArgNumber();
  if (block.empty() || !isa<YieldOp>(block.back()))
    return op->emitOpError("C2: expected a region that ends with transformer.yield");
  for (Operation &inner : block)
    if (LogicalResult fits = verifyOp(op, &inner, inBias); failed(fits))
      return fits;
  return success();
}

//===- load, yield -------------------------------------------------------===//

LogicalResult MaskLoadOp::verify() {
  auto type = cast<RankedTensorType>(getTable().getType());
  if (static_cast<int64_t>(getIndices().size()) != type.getRank())
    return emitOpError("C1: expected ")
           << type.getRank() << " indices, one a dimension of the table, found "
           << getIndices().size();
  Operation *where = (*this)->getParentOp();
  if (type.getRank() == 2 && getIndices()[0] != where->getRegion(0).getArgument(0))
    return emitOpError(
        "C2: expected the region's first argument, the sequence, as the first of two indices");
  if (where->getRegion(0).isAncestor(getTable().getParentRegion()))
    return emitOpError("C3: expected a table from outside the region");
  if (type.getElementType().isF32() && !isa<BiasWhereOp>(where))
    return emitOpError("C3: expected a table of i32 in a mask, found ") << type;
  return success();
}

LogicalResult YieldOp::verify() {
  bool inBias = isa<BiasWhereOp>((*this)->getParentOp());
  Type found = getValue().getType();
  if (inBias != found.isF32())
    return emitOpError("C1: expected ") << (inBias ? "f32" : "i1") << ", found " << found;
  return success();
}

bool MaskLoadOp::takesWeight(OpOperand &operand) {
  return &operand == &getTableMutable() && cast<ShapedType>(getTable().getType()).getRank() == 1;
}
