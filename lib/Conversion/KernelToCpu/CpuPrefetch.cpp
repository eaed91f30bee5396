//===- CpuPrefetch.cpp - Software prefetch on the CPU ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Software prefetch. Each step of a product prefetches lines of the next panels and of its result.
// With few queries it prefetches keys and values one page ahead. A kernel without products that
// loops over rows prefetches the next rows.

#include "CpuProduct.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

static constexpr int64_t lineBytes = 64, wordBytes = 4, panelColumns = 16;
/// Prefetch distance of a single row in its own panels. Half and twice the distance are slower.
static constexpr int64_t aheadBytes = 1024;

void CpuEmitter::fetch(Value start, Address place, Type element, bool isWritten) {
  LLVM::Prefetch::create(builder, loc, address(start, place, element), isWritten,
                         /*hint=*/3, /*cache=*/1);
}

//===- During a product --------------------------------------------------===//

/// Whether a product is bound by its sums as well as by memory. With eight lanes, narrow elements
/// take many instructions per line, and bf16 has only two chains with two multiply-adds per word.
/// The out-of-order window then covers the loads of only a few lines.
static bool waitsForSums(CpuEmitter &e, ProductOpInterface op, const Fragment &shape) {
  return shape.rows == 1 && e.width == 8 && op.readsWeights() &&
         CpuEmitter::perWord(e.view(op.getRhs())) > 1;
}

/// The large register tile prefetches the next panels, and a single row sometimes its own. Other
/// tiles with few rows are already bound by memory.
CpuPrefetch::CpuPrefetch(CpuEmitter &emitter, ProductOpInterface op, const Fragment &shape,
                         Value to, Value first, Value last, bool fetchesPanels)
    : e(emitter), op(op), first(first), last(last) {
  if (!e.plan.getAhead())
    return;
  if (shape.rows == e.loops.plan.fragment.rows && fetchesPanels)
    findNextPanels();
  else if (fetchesPanels && waitsForSums(e, op, shape))
    findOwnPanels(shape);
  std::optional<int64_t> begin = e.constantOf(first), end = e.constantOf(last);
  bool isWhole = e.constantOf(to) == e.view(op.getRhs()).type.getDims().back().extent.value;
  if (begin && end && isWhole && shape.rows > 1) {
    addResultLines(shape);
    words = *end - *begin;
  }
}

void CpuPrefetch::atStep(Value word, int64_t stepWords) {
  Value past = e.sub(word, first);
  if (ownPanels)
    fetchOwnPanels(past, stepWords);
  else if (panels)
    fetchPanels(past);
  for (const Lines &lines : results)
    fetchLines(lines, e.builder.createOrFold<arith::DivUIOp>(e.loc, past, e.constant(stepWords)),
               words / stepWords);
}

/// Computes the words of a column in the panels of the right side, and returns the panels' address.
Value CpuPrefetch::findPanels() {
  const BoundView right = e.view(op.getRhs());
  stored = padded(right.type.getDims().back().extent.value) / CpuEmitter::perWord(right);
  return e.address(e.pointers[right.argument], {right.offset, 0},
                   e.memoryElement(right.type.getElementType()));
}

//===- The next panels ---------------------------------------------------===//

/// Finds the panels that these columns read next: the next block of features, or after the last
/// block the next tile. The next tile is adjacent unless `readNext` points elsewhere. Row fragments
/// take turns: with sixteen, each prefetches a sixteenth of the lines; with fewer than four, each
/// prefetches two quarters. All counts are in words.
void CpuPrefetch::findNextPanels() {
  const BoundView right = e.view(op.getRhs());
  int64_t word = CpuEmitter::perWord(right), columns = CpuEmitter::columnsOf(op.getType()),
          features = (right.type.getDims().back().extent.value + word - 1) / word;
  bool isBlock =
      e.constantOf(first).value_or(-1) != 0 || e.constantOf(last).value_or(-1) != features;
  Value here = findPanels();
  Value null = LLVM::ZeroOp::create(e.builder, e.loc, here.getType());
  Value goesOn = LLVM::ICmpOp::create(e.builder, e.loc, LLVM::ICmpPredicate::eq, e.readNext, null);
  Value inTile = e.columnBase(columns), start = e.add(e.scalar(op.getRhsIndex()), inTile);
  Value base = e.select(goesOn, here, e.readNext);
  Value column =
      e.select(goesOn, e.add(start, e.constant(columns)), inTile ? inTile : e.constant(0));
  Value element = e.mul(column, stored);
  if (isBlock) {
    Value isLast = e.compare(arith::CmpIPredicate::sge, last, e.constant(features));
    base = e.select(isLast, base, here);
    element = e.select(isLast, element, e.add(e.mul(start, stored), e.mul(last, 16)));
  }
  int64_t lines = isBlock ? std::min(e.plan.getBlock() / word, features) : features;
  lines = lines / 16 * 16; // the same number in each turn
  const Turns &turns = e.loops.at.turns;
  share = arith::ShRUIOp::create(e.builder, e.loc, e.constant(lines * panelColumns), turns.bits);
  Value row = e.loops.at.row ? e.loops.at.row : e.constant(0), one = e.constant(1);
  Value ones = e.sub(arith::ShLIOp::create(e.builder, e.loc, one, turns.bits), one);
  Value turn = arith::AndIOp::create(
      e.builder, e.loc, arith::DivUIOp::create(e.builder, e.loc, row, e.constant(e.loops.at.rows)),
      e.select(turns.areFew, one, ones));
  turn = e.mul(turn, e.select(turns.areFew, e.constant(2), one));
  panels = e.address(base, e.moved({}, e.add(element, e.mul(turn, share))), e.builder.getF32Type());
}

