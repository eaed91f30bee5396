//===- KernelDefinitions.h - Groups as shared definitions ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel.def is a group with its arguments' storage: dimensions by the names
// of the kernel's scalars, pitches, panels, and where results are stored.
// Groups that are equal in all of this share one definition.
#pragma once

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Target/TileSizes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace heddle {

/// Where a tensor lies when a program runs.
struct PlannedTensor {
  mlir::Value buffer; ///< !kernel.buffer; null for a scalar
  SizeExpr offset = 0;
  /// Sizes in storage: the last one counts padded heads where `group` is set.
  Shape dims;
  /// Distance of the matrices of the last two dimensions, in rows.
  SizeExpr rows = 1;
  bool panel = false;
  bool weight = false;
  bool dense = false;
  DType element = DType::F32;
  /// Size of the heads that the last dimension is made of, if they are padded one by one; else 0.
  int64_t group = 0;
  /// First row to store to, where not 0 (caches).
  std::optional<SizeExpr> at = std::nullopt;
  /// Elements that a launch stores behind the rows that stand there already.
  std::optional<SizeExpr> appended = std::nullopt;
  /// Value of a scalar operand.
  std::optional<SizeExpr> scalar = std::nullopt;
  /// Starts of documents: rows of the grid that has a tile for each part of each document.
  std::optional<SizeExpr> slots = std::nullopt;
  bool table = false; ///< an argument without an operand

  /// Bytes of an element; what holds scales is counted by panels.
  int64_t elementBytes() const { return 4 / formatOf(element).perWord; }
  kernel::Storage storage() const {
    return weight  ? kernel::Storage::Weight
           : table ? kernel::Storage::Table
                   : kernel::Storage::Memory;
  }
};

/// Rows of attention's tile on the device where it is largest.
constexpr int64_t largestAttentionRows = cpuTiles.attentionRows.front();

/// A launch of a shared definition.
struct KernelUse {
  mlir::StringAttr kernel;
  llvm::SmallVector<PlannedTensor> arguments;
  llvm::SmallVector<SizeExpr> scalars;
  SizeExpr flops, bytes;
};

class KernelDefinitions {
public:
  explicit KernelDefinitions(mlir::ModuleOp module);

  /// The definition of `group` under these places (made if it is new), and how to launch it.
  mlir::FailureOr<KernelUse> use(kernel::GroupOp group, llvm::ArrayRef<PlannedTensor> operands,
                                 const std::optional<PlannedTensor> &table,
                                 llvm::ArrayRef<PlannedTensor> results,
                                 const ShapeExpressions &shapes);

private:
  kernel::DefOp define(kernel::GroupOp group, mlir::Region &body,
                       llvm::ArrayRef<kernel::LayoutAttr> layouts, size_t inputs, size_t scalars);

  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  llvm::StringMap<mlir::StringAttr> known; ///< text of a definition -> its name
  llvm::StringSet<> names;
};

} // namespace heddle
