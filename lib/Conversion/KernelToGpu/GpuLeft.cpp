//===- GpuLeft.cpp - Left sides of products on the GPU -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements the left sides of products. Each vec4 is loaded at its first use, so that
// drivers keep it in registers. Loading all vec4s before the products costs 12 % on llvmpipe.
#include "GpuOperands.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;
using heddle::kernel::ProductOpInterface;

namespace heddle {

//===- The contraction ----------------------------------------------------===//

GpuContraction::GpuContraction(GpuEmitter &emitter, ProductOpInterface op,
                               const GpuProductForm &form)
    : e(emitter), builder(emitter.builder), loc(emitter.loc), width(emitter.width), op(op),
      shape(emitter.shapeOf(op.getType())), form(form) {
  if (!this->form.panelVec4s && !op.isOverRows())
    this->form.panelVec4s =
        rightView().type.getPanel() * form.word / (kVec4 * GpuEmitter::perWord(rightView()));
}

int64_t GpuContraction::pitchOf(const BoundView &view) {
  return padded(view.type.getDims().back().pitch.value);
}

Value GpuContraction::firstRow() {
  Value base = op.getType().getDimSize(0) > 1 ? e.rowBase() : Value();
  return e.mapping->rowOfProduct(e.scalar(op.getLhsIndex()), base, leftView().extents.front());
}

Value GpuContraction::rowStart(const BoundView &view) {
  return e.add(view.offset, e.mul(firstRow(), pitchOf(view)));
}

int64_t GpuContraction::stepsOfStagedIteration() const {
  return shape.size() == 1 ? std::max<int64_t>(2 * kVec4 / form.word, 2) : 4 * kVec4;
}

int64_t GpuContraction::elementsOfStagedWord() {
  return form.widens ? 1 : GpuEmitter::perWord(rightView());
}

/// Returns the pitch of runs in a staged block. A run has `vec4s` vec4s.
static int64_t pitchOfRuns(int64_t runs, int64_t vec4s) { return runs > 1 ? vec4s + 1 : vec4s; }

GpuStaging::Layout GpuContraction::panelLayout() {
  const int64_t panels = columns() / 16, vec4s = form.block * form.panelVec4s,
                pitch = pitchOfRuns(panels, form.widens ? 2 * vec4s : vec4s);
  return {SharedArray::Right, panels * pitch, pitch, /*crosswise=*/false, form.widens};
}

//===- Rows in memory -----------------------------------------------------===//

namespace {
/// Rows of a tile in workgroup memory.
class TileRows : public GpuLeft {
public:
  using GpuLeft::GpuLeft;

  FailureOr<Value> place() override {
    Value count = e.scalar(op.getRange().to);
    pitch = GpuEmitter::columnsOf(op.getLhs().getType());
    return failed(e.workgroup.stage(op.getLhs())) ? FailureOr<Value>(failure()) : count;
  }