/// Prefetches one line per panel in each step of four words. With more than four turns, several
/// steps prefetch the same line. With few row fragments, each step prefetches one line from each of
/// two quarters, because two adjacent lines per step arrive later. Without a second quarter the
/// first line is prefetched twice.
void CpuPrefetch::fetchPanels(Value word) {
  int64_t count = e.fragmentVectors(CpuEmitter::columnsOf(op.getType())) * e.width / 16;
  Value first =
      e.mul(arith::ShRUIOp::create(e.builder, e.loc, word, e.loops.at.turns.bits), panelColumns);
  Value second = e.add(first, e.select(e.loops.at.turns.areFew, share, e.constant(0)));
  for (int64_t panel = 0; panel < count; ++panel)
    for (Value line : {first, second})
      e.fetch(panels, e.moved({line, 0}, Value(), panel * stored * 16), e.builder.getF32Type());
}

//===- Own panels of a single row -----------------------------------------===//

void CpuPrefetch::findOwnPanels(const Fragment &shape) {
  Value start = findPanels();
  ownPanels = shape.vectors * e.width / panelColumns;
  Value column =
      e.add(e.scalar(op.getRhsIndex()), e.columnBase(CpuEmitter::columnsOf(op.getType())));
  Value element = e.add(e.mul(column, stored), e.mul(first, panelColumns));
  panels = e.address(start, e.moved({}, element, aheadBytes / wordBytes), e.builder.getF32Type());
}

/// Prefetches the number of lines that the step reads.
void CpuPrefetch::fetchOwnPanels(Value word, int64_t count) {
  for (int64_t panel = 0; panel < ownPanels; ++panel)
    for (int64_t line = 0; line < count; ++line)
      e.fetch(
          panels,
          e.moved({e.mul(word, panelColumns), 0}, Value(), (panel * stored + line) * panelColumns),
          e.builder.getF32Type());
}

//===- Keys and values of few rows ---------------------------------------===//

/// Widening narrow elements takes many instructions per line, so the out-of-order window covers the
/// loads of only a few lines, and without prefetch memory would idle.
int64_t CpuProduct::bytesAhead(const Fragment &shape) {
  constexpr int64_t page = 4096;
  const bool isNarrow = !right().type.getElementType().isF32();
  return isNarrow && width == 16 && !e.target.bf16Dot2 && readsOnce(shape) ? page : 0;
}

void CpuProduct::fetchRows(const Fragment &shape, Address place, int64_t step, int64_t j,
                           int64_t rows) {
  const Type element = e.memoryElement(right().type.getElementType());
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8,
                inLine = std::max<int64_t>(lineBytes / (width * bytes), 1),
                ahead = bytesAhead(shape) / (step * bytes);
  for (int64_t row = 0; ahead && row < rows; ++row)
    if (j % inLine == row * (inLine - 1) / std::max<int64_t>(rows - 1, 1))
      e.fetch(e.pointers[right().argument], e.moved(place, Value(), (ahead + row) * step), element);
}

//===- Lines of results --------------------------------------------------===//

/// Whether the values are emitted before the product. In the body itself they always are; in a loop
/// or branch only if they precede the product.
static bool areKnown(ProductOpInterface op, ValueRange values) {
  return isa<FuncOp, PartOp>(op->getParentOp()) || llvm::all_of(values, [&](Value value) {
           Operation *producer = value.getDefiningOp();
           return !producer || producer->getBlock() != op->getBlock() ||
                  producer->isBeforeInBlock(op);
         });
}

