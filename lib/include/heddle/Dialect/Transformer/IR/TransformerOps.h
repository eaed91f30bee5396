//===- TransformerOps.h - The ops of a Transformer -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of the transformer dialect, and the traits and helpers that their
// definitions use.
#pragma once

#include "heddle/Dialect/Transformer/IR/MaskInterface.h"
#include "heddle/Dialect/Transformer/IR/OpInterfaces.h"
#include "heddle/Dialect/Transformer/IR/TransformerDialect.h"
#include "heddle/Support/Formats.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle::transformer {

/// The states of a session, as a resource of memory effects.
struct StateResource : mlir::SideEffects::Resource::Base<StateResource> {
  llvm::StringRef getName() final { return "TransformerState"; }
};

/// The gradients of the weights, as a resource of memory effects.
struct GradientResource : mlir::SideEffects::Resource::Base<GradientResource> {
  llvm::StringRef getName() final { return "TransformerGradient"; }
};

/// Whether an attention returns its weights, and in which form.
enum class WeightsResult { None, PerHead, Averaged };

class AttentionOp;
class AttentionStatisticsOp;
class StateOp;

namespace detail {
/// The grammar of dimension names, for error messages.
inline constexpr llvm::StringLiteral dimName =
    "a name of letters, digits, _ and . that begins with a letter or _";
/// Whether `text` can name a dimension in size expressions (Support/SizeExpr.h).
bool isDimName(llvm::StringRef text);
llvm::LogicalResult verifyKnownAttributes(mlir::Operation *op);
llvm::LogicalResult verifyStaysInBlock(mlir::Operation *op);
llvm::LogicalResult verifyWhereRegion(mlir::Operation *op);
/// `custom<DocumentTables>`, the operands of mask.documents.
mlir::ParseResult parseDocumentTables(mlir::OpAsmParser &parser,
                                      mlir::OpAsmParser::UnresolvedOperand &queries,
                                      mlir::OpAsmParser::UnresolvedOperand &keys,
                                      mlir::UnitAttr &starts);
void printDocumentTables(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Value queries,
                         mlir::Value keys, mlir::UnitAttr starts);
} // namespace detail

/// Rejects attributes that the op does not define and that no other dialect claims.
template <typename ConcreteOp>
class KnownAttributes : public mlir::OpTrait::TraitBase<ConcreteOp, KnownAttributes> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyKnownAttributes(op);
  }
};

/// A mask or score rule. Only masks, score rules and attention of the same block may use it.
template <typename ConcreteOp>
class StaysInBlock : public mlir::OpTrait::TraitBase<ConcreteOp, StaysInBlock> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyStaysInBlock(op);
  }
};

/// The region of a formula: four i32 arguments, and ops that are defined for all operands.
template <typename ConcreteOp>
class WhereRegion : public mlir::OpTrait::TraitBase<ConcreteOp, WhereRegion> {
public:
  static llvm::LogicalResult verifyRegionTrait(mlir::Operation *op) {
    return detail::verifyWhereRegion(op);
  }
};

} // namespace heddle::transformer

#define GET_OP_CLASSES
#include "heddle/Dialect/Transformer/IR/TransformerOps.h.inc"

namespace heddle::transformer {
/// The conjunct `documents starts` of a mask, or null. `mask` may be null.
MaskDocumentsOp packedDocumentsOf(mlir::Value mask);
/// Whether a kernel reads an operand of scores in panels.
bool readInPanels(mlir::OpOperand &use);
/// The name of the state whose content `value` is, stored or just appended; null for other values.
mlir::StringAttr stateOf(mlir::Value value);
/// The states of a module by name. A pass calls this once, because `lookupState` of an op searches
/// the module.
llvm::DenseMap<mlir::StringAttr, StateOp> statesOf(mlir::ModuleOp module);

// Rounding (`arith.truncf`) is a separate op and marks where a value is stored. Analyses of the
// computing op and of its kernel look through it. Before tiling, only these helpers depend on the
// rounding op.

/// Whether an op rounds a value to a narrower type.
bool isRounding(mlir::Operation *op);
/// The operand of a rounding, or the value itself.
mlir::Value beforeRounding(mlir::Value value);
/// The value rounded to the type `element`, or the value itself if it has that type.
mlir::Value roundedTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      mlir::Type element);
} // namespace heddle::transformer
