//===- GpuRight.cpp - Right sides of products on the GPU -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements the right sides of products: loads of this invocation's columns from
// memory or from a staged block, and the loop over blocks.
#include "GpuBlocks.h"
#include "GpuProduct.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;
using heddle::kernel::ProductOpInterface;

namespace heddle {

namespace {
//===- Columns in memory --------------------------------------------------===//

class ViewColumns : public GpuRight {
public:
  using GpuRight::GpuRight;

  void place() override;
  Value vec4(Address place) override { return e.memory.loadVec4(rightView(), place); }
  std::pair<Value, Value> halfVec4(Address place, Value) override {
    Value low = e.memory.loadWord(rightView(), place);
    Value high =
        e.memory.loadWord(rightView(), e.moved(place, {}, GpuEmitter::perWord(rightView())));
    return {low, high};
  }
  Value columnOf(Value column) override { return e.add(e.scalar(op.getRhsIndex()), column); }
  Value panelAt(Value number) override {
    return e.add(rightView().offset, e.mul(number, form.panelElements));
  }
  int64_t stepsOfIteration(int64_t unrolled) const override { return unrolled; }
  int64_t stepsOfRest(int64_t) const override { return form.grain; }
  void sum(GpuProduct &product, Registers &sums) override { product.sumProducts(sums); }

protected:
  Value floats(Address place) override { return e.loadVector(rightView(), place); }

private:
  Value panelStart(Value column);
};

/// Rows of bf16 or f16, loaded as vec4s. A vec4 fills two registers; an invocation with one
/// register discards the other half.
class HalfRowColumns : public ViewColumns {
public:
  using ViewColumns::ViewColumns;
  Registers load(Value k, int64_t u) override;
};

//===- Columns of a staged block ------------------------------------------===//

class StagedColumns : public GpuRight {
public:
  using GpuRight::GpuRight;

