//===- Cached.cpp - Products with keys and values of another type ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with keys and values that are converted from the type of their cache. Loads
// widen them to f32, scale codes by row, and round them if queries are bf16. Products over
// features then multiply the features of a word in sequence, bf16 two at a time. Products over
// rows continue as f32 or bf16 rows.

#include "GpuBf16.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;
using heddle::kernel::BoundView;
using heddle::kernel::ProductOpInterface;

/// Whether the right side is stored in another type and converted to `format`.
static bool isConverted(ProductOpInterface op, DType format) {
  return op.convertsRight() && op.getFormat().weights == format;
}
static int64_t perWord(ProductOpInterface op) {
  return GpuEmitter::perWord(op.getRhs().getType().getElementType());
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
struct ConvertedPanels : Base {
  using Base::Base, Base::e, Base::op, Base::builder, Base::loc, Base::shape, Base::right;
  using Registers = typename Base::Registers;

  void placeRight() override {
    Base::placeRight();
    int64_t columns = GpuEmitter::columnsOf(op.getType());
    for (int64_t j = 0; holdsCodes(op) && j < shape.vectors; ++j)
      scales.push_back(
          scalesAt(e, op, e.add(e.columnBase(columns), e.constant(e.vectorColumn(j, columns)))));
  }

  /// The first step of a word stores the registers of all its steps in `cache`.
  Registers loadRight(Value k, int64_t u, Registers &cache) override {
    const auto grain = static_cast<size_t>(this->form.grain), step = static_cast<size_t>(u) % grain,
               vectors = right->places.size();
    if (step == 0) {
      cache.assign(vectors * grain, Value());
      Value far = e.mul(k, right->step);
      for (auto [j, place] : llvm::enumerate(right->places))
        for (auto [i, b] : llvm::enumerate(stepsAt(j, e.moved(place, far, u * right->step))))
          cache[i * vectors + j] = b;
    }
    return Registers(ArrayRef(cache).slice(step * vectors, vectors));
  }

protected:
  /// Operands of the steps of register `j`'s word at `place`.
  virtual Registers stepsAt(size_t j, Address place) = 0;

  /// Features of register `j`'s word at `place`, as f32.
  Registers widenedWord(size_t j, Address place) {
    Value words = right->vec4(place);
    Type type = this->rightView().type.getElementType();
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

private:
  Registers scales; ///< scales of each register's columns
};

/// Product with f32 queries.
struct CachedPanels : ConvertedPanels<GpuProduct> {
  CachedPanels(GpuEmitter &emitter, ProductOpInterface op)
      : ConvertedPanels(emitter, op, GpuProductForm{.grain = perWord(op)}) {}
  static bool accepts(ProductOpInterface op, const GpuTarget &) {
    return !op.isOverRows() && isConverted(op, DType::F32);
  }

  Registers stepsAt(size_t j, Address place) override { return widenedWord(j, place); }
};

/// Product with bf16 queries; a step has two features.
struct CachedBf16Panels : ConvertedPanels<Bf16Dot2> {
  CachedBf16Panels(GpuEmitter &emitter, ProductOpInterface op)
      : ConvertedPanels(emitter, op, std::max<int64_t>(perWord(op) / 2, 1)) {}
  static bool accepts(ProductOpInterface op, const GpuTarget &) {
    return !op.isOverRows() && isConverted(op, DType::BF16);
  }

  Registers stepsAt(size_t j, Address place) override {
    Registers parts = widenedWord(j, place), words;
    if (perWord(op) == 1)
      parts.append(widenedWord(j, e.moved(place, Value(), right->step / 2)));
    for (size_t i = 0; i < parts.size(); i += 2) {
      Value low = e.roundedWords(parts[i]), high = e.roundedWords(parts[i + 1]);
      low = arith::ShRUIOp::create(builder, loc, low, e.wordConstant(16, low.getType()));
      words.push_back(e.bitOr(low, high));
    }
    return words;
  }
};

//===- Over rows ---------------------------------------------------------===//

template <class Base, DType format>
struct CachedRows : Base {
  using Base::Base, Base::e, Base::op, Base::builder, Base::loc, Base::right;
  using Registers = typename Base::Registers;
  static bool accepts(ProductOpInterface op, const GpuTarget &) {
    return op.isOverRows() && isConverted(op, format);
  }

  Registers loadRight(Value k, int64_t u, Registers &cache) override {
    Registers vec4s = holdsCodes(op) ? decodedRow(k, u) : Base::loadRight(k, u, cache);
    if (format == DType::BF16)
      for (Value &vec4 : vec4s)
        vec4 = e.asFloats(e.roundedWords(vec4));
    return vec4s;
  }

private:
  Registers decodedRow(Value k, int64_t u) {
    Value far = e.mul(k, right->step), scale = scaleOfRow(e.add(k, e.constant(u)));
    Registers vec4s;
    for (Address place : right->places) {
      Address here = e.moved(place, far, u * right->step);
      Value word = e.asWords(e.memory.loadWord(this->rightView(), here));
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

const GpuProductStrategy heddle::gpuCachedPanels = gpuStrategyOf<CachedPanels>();
const GpuProductStrategy heddle::gpuCachedBf16Panels = gpuStrategyOf<CachedBf16Panels>();
const GpuProductStrategy heddle::gpuCachedRows =
    gpuStrategyOf<CachedRows<GpuProduct, DType::F32>>();
const GpuProductStrategy heddle::gpuCachedBf16Rows =
    gpuStrategyOf<CachedRows<Bf16Rows, DType::BF16>>();
