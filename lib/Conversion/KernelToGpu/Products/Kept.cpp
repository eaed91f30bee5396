//===- Kept.cpp - Products with keys and values of another type -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with keys and values that are converted from the type of their cache. Loads
// widen them to f32, scale codes by row, and round them if queries are bf16. Products over
// features then multiply the features of a word in sequence, bf16 in pairs. Products over
// rows continue as f32 or bf16 rows.

#include "GpuBf16.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;
using heddle::kernel::BoundView;
using heddle::kernel::ProductOpInterface;

/// Whether the right side is stored in another type and converted to `format`.
static bool isKept(ProductOpInterface op, DType format) {
  return op.convertsRight() && op.getFormat().weights == format;
}
static bool holdsCodes(ProductOpInterface op) { return static_cast<bool>(op.getKeptScales()); }

/// Scales of a register's columns, which begin at `column` of the op.
static Value scalesAt(GpuEmitter &e, ProductOpInterface op, Value column) {
  const BoundView &scales = e.view(op.getKeptScales());
  return e.loadVector(scales, {e.add(e.add(scales.offset, e.scalar(op.getRhsIndex())), column), 0});
}

namespace {

//===- Over features -----------------------------------------------------===//

/// Common part of products over features.
template <class Base>
struct KeptPanels : Base {
  using Base::Base, Base::e, Base::op, Base::builder, Base::loc, Base::shape;
  using Registers = typename Base::Registers;

  void placeRight() override {
    Base::placeRight();
    int64_t columns = GpuEmitter::columnsOf(op.getType());
    for (int64_t j = 0; holdsCodes(op) && j < shape.vectors; ++j)
      scales.push_back(
          scalesAt(e, op, e.add(e.columnBase(columns), e.constant(e.vectorColumn(j, columns)))));
  }

  /// The first step of a word stores the registers of all its steps in `kept`.
  Registers loadRight(Value k, int64_t u, Registers &kept) override {
    const auto grain = static_cast<size_t>(this->grain()), step = static_cast<size_t>(u) % grain,
               vectors = this->rightPlaces.size();
    if (step == 0) {
      kept.assign(vectors * grain, Value());
      Value far = e.mul(k, this->rightStep);
      for (auto [j, place] : llvm::enumerate(this->rightPlaces))
        for (auto [i, b] : llvm::enumerate(stepsAt(j, e.moved(place, far, u * this->rightStep))))
          kept[i * vectors + j] = b;
    }
    return Registers(ArrayRef(kept).slice(step * vectors, vectors));
  }

protected:
  /// Operands of the steps of register `j`'s word at `place`.
  virtual Registers stepsAt(size_t j, Address place) = 0;

  /// Features of register `j`'s word at `place`, as f32.
  Registers widenedWord(size_t j, Address place) {
    const BoundView &right = this->right();
    Value words = e.memory.loadVec4(right, place);
    Type type = right.type.getElementType();
    if (type.isF32())
      return {words};
    words = e.asWords(words);
    if (!holdsCodes(op)) {
      auto [even, odd] = e.words.unpack(words, type);
      return {even, odd};
    }
    Registers parts;
    for (int64_t byte = 0; byte < 4; ++byte)
      parts.push_back(e.words.decode(e.byteOf(words, byte, /*isSigned=*/true), scales[j]));
    return parts;
  }

  int64_t perWord() const {
    ProductOpInterface contract = op;
    return GpuEmitter::perWord(contract.getRhs().getType().getElementType());
  }

private:
  Registers scales; ///< scales of each register's columns
};

/// Product with f32 queries.
struct WidenedPanels : KeptPanels<GpuProduct> {
  using KeptPanels::KeptPanels;
  static bool accepts(ProductOpInterface op, const GpuTarget &) {
    return !op.isOverRows() && isKept(op, DType::F32);
  }

  int64_t grain() const override { return perWord(); }
  Registers stepsAt(size_t j, Address place) override { return widenedWord(j, place); }
};

/// Product with bf16 queries; steps count pairs of features.
struct PairedPanels : KeptPanels<Bf16Dot2> {
  using KeptPanels::KeptPanels;
  static bool accepts(ProductOpInterface op, const GpuTarget &) {
    return !op.isOverRows() && isKept(op, DType::BF16);
  }

  int64_t grain() const override { return std::max<int64_t>(perWord() / 2, 1); }
  Registers stepsAt(size_t j, Address place) override {
    Registers parts = widenedWord(j, place), pairs;
    if (perWord() == 1)
      parts.append(widenedWord(j, e.moved(place, Value(), rightStep / 2)));
    for (size_t i = 0; i < parts.size(); i += 2) {
      Value low = e.roundedWords(parts[i]), high = e.roundedWords(parts[i + 1]);
      low = arith::ShRUIOp::create(builder, loc, low, e.wordConstant(16, low.getType()));
      pairs.push_back(arith::OrIOp::create(builder, loc, low, high));
    }
    return pairs;
  }
};

//===- Over rows ---------------------------------------------------------===//

template <class Base, DType format>
struct KeptRows : Base {
  using Base::Base, Base::e, Base::op, Base::builder, Base::loc;
  using Registers = typename Base::Registers;
  static bool accepts(ProductOpInterface op, const GpuTarget &) {
    return op.isOverRows() && isKept(op, format);
  }

  Registers loadRight(Value k, int64_t u, Registers &kept) override {
    Registers vec4s = holdsCodes(op) ? decodedRow(k, u) : Base::loadRight(k, u, kept);
    if (format == DType::BF16)
      for (Value &vec4 : vec4s)
        vec4 = e.asFloats(e.roundedWords(vec4));
    return vec4s;
  }

private:
  Registers decodedRow(Value k, int64_t u) {
    Value far = e.mul(k, this->rightStep), scale = scaleOfRow(e.add(k, e.constant(u)));
    Registers vec4s;
    for (Address place : this->rightPlaces) {
      Address here = e.moved(place, far, u * this->rightStep);
      Value word = e.asWords(e.memory.loadWord(this->right(), here));
      vec4s.push_back(e.words.decode(e.words.unpackBytes(word), scale));
    }
    return vec4s;
  }

  Value scaleOfRow(Value row) {
    const BoundView &scales = e.view(op.getKeptScales());
    Value place = e.add(e.add(scales.offset, e.scalar(op.getRhsIndex())), row);
    return e.splat(e.loadScalars(scales, {place, 0}, 1).front(), e.vec4Type());
  }
};
} // namespace

const GpuProductStrategy heddle::gpuWidenedPanels = gpuStrategyOf<WidenedPanels>();
const GpuProductStrategy heddle::gpuPairedPanels = gpuStrategyOf<PairedPanels>();
const GpuProductStrategy heddle::gpuKeptRows = gpuStrategyOf<KeptRows<GpuProduct, DType::F32>>();
const GpuProductStrategy heddle::gpuKeptBf16Rows = gpuStrategyOf<KeptRows<Bf16Rows, DType::BF16>>();
