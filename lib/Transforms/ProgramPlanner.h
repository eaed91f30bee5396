//===- ProgramPlanner.h - Planning of a program -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans the storage of every tensor of a function, and writes the program: buffers with sizes and
// lifetimes, ports, launches, state of the session, and checks.
#pragma once

#include "ArgumentLimits.h"
#include "KernelDefinitions.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <deque>

namespace heddle {

/// Rejects arguments and results of a function that callers cannot pass or receive. check-supported
/// calls it before anything is planned, but tools may omit that pass.
mlir::LogicalResult checkSignature(mlir::func::FuncOp function);
/// Checks sequences with individual numbers of rows. Rejects their appends and positions unless the
/// session counts the rows, and offsets of positions that it does not count. check-supported also
/// calls it.
mlir::LogicalResult checkCounts(mlir::func::FuncOp function);
/// Returns the length that `offset` counts, for all sequences or for each; empty if it counts no
/// length.
std::string lengthOf(mlir::func::FuncOp function, mlir::Value offset);
/// Rows that a call may always append to a cache that keeps only its last rows.
inline constexpr int64_t mostRowsOfRing = 256;
/// Rows of the ring of such a cache; 0: it keeps all rows.
int64_t ringOf(transformer::StateOp state);
/// Returns the value of the function that a block argument of a group refers to.
mlir::Value outside(mlir::Value value);

/// Size of a tensor in elements of 4 bytes, if its matrices are `rows` apart.
SizeExpr elementsOf(const Shape &dims, const SizeExpr &rows, bool dense, int64_t bytes);

/// Storage of each weight that a group has read, by its name.
using WeightPacks = llvm::StringMap<llvm::MapVector<mlir::Attribute, PlannedTensor>>;

/// Names of dimensions that stand for rows of twins until the program is built: rows of 64 elements
/// of all matrices, and of all vectors.
inline constexpr const char *twinMatrices = "twin_matrices", *twinVectors = "twin_vectors";

/// Plans one function.
class ProgramPlanner {
public:
  ProgramPlanner(mlir::func::FuncOp func, KernelDefinitions &definitions,
                 const llvm::StringSet<> &keyStates, const llvm::StringSet<> &matrices,
                 WeightPacks &packs)
      : func(func), definitions(definitions), keyStates(keyStates), matrices(matrices),
        packs(packs), shapes(func),
        stateOps(transformer::statesOf(func->getParentOfType<mlir::ModuleOp>())),
        b(func.getContext()) {
    for (auto state : func->getParentOfType<mlir::ModuleOp>().getOps<transformer::StateOp>())
      if (state.getCapacity() && state.getDims().size() > 2)
        capacities[state.getLengthName()] = static_cast<int64_t>(*state.getCapacity());
  }
  mlir::LogicalResult run();

private:
  std::string argumentName(unsigned index);
  void limitValues(Port &input, const ArgumentLimits &limits, mlir::ArrayAttr named);
  mlir::LogicalResult planArguments();
  mlir::LogicalResult planGroups();
  mlir::LogicalResult planGroup(kernel::GroupOp group, int index);
  mlir::LogicalResult planResults();
  void addSlots(transformer::TransformerOpInterface op,
                llvm::SmallVectorImpl<PlannedTensor> &operands);
  void planSession();
  std::string setRows(transformer::StateOp state, const SizeExpr &rows);
  void addChecks();

  mlir::Value bufferOf(Buffer buffer);
  void setPlace(mlir::Value value, PlannedTensor place) {
    places[value] = &planned.emplace_back(std::move(place));
  }
  mlir::FailureOr<PlannedTensor> operandPlace(kernel::GroupOp group, unsigned index);
  PackEntry::Layout layoutOf(transformer::WeightOp weight,
                             transformer::OperandStorage storage) const;
  mlir::FailureOr<PlannedTensor> weightPlace(kernel::GroupOp group, unsigned index,
                                             transformer::WeightOp weight);
  mlir::FailureOr<std::pair<kernel::PackAttr, PlannedTensor>> packedWeight(mlir::Operation *op,
                                                                           llvm::StringRef name);
  mlir::Value accumulator(kernel::PackAttr weight, uint64_t use);
  PlannedTensor twinPlace(llvm::StringRef name, transformer::WeightRange range);
  /// Adds the storage that an op of training writes in addition to its results.
  mlir::LogicalResult addWritten(mlir::Operation *op,
                                 llvm::SmallVectorImpl<PlannedTensor> &results);
  PlannedTensor statePlace(llvm::StringRef symbol, const Shape &content);
  /// The place that a result of a group takes over from an operand; null if it has its own.
  const PlannedTensor *replacedPlace(kernel::GroupOp group, mlir::Value yielded) const;
  mlir::FailureOr<PlannedTensor> resultPlace(kernel::GroupOp group, unsigned index, int launch);
  /// Memory for the rounded rows of a group's product and for their scales, in a buffer that groups
  /// with the same rows share; empty if no plan of the group may be rounded.
  llvm::SmallVector<std::pair<mlir::Value, SizeExpr>>
  roundedPlaces(kernel::GroupOp group, llvm::ArrayRef<PlannedTensor> operands, int launch);
  PlannedTensor tablePlace(transformer::TransformerOpInterface op, kernel::GroupOp group);
  PlannedTensor statePlaceOf(mlir::Operation *store);
  transformer::StateOp stateNamed(llvm::StringRef symbol) {
    return stateOps.lookup(b.getStringAttr(symbol));
  }
  llvm::SmallVector<SizeExpr> stateDims(llvm::StringRef symbol);

  mlir::func::FuncOp func;
  KernelDefinitions &definitions;
  const llvm::StringSet<> &keyStates, &matrices;
  WeightPacks &packs;
  ShapeExpressions shapes;
  llvm::DenseMap<mlir::StringAttr, transformer::StateOp> stateOps;
  llvm::StringMap<int64_t> capacities; ///< capacities of caches, by the length that counts their
                                       ///< rows
  mlir::OpBuilder b;
  kernel::ProgramOp program;
  std::deque<PlannedTensor> planned;
  llvm::DenseMap<mlir::Value, const PlannedTensor *> places; ///< pointers into `planned`
  llvm::DenseMap<kernel::BufferOp, int> lastReaders; ///< last launch that reads each temporary
  llvm::DenseMap<mlir::Attribute, mlir::Value> weights;
  llvm::StringMap<mlir::Value> states, tables, twins;
  llvm::DenseMap<mlir::Value, mlir::Value> roundings; ///< buffers of rounded rows, by the rows
  llvm::SmallVector<ShapeEquality> limitChecks;       ///< limits of arguments that several ops read
};

} // namespace heddle