  Value load(Value k, int64_t row, int64_t u, bool isWhole) override {
    Value &vec4 = loaded[row];
    if (!vec4)
      vec4 = e.workgroup.stagedVec4(pitch, e.add(e.mapping->stagedRow(), e.constant(row)),
                                    e.add(e.memory.quarter(k), e.constant(u / kVec4)));
    if (isWhole)
      return e.extract(vec4, u % kVec4);
    Value lane = e.masked(e.add(k, e.constant(u)), width - 1); // two steps are inside one vec4
    return spirv::VectorExtractDynamicOp::create(builder, loc, vec4, lane);
  }

private:
  int64_t pitch = 0;
};
} // namespace

FailureOr<Value> ViewRows::place() {
  const BoundView left = leftView();
  if (!GpuMemory::hasVec4(left.type))
    return op.emitOpError("expected rows of floats on the left, found ") << left.type;
  int64_t features = left.type.getDims().back().extent.value;
  // The range of k covers whole words of the right side. The padding of these words is zero.
  int64_t together = std::max(GpuEmitter::perWord(rightView()), form.word);
  Value count = e.constant((features + together - 1) / together * (together / form.word));
  start = rowStart(left);
  if (e.mapping->skipsMissingRows())
    e.mapping->noteRows(e.less(firstRow(), left.extents.front()));
  return count;
}

Value ViewRows::load(Value k, int64_t row, int64_t u, bool isWhole) {
  return loadAt(loaded[row], {e.add(start, e.mul(k, form.word)), row * pitchOf(leftView())}, u,
                isWhole);
}

Value ViewRows::loadAt(Value &vec4, Address place, int64_t u, bool isWhole) {
  const BoundView left = leftView();
  if (!isWhole) {
    Value one = e.memory.loadWord(left, e.moved(place, Value(), u * form.word));
    return form.word == 1 ? one : e.asWords(one);
  }
  if (!vec4) {
    vec4 = e.memory.loadVec4(left, e.moved(place, Value(), u / kVec4 * kVec4 * form.word));
    if (form.word != 1)
      vec4 = e.asWords(vec4);
  }
  return e.extract(vec4, u % kVec4);
}

//===- Rows of a staged block ---------------------------------------------===//

int64_t StagedRows::rowVec4s(int64_t steps) {
  return llvm::divideCeil(steps * form.word, kVec4 * GpuEmitter::perWord(leftView()));
}

GpuStaging::Layout StagedRows::layout() {
  const int64_t rows = op.getType().getDimSize(0), pitch = pitchOfRuns(rows, rowVec4s(form.block));
  return {SharedArray::Left, rows * pitch, pitch};
}

/// Stages rows of a view. Rows after the last row are copies of the last row.
GpuStaging StagedRows::copyOf(const BoundView &view, GpuStaging::Layout layout, int64_t vec4s,
                              GpuStaging::Rate rate) {
  const int64_t rows = op.getType().getDimSize(0), pitch = pitchOf(view);
  Value last = e.sub(view.extents.front(), e.constant(1)), first = e.scalar(op.getLhsIndex());
  auto startOf = [&](Value row) {
    Value start = e.mul(e.minimum(e.add(first, row), last), pitch);
    return e.memory.vec4Index(view, {e.add(view.offset, start), 0});
  };
  return GpuStaging(e, view, layout, {rows, vec4s, rate}, startOf);
}

std::optional<GpuStaging> StagedRows::staged(int64_t steps, bool isLast) {
  GpuStaging::Layout to = layout();
  to.makesSigned = form.signsRows;
  return copyOf(leftView(), to, rowVec4s(steps) - (isLast ? form.missingVec4s : 0),
                {form.word, kVec4 * GpuEmitter::perWord(leftView())});
}

Value StagedRows::read(int64_t row, Value vec4, Value lane) {
  const GpuStaging::Layout from = layout();
  Value place = e.add(e.mul(e.add(e.rowBase(), e.constant(row)), from.pitch), vec4);
  return e.workgroup.read(SharedArray::Left, e.vec4Type(), from.entries, place, lane);
}

/// Blocks begin at multiples of four steps, so the lane of a vec4 is static unless an iteration is
/// shorter than a vec4.
Value StagedRows::load(Value k, int64_t row, int64_t u, bool) {
  if (stepsOfStagedIteration() < kVec4) {
    Value lane = e.add(e.masked(k, kVec4 - 1), e.constant(u));
    Value one = read(row, e.memory.quarter(k), lane);
    return form.word == 1 ? one : e.asWords(one);
  }
  Value &vec4 = loaded[row];
  if (!vec4) {
    vec4 = read(row, e.add(e.memory.quarter(k), e.constant(u / kVec4)));
    if (form.word != 1)
      vec4 = e.asWords(vec4);
  }
  return e.extract(vec4, u % kVec4);
}

//===- Crosswise rows -----------------------------------------------------===//

GpuStaging::Layout CrosswiseRows::crosswise(SharedArray array, int64_t words) {
  const int64_t pitch = pitchOfRuns(words, op.getType().getDimSize(0) / kVec4);
  return {array, words * pitch, pitch, /*crosswise=*/true, form.widens};
}

GpuStaging::Layout CrosswiseRows::layout() {
  const int64_t vec4s = rowVec4s(form.block);
  return crosswise(SharedArray::Left, kVec4 * (form.widens ? 2 * vec4s : vec4s));
}

std::optional<GpuStaging> CrosswiseRows::stagedScales() {
  auto groups = dyn_cast<kernel::ContractGroupsOp>(*op);
  if (!groups)
    return std::nullopt;
  return copyOf(e.view(groups.getScales()), scalesLayout(), /*vec4s=*/1, {scalesOfStep, kVec4});
}

Value CrosswiseRows::readFour(const GpuStaging::Layout &from, Value word, int64_t four) {
  Value first = e.add(e.mul(word, from.pitch), e.memory.quarter(e.rowBase()));
  return e.workgroup.read(from.array, e.vec4Type(), from.entries, e.add(first, e.constant(four)));
}

GpuContraction::Registers CrosswiseRows::vec4sOf(Value word) {
  Registers vec4s;
  for (int64_t four = 0; four < shape.rows / kVec4; ++four)
    vec4s.push_back(readFour(layout(), word, four));
  return vec4s;
}

GpuContraction::Registers CrosswiseRows::lanesOf(ArrayRef<Value> vec4s) {
  Registers lanes;
  for (int64_t row = 0; row < shape.rows; ++row)
    lanes.push_back(e.extract(vec4s[row / kVec4], row % kVec4));
  return lanes;
}

GpuContraction::Registers CrosswiseRows::loadAll(Value k, int64_t u) {
  Registers vec4s = vec4sOf(e.add(k, e.constant(u)));
  if (form.word != 1)
    for (Value &vec4 : vec4s)
      vec4 = e.asWords(vec4);
  return lanesOf(vec4s);
}

Value CrosswiseRows::load(Value k, int64_t row, int64_t u, bool) {
  if (row == 0)
    rows = loadAll(k, u);
  return rows[row];
}

//===- Rows of f16 --------------------------------------------------------===//

namespace {
class HalfViewRows : public ViewRows {
public:
  using ViewRows::ViewRows;

protected:
  /// `place` is the start of a word. `loaded` is the vec4 of an iteration, or both elements of a
  /// word.
  Value loadAt(Value &loaded, Address place, int64_t u, bool isWhole) override {
    const BoundView left = leftView();
    if (!loaded && isWhole)
      loaded = e.loadVector(left, e.moved(place, Value(), u / kVec4 * kVec4));
    if (!loaded) {
      auto [even, odd] =
          e.words.unpack(e.asWords(e.memory.loadWord(left, place)), left.type.getElementType());
      loaded = e.vectorOf({even, odd});
    }
    return e.extract(loaded, u % kVec4);
  }
};

/// Staged rows of f16. A vec4 of words holds eight features.
class HalfStagedRows : public StagedRows {
public:
  using StagedRows::StagedRows;

