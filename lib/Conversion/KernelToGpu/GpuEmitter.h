//===- GpuEmitter.h - A body for one invocation ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BodyEmitter for Vulkan. A workgroup of ty x tx invocations computes one tile. A mapping
// (Mappings/GpuMapping.h) decides which rows and columns each invocation has and emits the ops that
// depend on this; all other ops are the same for every mapping.
//
// bf16 and f16 are stored two in a word. Registers hold them as f32; the low half
// of a bf16 is zero. i8 codes are stored four in a word; registers hold each as an
// i32.
//
// Tiles that a contraction reads, and row reductions, go through Workgroup memory.
#pragma once

#include "GpuElements.h"
#include "GpuKernel.h"
#include "GpuRuns.h"
#include "GpuWorkgroup.h"
#include "Mappings/GpuMapping.h"

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

/// Bits of an f32 without its sign, and of infinity: numbers that are none have more, or as many.
inline constexpr int32_t kMagnitudeBits = 0x7fffffff, kExponentBits = 0x7f800000;

/// Placement of a workgroup's invocations on a tile.
struct GpuPlacement {
  kernel::Mapping mapping = kernel::Mapping::Blocked;
  int64_t ty = 1, tx = 1; ///< invocations over rows and columns
  int64_t rows = 1;       ///< rows of an invocation
  int64_t block =
      0; ///< steps of k that products over features stage (GpuStaging.h); 0: they do not
  int64_t ahead = 1; ///< such blocks that are under way while one is multiplied (GpuBlocks.h)
  /// The shape in which matrix units multiply (GpuMatrices.h); null: products do not go through them.
  const MatrixShape *matrix = nullptr;
  int64_t mostColumns = 0;   ///< of such products in the kernel
  int64_t stagedColumns = 0; ///< of those that are staged together
  int64_t subgroup = 0;      ///< invocations
  /// Groups of ty x tx invocations, each of which takes chunks of keys of one row (SplitKeys.cpp).
  int64_t groups = 1;

  int64_t invocations() const { return groups * ty * tx; }
};

/// The placement that the kernel's plan and tiles ask for.
mlir::FailureOr<GpuPlacement> placeInvocations(kernel::FuncOp func, const GpuTarget &target);

/// Position of what is emitted: an invocation's fragment of a tile, or one element of it.
struct GpuContext {
  int64_t rows = 1;
  mlir::Value firstRow;
  mlir::Value runColumn; ///< first column in a column loop; null: outside
  /// In loops over elements a fragment is one scalar, and tiles are emitted at their uses.
  bool byElement = false;
  mlir::Value elementColumn;
  /// In slices of a run (GpuRuns.h): registers of a row, and the first of them; 0: all.
  int64_t vectors = 0, firstVector = 0;
};

/// Emits one kernel for one invocation. Parts of the class are in the files named below.
class GpuEmitter : public kernel::BodyEmitter {
public:
  GpuEmitter(mlir::OpBuilder &builder, kernel::FuncOp func, const GpuTarget &target,
             GpuPlacement placement);
  ~GpuEmitter() override;
  /// Emits the whole module before `func`.
  mlir::LogicalResult run();
  /// Whether rows start at multiples of four words. Index tables and tables of dynamic width do
  /// not.
  static bool hasVec4(kernel::ViewType type);

  // Placement.
  int64_t fragmentRows() const override { return at.rows; }
  int64_t fragmentVectors(int64_t tileColumns) const override;
  mlir::Value rowBase() override { return at.firstRow; }
  mlir::Value columnBase(int64_t tileColumns) override { return mapping->firstColumn(tileColumns); }
  int64_t vectorColumn(int64_t j, int64_t) const override {
    return mapping->columnOf(at.firstVector + j);
  }

