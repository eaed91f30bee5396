//===- CommonRows.cpp - Products over the rows of two views ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products over the rows that two views have in common. Features of the left view are the rows of
// the tile, so a row of the left view holds the scalars of one step side by side.
//
// A tile reads a few lines of each row of both views. Rows of a power of two bytes would compete for
// a few sets of the caches, so the lines of a block of rows are copied to scratch first.

#include "../CpuProduct.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
struct CommonRows : CpuProduct {
  using CpuProduct::CpuProduct;
  static bool accepts(ProductOpInterface op, const CpuTarget &) {
    return isa<ContractCommonOp>(op);
  }

  /// Packed columns have the shape [c/16][rows][16], with one more row, so that the panels of a row
  /// are in different sets of a cache.
  std::optional<TileMemory> packedForm() override {
    if (block() == 0)
      return std::nullopt;
    TileMemory form;
    form.rows = storedRows();
    form.columns = CpuEmitter::columnsOf(op.getType());
    form.element = builder.getF32Type();
    return form;
  }

  /// Copies rows [begin, end) of both views. The scalars of a register tile have the shape
  /// [rows][scalars], so that both operands of its chain are contiguous.
  void packRows(const TileMemory &packed, Value begin, Value end) override {
    TileMemory left = packed;
    const int64_t panels = llvm::divideCeil(op.getType().getDimSize(0), fragmentRows());
    left.rows = panels;
    left.columns = panelScalars();
    e.scratch.place(left);
    packedLeft = left;
    OpBuilder::InsertionGuard guard(builder);
    Value row = e.loopBy(begin, end, 1).getInductionVar();
    const Address scalarsOfRow =
                      startOf(this->left(), common().getLhsIndex(), common().getLhsColumn(), row),
                  columnsOfRow = startOf(right(), op.getRhsIndex(), op.getRhsColumn(), row);
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t lane = 0; lane < scalars(); lane += width)
        copy(this->left(), e.moved(scalarsOfRow, Value(), panel * fragmentRows() + lane), left,
             {e.mul(row, scalars()), panel * panelScalars() + lane});
    for (int64_t column = 0; column < packed.columns; column += width)
      copy(right(), e.moved(columnsOfRow, Value(), column), packed,
           {e.mul(row, panelColumns),
            column / panelColumns * panelColumns * storedRows() + column % panelColumns});
  }

  Registers overCommonRows(const Fragment &shape, Registers sums) override {
    const bool reads = isPacked();
    return emitChain({shape,
                      e.constant(0),
                      e.scalar(common().getRows()),
                      reads ? packedScalars() : leftScalars(),
                      reads ? packedColumns(shape) : loadB(shape),
                      {}},
                     std::move(sums));
  }

private:
  static constexpr int64_t panelColumns = 16;

  ContractCommonOp common() { return cast<ContractCommonOp>(*op); }
  /// Rows that are packed together.
  int64_t block() const { return e.plan.getBlock(); }
  int64_t fragmentRows() const { return e.loops.plan.fragment.rows; }
  int64_t storedRows() const { return block() + 1; }
  int64_t panelScalars() const { return block() * scalars() + panelColumns; }
  /// Scalars of a register tile, padded to registers.
  int64_t scalars() const { return llvm::alignTo(fragmentRows(), width); }

  /// Address of the first column that the tile reads in a row.
  Address startOf(const BoundView &view, Value first, Value column, Value row) {
    const int64_t pitch = *view.type.getRowPitch();
    Value start = e.mul(e.add(e.scalar(first), row), pitch);
    return {e.add(view.offset, e.add(start, e.scalar(column))), 0};
  }

  void copy(const BoundView &view, Address from, const TileMemory &memory, Address to) {
    e.storeAt(e.loadVector(view, from), memory.base, to, memory.element);
  }

  Operand packedScalars() {
    Value panel = e.loops.at.row;
    if (panel)
      panel = builder.createOrFold<arith::DivUIOp>(loc, panel, e.constant(fragmentRows()));
    Address start = e.moved({Value(), 0}, e.mul(panel, panelScalars()));
    return [=, this, memory = *packedLeft](Value k, int64_t r, int64_t u) {
      return e.loadAt(memory.base, e.moved(start, e.mul(k, scalars()), u * scalars() + r),
                      memory.element, memory.element);
    };
  }

  Operand packedColumns(const Fragment &shape) {
    const TileMemory memory = packedMemory();
    const int64_t columns = CpuEmitter::columnsOf(op.getType());
    Address start = e.moved({Value(), 0}, e.mul(e.columnBase(columns), storedRows()));
    return [=, this](Value k, int64_t j, int64_t u) {
      const int64_t column = e.vectorColumn(j, columns);
      Address place = e.moved(start, e.mul(k, panelColumns),
                              column / panelColumns * panelColumns * storedRows() +
                                  column % panelColumns + u * panelColumns);
      return e.loadAt(memory.base, place, VectorType::get({width}, memory.element), memory.element);
    };
  }

  Operand leftScalars() {
    const BoundView left = this->left();
    const int64_t pitch = *left.type.getRowPitch();
    Address start = e.moved(startOf(left, common().getLhsIndex(), common().getLhsColumn(), Value()),
                            e.loops.at.row);
    return [=, this](Value k, int64_t r, int64_t u) {
      return e.loadScalars(left, e.moved(start, e.mul(k, pitch), u * pitch + r), 1).front();
    };
  }
};
} // namespace

const ProductStrategy heddle::kernel::commonRows = strategyOf<CommonRows>();
