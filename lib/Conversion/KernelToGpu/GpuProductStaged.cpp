//===- GpuProductStaged.cpp - Products of staged blocks -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of blocks that are staged in workgroup memory: the layout of both sides,
// their copies, and the loop over blocks.
#include "GpuBlocks.h"
#include "GpuProduct.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;

namespace heddle {

GpuStaging::Layout GpuProduct::rightLayout() {
  int64_t panels = GpuEmitter::columnsOf(op.getType()) / 16,
          pitch = pitchOfRuns(panels, stagedQuads(panelQuads(block)));
  return {SharedArray::Right, panels * pitch, pitch, /*crosswise=*/false, widens()};
}

GpuStaging::Layout GpuProduct::leftLayout() {
  int64_t rows = op.getType().getDimSize(0), quads = stagedQuads(rowQuads(block));
  if (isCrosswise())
    return crosswise(SharedArray::Left, vec4 * quads);
  int64_t pitch = pitchOfRuns(rows, quads);
  return {SharedArray::Left, rows * pitch, pitch};
}

GpuStaging::Layout GpuProduct::crosswise(SharedArray array, int64_t words) {
  int64_t pitch = pitchOfRuns(words, op.getType().getDimSize(0) / vec4);
  return {array, words * pitch, pitch, /*crosswise=*/true, widens()};
}

Value GpuProduct::rightQuad(Address place) {
  if (!isStaged())
    return e.memory.loadVec4(right(), place);
  return e.workgroup.read(SharedArray::Right, e.vec4Type(), rightLayout().entries,
                          e.memory.vec4Index(elementsOfStagedWord(), place));
}

Value GpuProduct::leftQuad(int64_t row, Value quad, Value lane) {
  GpuStaging::Layout layout = leftLayout();
  Value place = e.add(e.mul(e.add(e.rowBase(), e.constant(row)), layout.pitch), quad);
  return e.workgroup.read(SharedArray::Left, e.vec4Type(), layout.entries, place, lane);
}

GpuProduct::Registers GpuProduct::wordsOfRows(const GpuStaging::Layout &layout, Value word) {
  Registers quads;
  for (int64_t four = 0; four < shape.rows / vec4; ++four)
    quads.push_back(wordOfRows(layout, word, four));
  return quads;
}

Value GpuProduct::wordOfRows(const GpuStaging::Layout &layout, Value word, int64_t four) {
  Value first = e.add(e.mul(word, layout.pitch), e.memory.quarter(e.rowBase()));
  return e.workgroup.read(layout.array, e.vec4Type(), layout.entries,
                          e.add(first, e.constant(four)));
}

GpuProduct::Registers GpuProduct::rowsOf(ArrayRef<Value> quads) {
  Registers rows;
  for (int64_t row = 0; row < shape.rows; ++row)
    rows.push_back(vector::ExtractOp::create(builder, loc, quads[row / vec4], row % vec4));
  return rows;
}

GpuProduct::Registers GpuProduct::loadCrosswise(Value k, int64_t u, Registers &) {
  Registers quads = leftWords(e.add(k, e.constant(u)));
  if (word() != 1)
    for (Value &quad : quads)
      quad = e.asWords(quad);
  return rowsOf(quads);
}

/// Blocks begin at multiples of four steps, so the lane of a vec4 is static unless an iteration is
/// shorter than a vec4.
Value GpuProduct::loadStagedLeft(Value &loaded, Value k, int64_t row, int64_t u) {
  if (stepsOfIteration() < vec4) {
    Value lane = e.add(arith::AndIOp::create(builder, loc, k, e.constant(vec4 - 1)), e.constant(u));
    Value one = leftQuad(row, e.memory.quarter(k), lane);
    return word() == 1 ? one : e.asWords(one);
  }
  if (!loaded) {
    loaded = leftQuad(row, e.add(e.memory.quarter(k), e.constant(u / vec4)));
    if (word() != 1)
      loaded = e.asWords(loaded);
  }
  return vector::ExtractOp::create(builder, loc, loaded, u % vec4);
}

int64_t GpuProduct::panelQuads(int64_t steps) {
  return steps * rightStep / (vec4 * GpuEmitter::perWord(right()));
}

int64_t GpuProduct::rowQuads(int64_t steps, bool) {
  int64_t inQuad = vec4 * GpuEmitter::perWord(e.view(op.getLhs()));
  return llvm::divideCeil(steps * word(), inQuad);
}

Value GpuProduct::panelAt(Value panel) {
  const BoundView right = this->right();
  Value column = e.add(e.scalar(op.getRhsIndex()), e.mul(panel, right.type.getPanel()));
  Value start = e.add(right.offset, e.mul(column, padded(right.type.getDims().back().pitch.value)));
  return e.memory.vec4Index(right, {start, 0});
}

GpuStaging GpuProduct::stagedRight(int64_t steps) {
  int64_t panels = GpuEmitter::columnsOf(op.getType()) / right().type.getPanel();
  return GpuStaging(e, right(), rightLayout(), panels, panelQuads(steps),
                    [&](Value panel) { return panelAt(panel); });
}

GpuStaging GpuProduct::stagedRows(const BoundView &view, GpuStaging::Layout layout, int64_t quads) {
  int64_t rows = op.getType().getDimSize(0), pitch = padded(view.type.getDims().back().pitch.value);
  Value last = e.sub(view.extents.front(), e.constant(1)), first = e.scalar(op.getLhsIndex());
  return GpuStaging(e, view, layout, rows, quads, [&](Value row) {
    Value start = e.mul(e.minimum(e.add(first, row), last), pitch);
    return e.memory.vec4Index(view, {e.add(view.offset, start), 0});
  });
}

GpuProduct::Copies GpuProduct::copiesOf(int64_t steps, bool areLast) {
  GpuStaging left = stagedRows(e.view(op.getLhs()), leftLayout(), rowQuads(steps, areLast));
  return {stagedRight(steps), left, stagedScales()};
}

/// Loads the block that begins at step `first`.
void GpuProduct::fetch(Copies &copies, Value first, Registers &loaded) {
  int64_t inQuad = vec4 * GpuEmitter::perWord(e.view(op.getLhs()));
  copies.right.fetch(e.mul(first, panelQuads(1)), loaded);
  auto quadOf = [&](int64_t ofStep, int64_t inQuad) {
    return builder.createOrFold<arith::ShRUIOp>(loc, e.mul(first, ofStep),
                                                e.constant(llvm::Log2_64(inQuad)));
  };
  copies.left.fetch(quadOf(word(), inQuad), loaded);
  if (copies.scales)
    copies.scales->fetch(quadOf(scalesOfStep, vec4), loaded);
}

/// Writes a loaded block after all invocations have read the previous one.
void GpuProduct::store(Copies &copies, ArrayRef<Value> loaded) {
  e.workgroup.beforeWrite(SharedArray::Right);
  e.workgroup.beforeWrite(SharedArray::Left);
  if (copies.scales)
    e.workgroup.beforeWrite(SharedArray::Scales);
  copies.right.store(loaded);
  Registers rows;
  for (Value quad : loaded)
    rows.push_back(asStaged(quad));
  ArrayRef<Value> left = rows;
  copies.left.store(left);
  if (copies.scales)
    copies.scales->store(left);
  e.workgroup.barrier();
}

void GpuProduct::sumStaged(Registers &sums) {
  const int64_t all = allSteps();
  Copies whole = copiesOf(block, /*areLast=*/false);
  std::optional<Copies> last;
  auto copies = [&](const KBlock &now) -> Copies & {
    if (!now.isLast)
      return whole;
    if (!last)
      last.emplace(copiesOf(now.steps, /*areLast=*/true));
    return *last;
  };
  const BlockSteps steps{
      .fetch = [&](const KBlock &now, Registers &loaded) { fetch(copies(now), now.first, loaded); },
      .store = [&](const KBlock &now, ArrayRef<Value> loaded,
                   Registers &) { store(copies(now), loaded); },
      .multiply = [&](const KBlock &now,
                      Registers &inside) { addSteps(e.constant(0), now.steps, now.first, inside); },
      .fetchesLate = fetchesLate()};
  sumBlocks(e, all, all - endsShort(), block, steps, sums);
}

} // namespace heddle