  // Memory.
  mlir::Value loadVector(const kernel::BoundView &view, kernel::Address place) override;
  llvm::SmallVector<mlir::Value> loadScalars(const kernel::BoundView &view, kernel::Address place,
                                             int64_t count) override;
  mlir::Value loadWord(const kernel::BoundView &view, kernel::Address place) override {
    return asWords(mlir::spirv::LoadOp::create(builder, loc, wordAt(view, place)));
  }
  void storeVector(mlir::Value value, const kernel::BoundView &view,
                   kernel::Address place) override;
  void storeScalar(mlir::Value value, const kernel::BoundView &view,
                   kernel::Address place) override;
  /// A number of elements in groups of four.
  mlir::Value quarter(mlir::Value elements) { return inGroups(elements, 2); }
  /// Pointers to the vec4 of words at a place, and to one word.
  mlir::Value vec4At(const kernel::BoundView &view, kernel::Address place);
  mlir::Value wordAt(const kernel::BoundView &view, kernel::Address place);
  /// A place in groups of four words, each of so many elements.
  mlir::Value quadOf(int64_t perWord, kernel::Address place);
  mlir::Value quadOf(const kernel::BoundView &view, kernel::Address place) {
    return quadOf(perWord(view), place);
  }
  /// The even (low) and odd (high) elements of words, widened to f32.
  std::pair<mlir::Value, mlir::Value> unpackedWords(mlir::Value words, mlir::Type element);
  /// Widens the elements of two words to four floats.
  mlir::Value unpackFour(mlir::Value first, mlir::Value second, mlir::Type element);
  /// One byte of each word, widened to f32.
  mlir::Value byteAsFloat(mlir::Value words, int64_t byte, bool isSigned);
  /// Packs four floats, already rounded to `element`, into two words.
  std::pair<mlir::Value, mlir::Value> packFour(mlir::Value value, mlir::Type element);
  /// Packs the low bytes of four integers into a word, and gives them back with their signs.
  mlir::Value packBytes(mlir::Value value);
  mlir::Value bytesOf(mlir::Value word);
  /// What codes in a register of integers stand for.
  mlir::Value decoded(mlir::Value codes, mlir::Value scale);

  // Interface for products, reductions, stores and loops over elements.
  mlir::LogicalResult emitOp(mlir::Operation &op) override;
  using BodyEmitter::emitOps;
  mlir::Value larger(mlir::Value a, mlir::Value b) override;
  mlir::Value scaleByPower(mlir::Value x, mlir::Value n) override;
  mlir::VectorType vec4Type() { return mlir::VectorType::get({4}, builder.getF32Type()); }
  /// Emits `body` under a condition; null is true.
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body,
              llvm::function_ref<void()> otherwise = {});
  /// Replaces registers where a condition that is rarely true holds.
  void replaceIf(mlir::Value condition, llvm::MutableArrayRef<mlir::Value> registers,
                 llvm::function_ref<void(llvm::MutableArrayRef<mlir::Value>)> replace);
  /// From here on in this block, `condition` tells whether this invocation's rows exist.
  void noteRows(mlir::Value condition);
  /// By row of the fragment, whether the window holds the table's row that it gathers; empty: the
  /// kernel gathers from no window.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> rowsInWindow();
  /// Of x where it is not below a constant, else the constant: that, where one invocation has all x
  /// of a row, for which a branch pays. Unlike a maximum it keeps NaN.
  std::optional<float> floorOf(mlir::Operation &op) const;
  /// The end of a loop over k; 0 if this invocation's rows do not exist.
  mlir::Value unlessMissing(mlir::Value end);

  const GpuTarget &target;
  const GpuPlacement placement;
  GpuKernel entry;
  mlir::Value tx, ty; ///< this invocation over columns and rows
  mlir::Value number; ///< in the workgroup
  mlir::Value subgroup,
      lane; ///< where products go through matrix units: its subgroup, and its place there
  GpuContext at;
  GpuWorkgroup workgroup{*this};
  GpuElements elements{*this};
  GpuRuns runs{*this};
  const std::unique_ptr<GpuMapping> mapping;
  using BodyEmitter::dependsOn;
  using BodyEmitter::fragments;
  /// Emits a loop op by op.
  mlir::LogicalResult emitLoop(mlir::scf::ForOp op) { return BodyEmitter::emitFor(op); }
  /// Reduces what this invocation holds of a tile's rows, without the other invocations.
  mlir::LogicalResult reduceFragment(kernel::ReduceOp op) { return BodyEmitter::emitReduce(op); }
  /// Emits ops in order, after the scalars that they read are bound.
  mlir::LogicalResult emitAll(llvm::ArrayRef<mlir::Operation *> ops) { return emitOps(ops); }
  void bindScalar(mlir::Value scalar, mlir::Value value) { scalars[scalar] = value; }
  bool recomputes(mlir::Operation &op) const override;
  mlir::LogicalResult emitChoice(kernel::MaskOp op, const kernel::Fragment &tile, mlir::Value other,
                                 llvm::SmallVectorImpl<mlir::Value> &chosen) override;

