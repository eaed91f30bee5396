//===- CpuPrefetch.cpp - Lines fetched before they are needed -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product fetches the panels of the next tile and the lines of its result,
// some in each step: a core has room for some twenty lines on their way, and the
// product's own loads need it too. A kernel that walks over rows fetches the next
// ones. What is fetched need not exist: such addresses are no error.
//
//===----------------------------------------------------------------------===//

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

static constexpr int64_t lineBytes = 64;

void CpuEmitter::fetch(Value start, Place place, Type element, bool isWritten) {
  LLVM::Prefetch::create(builder, loc, address(start, place, element), isWritten,
                         /*hint=*/3, /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// The next panels
//===----------------------------------------------------------------------===//

/// Where the panels begin that these columns of the next tile (or, in a k-block but the last, of the
/// next block) read: all row fragments have taken their turns before them. The next tile lies behind
/// this one, or where `readNext` says.
/// Row fragments take turns: each of four or more fetches a quarter of the lines, each of fewer two
/// quarters. All in words.
CpuEmitter::NextPanels CpuEmitter::nextPanels(ContractOp op, Value from, Value to) {
  const BoundView &right = view(op.getRhs());
  int64_t word = perWord(right), columns = columnsOf(op.getType()),
          features = (right.type.getDims().back().extent.value + word - 1) / word;
  int64_t stored = padded(features * word) / word;
  bool isBlock = constantOf(from).value_or(-1) != 0 || constantOf(to).value_or(-1) != features;
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  };
  Value here = address(pointers[right.argument], {right.offset, 0},
                       memoryElement(right.type.getElementType()));
  Value null = LLVM::ZeroOp::create(builder, loc, here.getType());
  Value goesOn = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, readNext, null);
  Value inTile = columnBase(columns), start = add(scalar(op.getRhsIndex()), inTile);
  Value base = select(goesOn, here, readNext);
  Value column = select(goesOn, add(start, constant(columns)), inTile ? inTile : constant(0));
  Value element = mul(column, stored);
  if (isBlock) {
    Value isLast =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, to, constant(features));
    base = select(isLast, base, here);
    element = select(isLast, element, add(mul(start, stored), mul(to, 16)));
  }
  int64_t quarter =
      (isBlock ? std::min(kernel.getScheduleOrDefault().getKblock() / word, features) : features) /
      16 * 64;
  Value turn = arith::AndIOp::create(
      builder, loc, arith::DivUIOp::create(builder, loc, row ? row : constant(0), constant(rows)),
      select(fewTurns, constant(1), constant(3)));
  turn = mul(turn, select(fewTurns, constant(2), constant(1)));
  return {address(base, moved({}, add(element, mul(turn, quarter))), builder.getF32Type()), quarter,
          stored};
}

/// One line a panel in each step of four words, or one of each of two quarters (two neighbours a
/// step come in more slowly): without a second quarter the first again.
void CpuEmitter::fetchPanels(ContractOp op, const NextPanels &next, Value word) {
  int64_t panels = fragmentVectors(columnsOf(op.getType())) * width / 16;
  Value first = mul(word, 4);
  Value second = add(
      first, arith::SelectOp::create(builder, loc, fewTurns, constant(next.quarter), constant(0)));
  for (int64_t panel = 0; panel < panels; ++panel)
    for (Value line : {first, second})
      fetch(next.start, moved({line, 0}, Value(), panel * next.stored * 16), builder.getF32Type());
}

//===----------------------------------------------------------------------===//
// Lines of results
//===----------------------------------------------------------------------===//

/// Whether views and indices that are used behind the product are emitted before it: those of a whole
/// body are, whatever their order, and those of a loop or branch are not.
static bool areKnown(ContractOp op, ValueRange values) {
  return isa<FuncOp, PartOp>(op->getParentOp()) || llvm::all_of(values, [&](Value value) {
           Operation *producer = value.getDefiningOp();
           return !producer || producer->getBlock() != op->getBlock() ||
                  producer->isBeforeInBlock(op);
         });
}

/// Where the fragment is stored to, and what of its shape is added to it: either would wait for memory
/// one line after the other.
SmallVector<CpuEmitter::Lines> CpuEmitter::resultLines(ContractOp op, const Fragment &shape) {
  SmallVector<Lines> found;
  auto add = [&](auto access, Value tile, bool isWritten, auto places) {
    if (cast<ShapedType>(tile.getType()).getShape() != op.getType().getShape() ||
        !areKnown(op, access.getView()) || !areKnown(op, access.getIndices()) ||
        view(access.getView()).type.getPanel())
      return;
    const BoundView &at = view(access.getView());
    Type element = memoryElement(at.type.getElementType());
    int64_t perLine = lineBytes * 8 / element.getIntOrFloatBitWidth();
    found.push_back({address(pointers[at.argument], places().front(), element),
                     stride(at, at.type.getRank() - 2), element, perLine,
                     (shape.vectors * width + perLine - 1) / perLine, shape.rows, isWritten});
  };
  for (Operation *other = op->getNextNode(); other; other = other->getNextNode())
    if (auto store = dyn_cast<StoreOp>(other))
      add(store, store.getTile(), true, [&] { return storePlaces(store, shape); });
    else if (auto load = dyn_cast<LoadOp>(other))
      add(load, load, false, [&] { return loadPlaces(load); });
  return found;
}