  Value load(Value k, int64_t row, int64_t u, bool) override {
    Value &floats = loaded[row];
    if (!floats) {
      Value eighth = builder.createOrFold<arith::ShRUIOp>(loc, k, e.constant(3));
      Value vec4 = read(row, e.add(eighth, e.constant(u / 8)));
      auto wordOf = [&](int64_t word) -> Value { return e.extract(vec4, word); };
      int64_t first = u % 8 / 2;
      floats =
          e.words.unpackFour(wordOf(first), wordOf(first + 1), leftView().type.getElementType());
    }
    return e.extract(floats, u % kVec4);
  }
};

/// Crosswise rows of f16. An even step keeps the odd elements of its words for the next step.
class HalfCrosswiseRows : public CrosswiseRows {
public:
  using CrosswiseRows::CrosswiseRows;

protected:
  Registers loadAll(Value k, int64_t u) override {
    if (u % 2 != 0)
      return lanesOf(odd);
    Value half = builder.createOrFold<arith::ShRUIOp>(loc, k, e.constant(1));
    Registers even;
    odd.clear();
    for (Value vec4 : vec4sOf(e.add(half, e.constant(u / 2)))) {
      auto [low, high] = e.words.unpack(e.asWords(vec4), leftView().type.getElementType());
      even.push_back(low);
      odd.push_back(high);
    }
    return lanesOf(even);
  }

private:
  Registers odd;
};
} // namespace

//===- Choice of the left side ---------------------------------------------===//

/// Rows are of type `Half` if their elements are f16, otherwise of type `Words`.
template <class Words, class Half>
static std::unique_ptr<GpuLeft> makeRows(const GpuContraction &product, ProductOpInterface op) {
  if (cast<kernel::ViewType>(op.getLhs().getType()).getElementType().isF16())
    return std::make_unique<Half>(product);
  return std::make_unique<Words>(product);
}

std::unique_ptr<GpuLeft> makeLeft(GpuSource source, const GpuContraction &product,
                                  ProductOpInterface op) {
  if (GpuEmitter::isTile(op.getLhs().getType()))
    return std::make_unique<TileRows>(product);
  switch (source) {
  case GpuSource::Memory:
    return makeRows<ViewRows, HalfViewRows>(product, op);
  case GpuSource::Staged:
    return makeRows<StagedRows, HalfStagedRows>(product, op);
  case GpuSource::Crosswise:
    return makeRows<CrosswiseRows, HalfCrosswiseRows>(product, op);
  }
  llvm_unreachable("all sources are handled");
}

} // namespace heddle
