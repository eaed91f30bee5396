//===- TransformerOps.h - The ops of a Transformer -------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The op classes of the transformer dialect, and the traits and helpers that
// their definitions name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Dialect/Transformer/IR/MaskInterface.h"
#include "heddle/Dialect/Transformer/IR/TransformerDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle::transformer {

/// The states of a session, as a resource of memory effects.
struct StateResource : mlir::SideEffects::Resource::Base<StateResource> {
  llvm::StringRef getName() final { return "TransformerState"; }
};

/// Whether an attention returns its weights, and in which form.
enum class WeightsResult { None, PerHead, Averaged };

class StateOp;

namespace detail {
llvm::LogicalResult verifyKnownAttributes(mlir::Operation *op);
llvm::LogicalResult verifyStaysInBlock(mlir::Operation *op);
} // namespace detail

/// Refuses attributes that the op does not define and that no other dialect claims.
template <typename ConcreteOp>
class KnownAttributes : public mlir::OpTrait::TraitBase<ConcreteOp, KnownAttributes> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyKnownAttributes(op);
  }
};

/// Masks are used by masks and attention of the same block only.
template <typename ConcreteOp>
class StaysInBlock : public mlir::OpTrait::TraitBase<ConcreteOp, StaysInBlock> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyStaysInBlock(op);
  }
};

} // namespace heddle::transformer

#define GET_OP_CLASSES
#include "heddle/Dialect/Transformer/IR/TransformerOps.h.inc"
