//===- Widened.cpp - Products that widen narrow elements to f32 -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that widen B to f32, feature by feature or row by row. They serve f16 as a storage
// format, and keys and values in bf16 or codes with f32 queries. Few rows widen B when they load
// it, because they are bound by memory; many rows read B widened once (packed). A narrow left side
// is also widened, for the rows of one register tile at a time. Otherwise each of its scalars would
// take two instructions next to the register tile's few multiply-adds.
//
// Products of bf16 are also widened if the target asks for it (CpuTarget::widensBf16), but not
// packed. Two instructions split a pair for sixteen multiply-adds, and reading packed f32 from the
// second-level cache takes the same time. The odd feature of each pair is multiplied first:
//
//   memory   f0 f1 f2 f3 ...     k = 0 1 2 3 ... of the chain: f1 f0 f3 f2 ...

#include "../CpuProduct.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
struct Widened : CpuProduct {
  using CpuProduct::CpuProduct;
  static bool accepts(ProductOpInterface op, const CpuTarget &) {
    return op.getFormat().weights == DType::F16 || op.convertsRight();
  }

  bool decodes() const override { return true; }
  /// Packing costs the time that three register tiles spend on widening B when they load it.
  static int64_t packsFrom(ProductOpInterface op) { return op.readsWeights() ? 3 : 0; }
  /// Returns the elements of words of B as f32, in the order in which they are multiplied.
  virtual Registers parts(Value words, Value scale) {
    return e.widenedWords(words, right().type.getElementType(), scale);
  }

  Operand loadB(const Fragment &shape) override {
    if (op.isOverRows())
      return [this, load = CpuProduct::loadB(shape)](Value k, int64_t j, int64_t u) {
        return e.widened(load(k, j, u), right().type.getElementType(),
                         scaleOfRow(e.add(k, e.constant(u))));
      };
    int64_t step = 0;
    SmallVector<Address> places = e.rightPlaces(op, shape, step);
    Registers scales = scalesOfColumns(shape);
    // Rows that read unpacked B are few and bound by memory, and widening leaves the hardware
    // prefetcher too short a distance.
    constexpr int64_t weightsAhead = 512;
    const int64_t ahead = op.readsWeights() ? weightsAhead : bytesAhead(shape);
    return [=, this, known = SmallVector<Registers>(shape.vectors)](Value k, int64_t j,
                                                                    int64_t u) mutable -> Value {
      if (u % word() != 0)
        return known[j][u % word()];
      Address place = e.moved(places[j], e.mul(k, 16), u * 16);
      if (ahead && e.vectorColumn(j, CpuEmitter::columnsOf(op.getType())) % 16 == 0)
        e.fetch(e.pointers[right().argument], e.moved(place, Value(), ahead * word() / 4),
                e.memoryElement(right().type.getElementType()));
      known[j] = parts(e.loadWords(right(), place), scales[j]);
      return known[j].front();
    };
  }
  std::optional<TileMemory> packedForm() override { return decodedForm(); }

  void packRows(const TileMemory &packed, Value begin, Value end) override {
    OpBuilder::InsertionGuard guard(builder);
    const BoundView right = this->right();
    Type element = right.type.getElementType();
    int64_t stored = padded(right.type.getDims().back().pitch.value);
    Value row = e.loopBy(begin, end, 1).getInductionVar();
    Value scale = scaleOfRow(row);
    Value start = e.add(right.offset, e.mul(e.add(e.scalar(op.getRhsIndex()), row), stored));
    Value column =
        e.loopBy(e.constant(0), e.constant(std::min(packed.columns, stored)), 16).getInductionVar();
    for (int64_t lane = 0; lane < 16; lane += width)
      e.storeAt(e.widened(e.loadVector(right, e.moved({start, lane}, column)), element, scale),
                packed.base, e.moved({e.mul(row, packed.columns), lane}, column), packed.element);
  }

  /// Widens features [from, to) of columns that start at a multiple of 16.
  void packPanels(const TileMemory &packed, ColumnRange columns, Value from, Value to) override {
    OpBuilder::InsertionGuard guard(builder);
    const BoundView right = this->right();
    int64_t stored = padded(right.type.getDims().back().pitch.value), word = this->word();
    Value column = e.loopBy(columns.from, columns.to, 16).getInductionVar();
    Value start = e.add(right.offset, e.mul(e.add(e.scalar(op.getRhsIndex()), column), stored));
    Registers scales;
    for (int64_t lane = 0; lane < 16; lane += width)
      scales.push_back(scalesOfPanel(column, lane));
    Value feature = e.loopBy(from, to, word).getInductionVar();
    Address source = e.moved({start, 0}, e.mul(feature, 16));
    Address target = e.moved({e.mul(column, packed.rows), 0}, e.mul(e.sub(feature, from), 16));
    for (int64_t lane = 0; lane < 16; lane += width) {
      Value words = e.loadWords(right, e.moved(source, Value(), word * lane));
      for (auto [k, part] : llvm::enumerate(parts(words, scales[lane / width])))
        e.storeAt(part, packed.base, e.moved(target, Value(), static_cast<int64_t>(k) * 16 + lane),
                  packed.element);
    }
  }
};

/// Used for products over features only; over rows, Bf16Dot2 forms pairs of rows from a tile's
/// words.
struct Bf16Widened : Widened {
  using Widened::Widened;
  static bool accepts(ProductOpInterface op, const CpuTarget &target) {
    return op.getFormat().weights == DType::BF16 && target.widensBf16 && !target.bf16Dot2 &&
           !op.isOverRows();
  }

  static int64_t packsFrom(ProductOpInterface) { return 0; }
  std::optional<TileMemory> packedForm() override {
    return op.readsWeights() ? std::nullopt : Widened::packedForm();
  }
  Registers parts(Value words, Value) override {
    auto [even, odd] = e.halvesOf(words);
    return {odd, even};
  }
  int64_t featureAt(int64_t k) override { return k ^ 1; }
};
} // namespace

const ProductStrategy heddle::kernel::widened = strategyOf<Widened>();
const ProductStrategy heddle::kernel::bf16Widened = strategyOf<Bf16Widened>();
