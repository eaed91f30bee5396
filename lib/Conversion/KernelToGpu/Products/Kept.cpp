//===- Kept.cpp - Products with keys and values of another type -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values become f32 as they are loaded, codes by the scale of their row, and
// beside queries of bf16 they are rounded. Products over features then take a word's
// features one after the other, those of bf16 in pairs; products over rows are those
// of f32 or of rows of bf16.

#include "GpuBf16.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;
using heddle::kernel::BoundView;
using heddle::kernel::ContractOp;

/// Whether the right side is kept in another type than this one, in which it enters.
static bool isKept(ContractOp op, DType format) {
  return op.convertsRight() && op.getFormat().weights == format;
}
static bool holdsCodes(ContractOp op) { return static_cast<bool>(op.getKeptScales()); }

/// The scales of a panel's columns that a register holds, from row `column` of the op's on.
static Value scalesAt(GpuEmitter &e, ContractOp op, Value column) {
  const BoundView &scales = e.view(op.getKeptScales());
  return e.loadVector(scales, {e.add(e.add(scales.offset, e.scalar(op.getRhsIndex())), column), 0});
}

namespace {

//===- Over features -----------------------------------------------------===//

/// What both kinds of products over features share.
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

  /// The features of register `j`'s word at `place`, as f32.
  Registers widenedWord(size_t j, Address place) {
    const BoundView &right = this->right();
    Value words = spirv::LoadOp::create(builder, loc, e.vec4At(right, place));
    Type type = right.type.getElementType();
    if (type.isF32())
      return {words};
    words = e.asWords(words);
    if (!holdsCodes(op)) {
      auto [even, odd] = e.unpackedWords(words, type);
      return {even, odd};
    }
    Registers parts;
    for (int64_t byte = 0; byte < 4; ++byte)
      parts.push_back(e.decoded(e.byteOf(words, byte, /*isSigned=*/true), scales[j]));
    return parts;
  }

  int64_t perWord() const {
    ContractOp contract = op;
    return GpuEmitter::perWord(contract.getRhs().getType().getElementType());
  }

  Registers scales; ///< of the columns of each register
};

/// Beside queries of f32.
struct WidenedPanels : KeptPanels<GpuProduct> {
  using KeptPanels::KeptPanels;
  static bool accepts(ContractOp op, const GpuTarget &) {
    return !op.getRows() && isKept(op, DType::F32);
  }

  int64_t grain() const override { return perWord(); }

  /// The first step of a word keeps the others' registers, step by step.
  Registers loadRight(Value k, int64_t u, Registers &kept) override {
    const auto step = static_cast<size_t>(u % grain()), vectors = rightPlaces.size();
    if (step == 0) {
      kept.assign(vectors * static_cast<size_t>(grain()), Value());
      Value far = e.mul(k, rightStep);
      for (size_t j = 0; j < vectors; ++j)
        for (auto [i, part] :
             llvm::enumerate(widenedWord(j, e.moved(rightPlaces[j], far, u * rightStep))))
          kept[i * vectors + j] = part;
    }
    return Registers(ArrayRef(kept).slice(step * vectors, vectors));
  }
};

/// Beside queries of bf16: steps count pairs of features.
struct PairedPanels : KeptPanels<Bf16Dot2> {
  using KeptPanels::KeptPanels;
  static bool accepts(ContractOp op, const GpuTarget &) {
    return !op.getRows() && isKept(op, DType::BF16);
  }

  int64_t grain() const override { return std::max<int64_t>(perWord() / 2, 1); }

  Registers loadRight(Value k, int64_t u, Registers &kept) override {
    const auto step = static_cast<size_t>(u % grain()), vectors = rightPlaces.size();
    if (step == 0) {
      kept.assign(vectors * static_cast<size_t>(grain()), Value());
      Value far = e.mul(k, rightStep);
      for (size_t j = 0; j < vectors; ++j)
        for (auto [i, pair] :
             llvm::enumerate(pairs(j, e.moved(rightPlaces[j], far, u * rightStep))))
          kept[i * vectors + j] = pair;
    }
    return Registers(ArrayRef(kept).slice(step * vectors, vectors));
  }

private:
  Registers pairs(size_t j, Address place) {
    Registers parts = widenedWord(j, place), result;
    if (perWord() == 1)
      parts.append(widenedWord(j, e.moved(place, Value(), rightStep / 2)));
    for (size_t i = 0; i < parts.size(); i += 2) {
      Value low = e.roundedWords(parts[i]), high = e.roundedWords(parts[i + 1]);
      low = arith::ShRUIOp::create(builder, loc, low, e.wordConstant(16, low.getType()));
      result.push_back(arith::OrIOp::create(builder, loc, low, high));
    }
    return result;
  }
};

//===- Over rows ---------------------------------------------------------===//

template <class Base, DType format>
struct KeptRows : Base {
  using Base::Base, Base::e, Base::op, Base::builder, Base::loc;
  using Registers = typename Base::Registers;
  static bool accepts(ContractOp op, const GpuTarget &) {
    return op.getRows() && isKept(op, format);
  }

  Registers loadRight(Value k, int64_t u, Registers &kept) override {
    const BoundView right = this->right();
    Registers vec4s;
    if (!holdsCodes(op))
      vec4s = Base::loadRight(k, u, kept);
    Value far = e.mul(k, this->rightStep), scale;
    for (Address place : this->rightPlaces) {
      if (!holdsCodes(op))
        break;
      if (!scale)
        scale = scaleOfRow(e.add(k, e.constant(u)));
      Address here = e.moved(place, far, u * this->rightStep);
      Value word = e.asWords(spirv::LoadOp::create(builder, loc, e.wordAt(right, here)));
      vec4s.push_back(e.decoded(e.bytesOf(word), scale));
    }
    for (Value &vec4 : vec4s)
      if (format == DType::BF16)
        vec4 = e.asFloats(e.roundedWords(vec4));
    return vec4s;
  }

private:
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
