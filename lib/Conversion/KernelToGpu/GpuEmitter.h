//===- GpuEmitter.h - A body for one invocation ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Vulkan target of the walker (BodyEmitter.h). A workgroup of ty x tx
// invocations has one tile; an invocation has `rows` rows and some columns of it:
//
//   blocked    bodies with a contraction: columns that follow each other, tiles in registers
//   strided    all others: every tx-th group of four columns, tiles wider than the registers in
//   column loops
//              that compute again what they need (loads hit the cache); with tx = 4 an invocation
//              owns four of the sixteen lanes of a row reduction
//
// bf16 and f16 lie in memory in words of two. In registers they are the same numbers as f32: of
// bf16 the low half is zero. Codes of i8 lie in words of four; in registers each is an i32.
//
// Tiles that a contraction reads, and reductions over rows, go through Workgroup memory.
#pragma once

#include "GpuKernel.h"

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include <set>

namespace heddle {

/// How a workgroup's invocations share a tile.
struct GpuPlacement {
  int64_t ty = 1, tx = 1; ///< invocations over rows and columns
  int64_t rows = 1;       ///< rows of an invocation
  bool strided = false;
};

/// The placement that the kernel's schedule and tiles ask for.
mlir::FailureOr<GpuPlacement> placeInvocations(kernel::FuncOp func);

class GpuEmitter : public kernel::BodyEmitter {
public:
  GpuEmitter(mlir::OpBuilder &builder, kernel::FuncOp func, const GpuTarget &target,
             GpuPlacement placement);
  /// Emits the whole module before `func`.
  mlir::LogicalResult run();
  /// Rows of floats start at multiples of four words; index tables and tables of dynamic width do
  /// not.
  static bool hasQuads(kernel::ViewType type);

protected:
  int64_t fragmentRows() const override { return placement.rows; }
  int64_t fragmentVectors(int64_t tileColumns) const override;
  mlir::Value rowBase() override { return firstRow; }
  mlir::Value columnBase(int64_t tileColumns) override;
  int64_t vectorColumn(int64_t j, int64_t tileColumns) const override;

  mlir::Value loadVector(const kernel::BoundView &view, kernel::Place place) override;
  llvm::SmallVector<mlir::Value> loadScalars(const kernel::BoundView &view, kernel::Place place,
                                             int64_t count) override;
  void storeVector(mlir::Value value, const kernel::BoundView &view, kernel::Place place) override;
  void storeScalar(mlir::Value value, const kernel::BoundView &view, kernel::Place place) override;

  mlir::LogicalResult emitOp(mlir::Operation &op) override;
  mlir::LogicalResult emitContract(kernel::ContractOp op) override;
  mlir::LogicalResult emitStore(kernel::StoreOp op) override;
  mlir::LogicalResult emitReduce(kernel::ReduceOp op) override;
  mlir::LogicalResult emitRun(llvm::ArrayRef<mlir::Operation *> run) override;
  mlir::LogicalResult emitPredicate(kernel::MaskOp op,
                                    llvm::SmallVectorImpl<mlir::Value> &truth) override;
  mlir::LogicalResult emitLookup(kernel::LookupOp op) override;
  mlir::LogicalResult emitLoad(kernel::LoadOp op) override;
  bool isWide(mlir::RankedTensorType type) const override;
  bool inColumnLoop() const override { return static_cast<bool>(runColumn); }
  bool recomputes(mlir::Operation &op) const override;
  mlir::Value larger(mlir::Value a, mlir::Value b) override;
  mlir::Value narrow(mlir::Value value, mlir::Type element) override;
  mlir::Type narrowElement(mlir::Type element) const override {
    return element.isInteger() ? mlir::Type(builder.getI32Type()) : builder.getF32Type();
  }

private:
  //===--------------------------------------------------------------------===//
  // The shell (GpuEmitter.cpp)
  //===--------------------------------------------------------------------===//

  void bindArguments();
  mlir::LogicalResult emitParts();
  mlir::LogicalResult emitPartsFrom(llvm::ArrayRef<kernel::PartOp> parts, mlir::Value point);
  /// Invocations over the columns of a tile that have any.
  int64_t activeColumns(int64_t tileColumns) const;
  /// A count of elements in groups of 2^shift.
  mlir::Value inGroups(mlir::Value elements, int64_t shift);
  mlir::Value quarter(mlir::Value elements) { return inGroups(elements, 2); }
  mlir::Value quadAt(const kernel::BoundView &view, kernel::Place place);
  mlir::Value wordAt(const kernel::BoundView &view, kernel::Place place);
  std::pair<mlir::Value, mlir::Value> unpackedWords(mlir::Value words, mlir::Type element);
  mlir::Value unpackFour(mlir::Value first, mlir::Value second, mlir::Type element);
  std::pair<mlir::Value, mlir::Value> packFour(mlir::Value value, mlir::Type element);
  mlir::Value packBytes(mlir::Value value);
  mlir::Value elementIndex(kernel::Place place);

  //===--------------------------------------------------------------------===//
  // Contractions (GpuContract.cpp)
  //===--------------------------------------------------------------------===//