  void place() override;
  Value vec4(Address place) override {
    return e.workgroup.read(SharedArray::Right, e.vec4Type(), panelLayout().entries,
                            e.memory.vec4Index(elementsOfStagedWord(), place));
  }
  std::pair<Value, Value> halfVec4(Address place, Value isSecond) override;
  Value columnOf(Value column) override { return column; }
  Value panelAt(Value number) override { return e.mul(number, panelPitch()); }
  int64_t stepsOfIteration(int64_t) const override { return stepsOfStagedIteration(); }
  int64_t stepsOfRest(int64_t rest) const override { return rest; }
  void sum(GpuProduct &product, Registers &sums) override;

protected:
  Value floats(Address place) override { return vec4(place); }

private:
  /// Elements from a panel to the next.
  int64_t panelPitch() { return panelLayout().pitch * kVec4 * elementsOfStagedWord(); }
  Value columnAt(Value column);
  Value panelInView(Value panel);
  using Copies = std::vector<GpuStaging>;
  Copies copiesOf(GpuLeft &left, int64_t steps, bool isLast);
};
} // namespace

GpuContraction::Registers GpuRight::load(Value k, int64_t u) {
  Value far = e.mul(k, step);
  Registers vec4s;
  for (Address place : places) {
    Address here = e.moved(place, far, u * step);
    vec4s.push_back(form.word == 1 ? floats(here) : e.asWords(vec4(here)));
  }
  return vec4s;
}

/// Column c is row c of the view: panel c / 16, place c % 16. A fragment narrower than a panel may
/// begin inside a panel.
void ViewColumns::place() {
  const BoundView right = rightView();
  int64_t panel = right.type.getPanel();
  if (op.isOverRows() || shape.vectors * width % panel == 0) {
    places = e.rightPlaces(op, shape, step);
  } else {
    Value column = columnOf(e.columnBase(columns()));
    bool isPart = panel % (shape.vectors * width) == 0;
    for (int64_t j = 0; j < shape.vectors; ++j) {
      int64_t c = e.vectorColumn(j, columns());
      if (isPart)
        places.push_back({panelStart(column), c * GpuEmitter::perWord(right)});
      else
        places.push_back({panelStart(e.add(column, e.constant(c))), 0});
    }
  }
  if (!op.isOverRows())
    step = panel * form.word;
}

/// Address of a column at k = 0.
Value ViewColumns::panelStart(Value column) {
  const BoundView right = rightView();
  Value inside = e.masked(column, right.type.getPanel() - 1);
  return e.add(e.add(right.offset, e.mul(e.sub(column, inside), pitchOf(right))),
               e.mul(inside, GpuEmitter::perWord(right)));
}

GpuContraction::Registers HalfRowColumns::load(Value k, int64_t u) {
  Value far = e.mul(k, step);
  Registers vec4s;
  const int64_t together = shape.vectors % 2 == 0 ? 2 : 1;
  Value isSecond;
  if (together == 1)
    isSecond =
        e.compare(arith::CmpIPredicate::ne, e.masked(places.front().dynamic, kVec4), e.constant(0));
  for (int64_t j = 0; j < shape.vectors; j += together) {
    Address here = e.moved(places[j], far, u * step);
    if (shape.vectors > 1 && together == 1) { // a row may begin at either half of a vec4
      vec4s.push_back(floats(here));
      continue;
    }
    Value loaded = vec4(here);
    SmallVector<Value> words;
    for (int64_t word = 0; word < kVec4; ++word)
      words.push_back(e.extract(loaded, word));
    if (together == 1)
      words = {e.select(isSecond, words[2], words[0]), e.select(isSecond, words[3], words[1])};
    for (size_t word = 0; word < words.size(); word += 2)
      vec4s.push_back(
          e.words.unpackFour(words[word], words[word + 1], rightView().type.getElementType()));
  }
  return vec4s;
}

/// Address of a column. Panels are one pitch apart, and addresses count elements, as in memory.
Value StagedColumns::columnAt(Value column) {
  Value inside = e.masked(column, 15);
  inside = e.mul(inside, elementsOfStagedWord());
  if (columns() == 16)
    return inside;
  Value panel = e.shiftedRight(column, 4);
  return e.add(e.mul(panel, panelPitch()), inside);
}

void StagedColumns::place() {
  step = rightView().type.getPanel() * form.word;
  Value first = e.columnBase(columns());
  bool isPart = 16 % (shape.vectors * width) == 0; // a fragment is inside one panel
  for (int64_t j = 0; j < shape.vectors; ++j) {
    int64_t c = e.vectorColumn(j, columns());
    if (isPart)
      places.push_back({columnAt(e.add(first, e.constant(0))), c * elementsOfStagedWord()});
    else
      places.push_back({columnAt(e.add(first, e.constant(c))), 0});
  }
}

std::pair<Value, Value> StagedColumns::halfVec4(Address place, Value isSecond) {
  Value four = vec4(place);
  auto wordOf = [&](int64_t word) -> Value {
    Value first = e.extract(four, word), second = e.extract(four, word + 2);
    return e.select(isSecond, second, first);
  };
  Value low = wordOf(0), high = wordOf(1);
  return {low, high};
}

/// Start of a panel of the tile in the view, in vec4s.
Value StagedColumns::panelInView(Value panel) {
  const BoundView right = rightView();
  Value column = e.scalar(op.getRhsIndex()), start;
  if (form.panelElements) {
    Value number = e.shiftedRight(column, 4);
    start = e.mul(e.add(number, panel), form.panelElements);
  } else {
    start = e.mul(e.add(column, e.mul(panel, right.type.getPanel())), pitchOf(right));
  }
  return e.memory.vec4Index(right, {e.add(right.offset, start), 0});
}

/// Copies of both sides, the right one first.
StagedColumns::Copies StagedColumns::copiesOf(GpuLeft &left, int64_t steps, bool isLast) {
  std::optional<GpuStaging> rows = left.staged(steps, isLast);
  const int64_t panels = columns() / rightView().type.getPanel();
  Copies copies{GpuStaging(e, rightView(), panelLayout(),
                           {panels, steps * form.panelVec4s, {form.panelVec4s, 1}},
                           [&](Value panel) { return panelInView(panel); })};
  if (rows)
    copies.push_back(*rows);
  if (std::optional<GpuStaging> scales = left.stagedScales())
    copies.push_back(*scales);
  return copies;
}

/// Sums block by block.
void StagedColumns::sum(GpuProduct &product, Registers &sums) {
  Copies whole = copiesOf(*product.left, form.block, /*isLast=*/false);
  std::optional<Copies> last;
  auto copiesOfBlock = [&](const KBlock &now) -> Copies & {
    if (now.isLast && !last)
      last.emplace(copiesOf(*product.left, now.steps, /*isLast=*/true));
    return now.isLast ? *last : whole;
  };
  const BlockSteps steps{.fetch =
                             [&](const KBlock &now, Registers &loaded) {
                               for (GpuStaging &copy : copiesOfBlock(now))
                                 copy.fetchStep(now.first, loaded);
                             },
                         .waitForReaders =
                             [&] {
                               for (GpuStaging &copy : whole)
                                 e.workgroup.beforeWrite(copy.array());
                             },
                         .store =
                             [&](const KBlock &now, ArrayRef<Value> loaded) {
                               for (GpuStaging &copy : copiesOfBlock(now))
                                 copy.store(loaded);
                             },
                         .multiply =
                             [&](const KBlock &now, Registers &inside) {
                               product.addSteps(e.constant(0), now.steps, now.first, inside);
                             },
                         .fetchesLate = form.fetchesLate};
  const int64_t all = product.allSteps();
  sumBlocks(e, all, all - form.endsShort, form.block, steps, sums);
}

//===- Choice of the right side -------------------------------------------===//

std::unique_ptr<GpuRight> makeRight(GpuSource source, const GpuContraction &product,
                                    GpuEmitter &emitter, ProductOpInterface op) {
  if (source != GpuSource::Memory)
    return std::make_unique<StagedColumns>(product);
  if (op.isOverRows() && emitter.mapping->loadsFirst() &&
      GpuEmitter::perWord(emitter.view(op.getRhs())) == 2)
    return std::make_unique<HalfRowColumns>(product);
  return std::make_unique<ViewColumns>(product);
}

} // namespace heddle
