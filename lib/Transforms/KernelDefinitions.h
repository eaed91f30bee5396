//===- KernelDefinitions.h - Groups as shared definitions -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Definitions of kernels. A kernel.def is a group with the storage of its arguments: dimensions by
// the names of the kernel's scalars, pitches, panels, and the destinations of results. Groups that
// are equal in all of this share one definition.
#pragma once

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <vector>

namespace heddle {

/// Storage of a tensor in a program.
struct PlannedTensor {
  mlir::Value buffer; ///< !kernel.buffer; null for a scalar
  SizeExpr offset = 0;
  /// Sizes in storage; with `group` the last size counts padded heads.
  Shape dims;
  /// Distance in rows between matrices (the last two dimensions).
  SizeExpr rows = 1;
  bool panel = false;
  bool weight = false;
  bool dense = false;
  bool perRow = false; ///< one number per row: the last dimension has `rows` entries
  DType element = DType::F32;
  /// Size of the heads in the last dimension if each head is padded, else 0.
  int64_t group = 0;
  /// First row to store to (caches); nullopt: 0.
  std::optional<SizeExpr> at = std::nullopt;
  /// Indices of the group's operands that hold the first row of each sequence, and the number of
  /// its rows that are stored; -1: none.
  int32_t places = -1, counts = -1;
  int64_t ring =
      0; ///< rows of a cache that keeps only the last ones, with row r in row r mod ring; else 0
  /// Number of elements that a launch appends after the existing rows.
  std::optional<SizeExpr> appended = std::nullopt;
  /// Value of a scalar operand.
  std::optional<SizeExpr> scalar = std::nullopt;
  /// For starts of documents: rows of the grid that has a tile for each part of each document.
  std::optional<SizeExpr> slots = std::nullopt;
  bool table = false;  ///< argument without an operand
  bool isSite = false; ///< a scalar that differs in equal layers, which share a definition

  /// Returns this storage without an offset for stores, as readers of all rows see it.
  PlannedTensor whole() const {
    PlannedTensor all = *this;
    all.at.reset();
    all.places = all.counts = -1;
    return all;
  }
  /// Bytes of an element; types with scales are counted by panels instead.
  int64_t elementBytes() const { return 4 / formatOf(element).perWord; }
  kernel::Storage storage() const {
    return weight  ? kernel::Storage::Weight
           : table ? kernel::Storage::Table
                   : kernel::Storage::Memory;
  }
};

/// A launch of a shared definition.
struct KernelUse {
  mlir::StringAttr kernel;
  llvm::SmallVector<mlir::Value> buffers; ///< buffers of the arguments
  std::vector<SizeExpr> offsets;          ///< offsets within `buffers`
  llvm::SmallVector<SizeExpr> scalars;
  SizeExpr flops, bytes;
};

/// The definitions of a module, shared by equal groups.
class KernelDefinitions {
public:
  using Key = std::vector<uintptr_t>;
  explicit KernelDefinitions(mlir::ModuleOp module);

  /// Returns the definition of `group` with this storage, created if it is new, and how to launch
  /// it.
  mlir::FailureOr<KernelUse> use(kernel::GroupOp group, llvm::ArrayRef<PlannedTensor> operands,
                                 llvm::ArrayRef<PlannedTensor> tables,
                                 llvm::ArrayRef<PlannedTensor> results,
                                 const ShapeExpressions &shapes);

private:
  mlir::StringAttr nameOf(kernel::GroupOp group, llvm::ArrayRef<mlir::Type> tables,
                          llvm::ArrayRef<kernel::LayoutAttr> layouts, size_t scalars);
  kernel::DefOp define(kernel::GroupOp group, mlir::Region &body,
                       llvm::ArrayRef<kernel::LayoutAttr> layouts, size_t inputs, size_t scalars);

  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  std::map<Key, mlir::StringAttr> byBody;  ///< body and layouts of a group -> name of its
                                           ///< definition
  llvm::StringMap<mlir::StringAttr> known; ///< text of a definition -> its name
  llvm::StringSet<> names;
};

} // namespace heddle