  struct Product;
  mlir::Value accumulate(const Product &product, mlir::Value left, mlir::Value right,
                         mlir::Value sum);
  mlir::Value multiplyAddPair(mlir::Value a, mlir::Value b, mlir::Value c);
  void placeRight(kernel::ContractOp op, Product &product);
  mlir::Value panelStart(const kernel::BoundView &right, mlir::Value column, int64_t stored);
  mlir::LogicalResult placeLeft(kernel::ContractOp op, Product &product);
  void placeNibbles(kernel::ContractOp op, Product &product);
  llvm::SmallVector<mlir::Value> decodedQuads(const Product &product, mlir::Value k, int64_t u,
                                              llvm::SmallVectorImpl<mlir::Value> &loaded);
  mlir::Value nibbleScales(const Product &product, kernel::Place place, mlir::Value k);
  llvm::SmallVector<mlir::Value> rightQuads(const Product &product, mlir::Value k, int64_t u,
                                            llvm::SmallVectorImpl<mlir::Value> &odd);
  void emitStep(const Product &product, mlir::Value k, int64_t unroll,
                llvm::SmallVectorImpl<mlir::Value> &sums);
  mlir::Value leftScalar(const Product &product, mlir::Value &loaded, mlir::Value k, int64_t row,
                         int64_t unrolled, bool isWhole);
  mlir::Value leftHalf(const kernel::BoundView &left, mlir::Value &loaded, kernel::Place place,
                       int64_t unrolled, bool isWhole);
  void emitLoop(const Product &product, mlir::Value from, mlir::Value to, int64_t unroll,
                llvm::SmallVectorImpl<mlir::Value> &sums);
  llvm::SmallVector<mlir::Value> emitProduct(const Product &product);
  mlir::Value restartIfNotFinite(mlir::Value whole, llvm::SmallVectorImpl<mlir::Value> &sums);
  mlir::Value anyNotFinite(llvm::ArrayRef<mlir::Value> values);
  /// The end of a loop over k, 0 where this invocation's rows do not exist.
  mlir::Value unlessMissing(mlir::Value end);

  //===--------------------------------------------------------------------===//
  // Between invocations (GpuReduce.cpp)
  //===--------------------------------------------------------------------===//

  void beforeWrite(SharedArray array);
  void barrier();
  void writeShared(SharedArray array, mlir::Type element, int64_t entries, mlir::Value index,
                   mlir::Value value);
  mlir::Value readShared(SharedArray array, mlir::Type element, int64_t entries, mlir::Value index);
  /// Puts a tile where all invocations see it; once for all its readers in a block.
  mlir::LogicalResult stage(mlir::Value tile);
  mlir::Value stagedQuad(int64_t tileColumns, mlir::Value row, mlir::Value quadColumn);
  kernel::Fragment maximaOfRows(const kernel::Fragment &tile);
  kernel::Fragment sumsOfRows(mlir::RankedTensorType type);
  mlir::Value sumOfStagedRow(mlir::Value row, int64_t columns);
  kernel::Fragment finishLanes(kernel::ReduceKind kind, llvm::ArrayRef<mlir::Value> lanes);
  llvm::SmallVector<mlir::Value> identities(llvm::ArrayRef<kernel::ReduceOp> reductions);
  mlir::LogicalResult emitRunStep(llvm::ArrayRef<mlir::Operation *> run,
                                  llvm::SmallVectorImpl<mlir::Value> &lanes);

  //===--------------------------------------------------------------------===//
  // Predicates and tables (GpuMasks.cpp)
  //===--------------------------------------------------------------------===//

  bool isOfElements(mlir::Value tile) const;
  bool prefersElements(kernel::MaskOp op) const;
  bool goesByElements(mlir::Operation &op) const;
  bool servesElements(mlir::Operation &op) const;
  mlir::LogicalResult repeat(int64_t count, llvm::SmallVectorImpl<mlir::Value> &carried,
                             llvm::function_ref<mlir::LogicalResult(mlir::Value)> step);
  mlir::LogicalResult atElement(mlir::Value row, llvm::function_ref<mlir::LogicalResult()> body);
  mlir::FailureOr<mlir::Value> truthsOfRow(kernel::MaskOp op, int64_t columns, mlir::Value row);
  mlir::LogicalResult emitRowOf(mlir::Operation &op, mlir::Value row,
                                llvm::SmallVectorImpl<mlir::Value> &registers);
  mlir::LogicalResult emitByElements(mlir::Operation &op);

  //===--------------------------------------------------------------------===//
  // Stores (GpuStore.cpp)
  //===--------------------------------------------------------------------===//

  struct Target;
  void storeRow(const Target &target, int64_t row);
  llvm::SmallVector<mlir::Value> wordsOf(const Target &target, mlir::Value value);
  void storePanelRow(const Target &target, int64_t row);
  void storePanelQuads(const Target &target);
  void storeRows(const Target &target, mlir::Value rowsLeft);
  void storePanels(const Target &target, mlir::Value rowsLeft);
  mlir::Value panelPlace(const Target &target, mlir::Value row, int64_t column);
  /// Whether this invocation is the one that stores its part of a tile; null: every one is.
  mlir::Value owns(mlir::RankedTensorType tile);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  /// Emits `body` under a condition; null is true.
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body,
              llvm::function_ref<void()> otherwise = {});

  mlir::VectorType quadType() { return mlir::VectorType::get({4}, builder.getF32Type()); }

  kernel::FuncOp func;
  GpuPlacement placement;
  GpuKernel shell;
  mlir::Value tx, ty, firstRow;
  /// First column of the current step of a column loop.
  mlir::Value runColumn;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> groups;
  /// In loops over elements: fragments are one scalar, and tiles are emitted where they are used.
  bool byElement = false;
  mlir::Value elementColumn;
  mutable llvm::DenseMap<mlir::Value, bool> ofElements;
  mutable llvm::DenseMap<mlir::Operation *, bool> serving;

  /// What the workgroup's memory holds, and what was read from it since the last barrier of the
  /// block.
  mlir::Value stagedTile;
  mlir::Block *stagedIn = nullptr, *barrierIn = nullptr;
  std::set<SharedArray> readSince;
  /// Whether this invocation's rows exist, as the last contraction over a view knew.
  mlir::Value existing;
  mlir::Block *existingIn = nullptr;
};

} // namespace heddle