/// Adds the lines that stores write and that later loads of the fragment's shape read, such as a
/// residual; each line would otherwise miss the cache. Stores with `places` or pieces are excluded.
void CpuPrefetch::addResultLines(const Fragment &shape) {
  auto add = [&](auto access, Value tile, bool isWritten, auto places) {
    if (cast<ShapedType>(tile.getType()).getShape() != op.getType().getShape() ||
        !areKnown(op, access.getView()) || !areKnown(op, access.getIndices()) ||
        e.view(access.getView()).type.getPanel())
      return;
    const BoundView &at = e.view(access.getView());
    Type element = e.memoryElement(at.type.getElementType());
    int64_t perLine = lineBytes * 8 / element.getIntOrFloatBitWidth();
    results.push_back({e.address(e.pointers[at.argument], places().front(), element),
                       e.stride(at, at.type.getRank() - 2), element, perLine,
                       (shape.vectors * e.width + perLine - 1) / perLine, shape.rows, isWritten});
  };
  for (Operation *other = op->getNextNode(); other; other = other->getNextNode())
    if (auto store = dyn_cast<StoreOpInterface>(other);
        store && !isa<ScatterOp>(*store) && !store.getPieceColumns())
      add(store, store.getTile(), true, [&] { return e.storePlaces(store, shape); });
    else if (auto load = dyn_cast<LoadOp>(other))
      add(load, load, false, [&] { return e.loadPlaces(load); });
}

/// Prefetches the lines of this step. The lines are spread over the first three quarters of the
/// steps, so that the last one arrives in time. The number of steps per line is a power of two,
/// which makes the division a shift. After the last line, further steps prefetch it again at no
/// cost.
void CpuPrefetch::fetchLines(const Lines &lines, Value step, int64_t steps) {
  int64_t count = lines.rows * lines.perRow, share = std::max<int64_t>(steps * 3 / 4, 1),
          each = (count + share - 1) / share,
          stepsEach = llvm::bit_floor(std::max<uint64_t>(share / count, 1));
  OpBuilder &builder = e.builder;
  Value first = builder.createOrFold<arith::DivUIOp>(e.loc, step, e.constant(stepsEach));
  for (int64_t i = 0; i < each; ++i) {
    Value line = e.minimum(e.add(e.mul(first, each), e.constant(i)), e.constant(count - 1));
    Value row = builder.createOrFold<arith::DivUIOp>(e.loc, line, e.constant(lines.perRow));
    Value inRow = builder.createOrFold<arith::RemUIOp>(e.loc, line, e.constant(lines.perRow));
    e.fetch(lines.start, e.moved({e.mul(row, lines.pitch), 0}, e.mul(inRow, lines.perLine)),
            lines.element, lines.isWritten);
  }
}

//===- Rows of kernels without products ----------------------------------===//

/// Whether the load is the first from its view in a kernel without products. Several adjacent rows
/// are short streams, for which the hardware prefetcher starts too late. Rows that fill a
/// first-level cache would be evicted before they are read.
bool CpuEmitter::fetchesNextRows(LoadOp op) {
  constexpr int64_t most = 64 << 10; // bytes of the rows of a fragment
  const BoundView &from = view(op.getView());
  if (loops.at.rows == 1 || op.getType().getDimSize(0) == 1 || op.getAsRows() ||
      from.type.getPanel() || from.type.getRank() < 2 || !shapeOf(op.getType()).vectors)
    return false;
  const Size &columns = from.type.getDims().back().extent;
  if (!columns.isStatic() ||
      loops.at.rows * columns.value * from.type.getElementType().getIntOrFloatBitWidth() / 8 > most)
    return false;
  LoadOp first;
  bool multiplies = false;
  kernel.walk([&](Operation *other) {
    multiplies |= isa<ProductOpInterface>(other);
    if (auto load = dyn_cast<LoadOp>(other); load && !first && load.getView() == op.getView())
      first = load;
  });
  return !multiplies && first == op;
}

/// Prefetches the same columns of the rows after the fragment.
void CpuEmitter::fetchNextRows(LoadOp op) {
  const BoundView &from = view(op.getView());
  Type element = memoryElement(from.type.getElementType());
  int64_t vectors = shapeOf(op.getType()).vectors,
          inLine = std::max<int64_t>(lineBytes * 8 / (width * element.getIntOrFloatBitWidth()), 1);
  Value next = mul(stride(from, from.type.getRank() - 2), loops.at.rows);
  for (auto [i, place] : llvm::enumerate(loadPlaces(op)))
    if (static_cast<int64_t>(i) % vectors % inLine == 0)
      fetch(pointers[from.argument], moved(place, next), element);
}

LogicalResult CpuEmitter::emitLoad(LoadOp op) {
  if (fetchesNextRows(op))
    fetchNextRows(op);
  return BodyEmitter::emitLoad(op);
}