/// The lines of this step, of `steps`: all in the first three quarters of them, so that the last one
/// comes in time. Steps of a line are a power of two, which makes the division a shift; once
/// all lines are fetched, the last one is fetched again, which costs nothing.
void CpuEmitter::fetchLines(const Lines &lines, Value step, int64_t steps) {
  int64_t count = lines.rows * lines.perRow, share = std::max<int64_t>(steps * 3 / 4, 1),
          each = (count + share - 1) / share,
          stepsEach = llvm::bit_floor(std::max<uint64_t>(share / count, 1));
  Value first = builder.createOrFold<arith::DivUIOp>(loc, step, constant(stepsEach));
  for (int64_t i = 0; i < each; ++i) {
    Value line = minimum(add(mul(first, each), constant(i)), constant(count - 1));
    Value row = builder.createOrFold<arith::DivUIOp>(loc, line, constant(lines.perRow));
    Value inRow = builder.createOrFold<arith::RemUIOp>(loc, line, constant(lines.perRow));
    fetch(lines.start, moved({mul(row, lines.pitch), 0}, mul(inRow, lines.perLine)), lines.element,
          lines.isWritten);
  }
}

//===----------------------------------------------------------------------===//
// During a product
//===----------------------------------------------------------------------===//

/// What a product over the features [from, to), the words [first, last), fetches.
CpuEmitter::FetchedMeanwhile CpuEmitter::fetchedMeanwhile(ContractOp op, const Fragment &shape,
                                                          Value from, Value to, Value first,
                                                          Value last) {
  FetchedMeanwhile fetched{std::nullopt, {}, first};
  if (!kernel.getScheduleOrDefault().getPrefetch())
    return fetched;
  // Tiles of few rows are bound by memory: fetching more than they use would only slow them. Panels of
  // i4 are small, and read in order when they are decoded.
  if (shape.rows == plan.fragment.rows && !isNibbles(op))
    fetched.panels = nextPanels(op, first, last);
  std::optional<int64_t> begin = constantOf(first), end = constantOf(last);
  bool isWhole = constantOf(to) == view(op.getRhs()).type.getDims().back().extent.value;
  if (begin && end && isWhole && shape.rows > 1) {
    fetched.results = resultLines(op, shape);
    fetched.words = *end - *begin;
  }
  return fetched;
}

/// The lines of the step of `words` words that begins at `word`.
void CpuEmitter::fetchMeanwhile(ContractOp op, const FetchedMeanwhile &fetched, Value word,
                                int64_t words) {
  Value past = sub(word, fetched.first);
  if (fetched.panels)
    fetchPanels(op, *fetched.panels, past);
  for (const Lines &lines : fetched.results)
    fetchLines(lines, builder.createOrFold<arith::DivUIOp>(loc, past, constant(words)),
               fetched.words / words);
}

/// The line that the same panel's words are read from eight lines later.
void CpuEmitter::fetchAhead(const BoundView &right, Place place) {
  constexpr int64_t lines = 8, halvesInLine = 32;
  fetch(pointers[right.argument], moved(place, Value(), lines * halvesInLine),
        builder.getI16Type());
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Whether the load is the first of rows that the kernel only walks over: several rows side by side
/// are several streams of a few lines each, too short for the processor's own fetching. Rows that
/// fill a first cache would push each other out before they are read again.
bool CpuEmitter::fetchesNextRows(LoadOp op) {
  constexpr int64_t most = 64 << 10; // bytes of the rows of a fragment
  const BoundView &from = view(op.getView());
  if (rows == 1 || op.getType().getDimSize(0) == 1 || op.getAsRows() || from.type.getPanel() ||
      from.type.getRank() < 2 || !shapeOf(op.getType()).vectors)
    return false;
  const Size &columns = from.type.getDims().back().extent;
  if (!columns.isStatic() ||
      rows * columns.value * from.type.getElementType().getIntOrFloatBitWidth() / 8 > most)
    return false;
  LoadOp first;
  bool multiplies = false;
  kernel.walk([&](Operation *other) {
    multiplies |= isa<ContractOp>(other);
    if (auto load = dyn_cast<LoadOp>(other); load && !first && load.getView() == op.getView())
      first = load;
  });
  return !multiplies && first == op;
}

/// The same lines of the rows behind the fragment's.
void CpuEmitter::fetchNextRows(LoadOp op) {
  const BoundView &from = view(op.getView());
  Type element = memoryElement(from.type.getElementType());
  int64_t vectors = shapeOf(op.getType()).vectors,
          inLine = std::max<int64_t>(lineBytes * 8 / (width * element.getIntOrFloatBitWidth()), 1);
  Value next = mul(stride(from, from.type.getRank() - 2), rows);
  for (auto [i, place] : llvm::enumerate(loadPlaces(op)))
    if (static_cast<int64_t>(i) % vectors % inLine == 0)
      fetch(pointers[from.argument], moved(place, next), element);
}

LogicalResult CpuEmitter::emitLoad(LoadOp op) {
  if (fetchesNextRows(op))
    fetchNextRows(op);
  return BodyEmitter::emitLoad(op);
}