private:
  mlir::LogicalResult emitContract(kernel::ContractOp op) override {
    return mapping->emitProduct(op);
  }
  mlir::LogicalResult emitReduce(kernel::ReduceOp op) override { return mapping->emitReduce(op); }
  mlir::LogicalResult emitStore(kernel::StoreOp op) override; ///< GpuStore.cpp
  std::pair<mlir::Value, mlir::Value> gatherableRows(const kernel::BoundView &table) override;
  mlir::LogicalResult emitLoopNest(llvm::ArrayRef<mlir::Operation *> run) override {
    return mapping->emitColumnLoop(run);
  }
  mlir::LogicalResult emitPredicate(kernel::MaskOp op,
                                    llvm::SmallVectorImpl<mlir::Value> &truth) override;
  mlir::LogicalResult emitLookup(kernel::LookupOp op) override;
  mlir::LogicalResult emitLoad(kernel::LoadOp op) override;
  mlir::LogicalResult emitFor(mlir::scf::ForOp op) override { return mapping->emitLoop(op); }
  bool carriesItself(mlir::Value value) const override { return mapping->carriesItself(value); }
  mlir::LogicalResult carry(mlir::Value value) override { return mapping->carry(value); }
  void carried(mlir::Value value) override { mapping->carried(value); }
  bool isWide(mlir::RankedTensorType type) const override;
  bool inColumnLoop() const override { return static_cast<bool>(at.runColumn); }
  mlir::FailureOr<size_t> emitTogether(llvm::ArrayRef<mlir::Operation *> ops) override {
    return runs.emit(ops);
  }
  mlir::FailureOr<kernel::Fragment> materialize(mlir::Value tile) override;
  mlir::Value narrow(mlir::Value value, mlir::Type element) override;
  mlir::Type narrowElement(mlir::Type element) const override {
    return element.isInteger() ? mlir::Type(builder.getI32Type()) : builder.getF32Type();
  }

  mlir::LogicalResult emitFloor(mlir::arith::SelectOp op, float floor);
  mlir::LogicalResult emitFused(mlir::arith::AddFOp op, mlir::arith::MulFOp product);
  /// The first operand of a sum, if it is the product of a tile and powers of two; null: another op.
  mlir::arith::MulFOp exactProductOf(mlir::Operation &op) const;
  /// Emits an op of scores that takes fewer instructions than its own; nothing: it is another op.
  std::optional<mlir::LogicalResult> emitScores(mlir::Operation &op);
  void bindArguments();
  mlir::LogicalResult emitParts();
  mlir::LogicalResult emitPartsFrom(llvm::ArrayRef<kernel::PartOp> parts, mlir::Value point);
  /// A number of elements in groups of 2^shift.
  mlir::Value inGroups(mlir::Value elements, int64_t shift);
  std::pair<mlir::Value, mlir::Value> unpackedByDevice(mlir::Value words);
  mlir::Value elementIndex(kernel::Address place);

  kernel::FuncOp func;
  /// Results of inGroups, by count and shift.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> groups;
  /// Results of byteAsFloat, by words and 2 * byte + isSigned, in the block of the words.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> floatBytes;
  /// Whether this invocation's rows exist, for blocks inside `rowsKnownIn`.
  mlir::Value rowsExist;
  mlir::Block *rowsKnownIn = nullptr;
};

} // namespace heddle
