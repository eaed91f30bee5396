//===- GpuMatrices.cpp - Products through matrix units --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuMatrices up to its sums: the choice of products, the places of
// operands, and the products of blocks. GpuMatrixSums.cpp distributes the sums.
#include "GpuMatrices.h"

#include "GpuBlocks.h"
#include "GpuLoops.h"

#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Support/Formats.h"
#include "heddle/Support/Program.h"

using namespace mlir;
using heddle::kernel::BoundView;
using heddle::kernel::Fragment;
using heddle::kernel::ProductOpInterface;

namespace heddle {

/// Words of a group of i4 after its codes are widened to bytes.
static constexpr int64_t kGroupWords = formatOf(DType::I4).group / formatOf(DType::I8).perWord;

//===- Choice of products -------------------------------------------------===//

bool isMatrixProduct(ProductOpInterface op) { return !op.isOverRows() && op.readsWeights(); }

/// Returns an op, with the next product of the same rows in its block if the two can share the
/// staged rows. Together they take the workgroup memory and the sums of one wide tile. A third
/// product and wider products stay separate, and so do groups of i4, because their chains take the
/// registers.
static SmallVector<ProductOpInterface> productsTogether(ProductOpInterface op) {
  if (elementOf(op.getRhs()) == DType::I4 || op.getType().getDimSize(1) > narrowColumns)
    return {op};
  auto isKnown = [&](Value index) {
    Operation *definition = index.getDefiningOp();
    return !definition || definition->getBlock() != op->getBlock() ||
           definition->isBeforeInBlock(op);
  };
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (auto other = dyn_cast<ProductOpInterface>(next);
        other && isMatrixProduct(other) && other.getLhs() == op.getLhs() &&
        other.getLhsIndex() == op.getLhsIndex() && other.getType() == op.getType() &&
        elementOf(other.getRhs()) == elementOf(op.getRhs()) && isKnown(other.getRhsIndex()))
      return {op, other};
  return {op};
}

/// Rejects a product whose operands the target's matrix units do not support.
static InFlightDiagnostic noMatrixUnit(ProductOpInterface op, const GpuTarget &target) {
  return op.emitOpError("expected products that matrix units of level ")
         << target.name() << " take, found " << cast<kernel::ViewType>(op.getLhs().getType())
         << " by " << cast<kernel::ViewType>(op.getRhs().getType());
}

LogicalResult placeMatrices(kernel::FuncOp func, const GpuTarget &target, GpuPlacement &placement) {
  const MatrixShape *&chosen = placement.matrix;
  WalkResult walked = func.walk([&](ProductOpInterface op) -> WalkResult {
    if (!isMatrixProduct(op))
      return WalkResult::advance();
    const MatrixShape *shape = target.matrixOf(elementOf(op.getLhs()), elementOf(op.getRhs()));
    if (!shape)
      return noMatrixUnit(op, target);
    if (auto contract = dyn_cast<kernel::ContractOp>(*op);
        contract && shape->operands == DType::I8 && !contract.getCentered())
      return op.emitOpError(
          "expected {centered} in a product of i8 on matrix units, which multiply "
          "signed bytes, found none");
    if (elementOf(op.getRhs()) == DType::I4 && placement.block % (2 * kGroupWords) != 0)
      return op.emitOpError("expected blocks of an even number of groups, which are ")
             << 2 * kGroupWords << " words, found " << placement.block;
    chosen = chosen ? chosen : shape;
    const int64_t columns = op.getType().getDimSize(1);
    placement.mostColumns = std::max(placement.mostColumns, columns);
    placement.stagedColumns =
        std::max<int64_t>(placement.stagedColumns, productsTogether(op).size() * columns);
    return WalkResult::advance();
  });
  if (!walked.wasInterrupted() && !chosen)
    return func.emitOpError(
        "expected a product with weights in a kernel for matrix units, found none");
  return failure(walked.wasInterrupted());
}

//===- Sizes --------------------------------------------------------------===//

/// Returns the number of the array's rows, which have the length of a block, that the rows of the tile
/// take. With a row block, they take only as many as parts of all rows or one whole row need.
static int64_t leftRowsOf(const GpuPlacement &placement) {
  const int64_t rows = placement.ty * placement.rows;
  if (!placement.rowBlock)
    return rows;
  const int64_t parts = rows * (placement.rowBlock / kVec4 + 1), lone = placement.block / kVec4;
  return static_cast<int64_t>(llvm::divideCeil(std::max(parts, lone), placement.block / kVec4 + 1));
}

/// Returns the array of a kernel. It holds the plan's buffers of a block of both sides, or a row of
/// matrices of sums for each subgroup.
static MatrixArray arrayOf(const GpuPlacement &placement, int64_t perWord) {
  const MatrixShape &shape = *placement.matrix;
  const int64_t pitch = placement.block / kVec4 + 1,
                subgroupColumns = std::max<int64_t>(kVec4, placement.mostColumns / placement.tx) *
                                  GpuMatrices::lanesAcross;
  const bool isOneMatrixHigh = placement.rows == 1;
  const int64_t subgroups = isOneMatrixHigh ? 1 : placement.ty * placement.tx / placement.subgroup,
                sums = subgroups * shape.m *
                       GpuMatrices::pitchOfSums(isOneMatrixHigh ? placement.mostColumns
                                                                : subgroupColumns),
                staged = (leftRowsOf(placement) + placement.stagedColumns) * pitch;
  const int64_t unit = shape.k / perWord % kVec4 == 0 ? kVec4 : kVec4 / 2;
  return {unit, std::max(sums, placement.buffers * staged) * kVec4 / unit, SharedArray::Matrices,
          staged * kVec4 / unit};
}

static int64_t wordsElements(DType operands) { return formatOf(operands).perWord; }

GpuMatrices::GpuMatrices(GpuEmitter &emitter, ProductOpInterface op)
    : e(emitter), builder(emitter.builder), loc(emitter.loc), op(op),
      products(productsTogether(op)), shape(*emitter.placement.matrix), unit(emitter, shape),
      fragment(emitter.shapeOf(op.getType())), perWord(wordsElements(shape.operands)),
      block(emitter.placement.block),
      rowBlock(emitter.placement.rowBlock ? emitter.placement.rowBlock : block),
      hasGroups(elementOf(op.getRhs()) == DType::I4), array(arrayOf(emitter.placement, perWord)),
      leftRows(leftRowsOf(emitter.placement)) {}

Value GpuMatrices::pointer(Value entry) {
  return e.entry.shared(SharedArray::Matrices, VectorType::get({array.unit}, builder.getF32Type()),
                        array.entries, entry);
}

//===- Places -------------------------------------------------------------===//

void GpuMatrices::placeSubgroup() {
  if (isOneMatrixHigh()) {
    across = columns() / shape.n;
    firstRow = firstColumn = e.constant(0);
    multiplies = e.compare(arith::CmpIPredicate::eq, e.subgroup, e.constant(0));
    return;
  }
  const int64_t subgroupColumns = fragment.vectors * kVec4 * lanesAcross,
                subgroupsAcross = e.placement.tx / lanesAcross,
                subgroupRows = e.placement.subgroup / lanesAcross * fragment.rows;
  across = subgroupColumns / shape.n;
  down = subgroupRows / shape.m;
  Value row = e.quotient(e.subgroup, subgroupsAcross),
        column = e.remainder(e.subgroup, subgroupsAcross);
  firstRow = e.mul(row, subgroupRows);
  firstColumn =
      e.mul(e.minimum(column, e.constant(columns() / subgroupColumns - 1)), subgroupColumns);
}

/// Returns the position of a row of the tile among the staged rows.
Value GpuMatrices::rowInArray(Value row) {
  if (isOneMatrixHigh())
    return row;
  const int64_t below = e.placement.subgroup / lanesAcross, together = shape.m / below;
  auto part = [&](int64_t unit, int64_t count) -> Value {
    Value units = e.quotient(row, unit);
    return count ? e.remainder(units, count) : units;
  };
  Value subgroup = e.mul(part(fragment.rows * below, 0), fragment.rows * below),
        matrix = e.mul(part(together, fragment.rows / together), shape.m),
        invocation = e.mul(part(fragment.rows, below), together);
  return e.add(e.add(subgroup, matrix), e.add(invocation, part(1, together)));
}

static int64_t pitchOf(const BoundView &view) {
  return padded(view.type.getDims().back().pitch.value);
}

/// Returns the vec4 at which a row begins. Rows that do not exist are copies of the last one.
Value GpuMatrices::startOfRow(const BoundView &view, Value row) {
  Value last = e.sub(view.extents.front(), e.constant(1)), first = e.scalar(op.getLhsIndex());
  Value start = e.mul(e.minimum(e.add(first, row), last), pitchOf(view));
  return e.memory.vec4Index(view, {e.add(view.offset, start), 0});
}

/// Returns the vec4 at which a panel begins. Panels of i4 also hold scales, so that their size in
/// elements is derived from their bytes.
Value GpuMatrices::startOfPanel(ProductOpInterface product, Value panel) {
  const BoundView &view = e.view(product.getRhs());
  Value column = e.add(e.scalar(product.getRhsIndex()), e.mul(panel, kPanel)), start;
  if (hasGroups)
    start = e.mul(e.quotient(column, kPanel),
                  panelBytes(DType::I4, features()) / 4 * formatOf(DType::I4).perWord);
  else
    start = e.mul(column, pitchOf(view));
  return e.memory.vec4Index(view, {e.add(view.offset, start), 0});
}

void GpuMatrices::placeSides() {
  const BoundView leftView = e.view(op.getLhs());
  left.emplace(e, leftView, GpuMatrixStaging::Block{rows(), rowBlock / kVec4}, array);
  left->placeRows([&](Value row) { return startOfRow(leftView, row); },
                  [&](Value row) { return rowInArray(row); });
  for (auto [number, product] : llvm::enumerate(products)) {
    GpuMatrixStaging &right = rights.emplace_back(
        e, e.view(product.getRhs()), GpuMatrixStaging::Block{columns(), block / kVec4}, array);
    right.placePanels([&, product = product](Value panel) { return startOfPanel(product, panel); },
                      leftRows + static_cast<int64_t>(number) * columns());
  }
  if (rowBlock < block)
    placeRow();
  if (hasGroups)
    placeGroups();
}

/// Places a lone row, at the start of the array.
void GpuMatrices::placeRow() {
  const BoundView view = e.view(op.getLhs());
  isLone = e.compare(arith::CmpIPredicate::eq, view.extents.front(), e.constant(1));
  areSeveral = e.compare(arith::CmpIPredicate::ne, view.extents.front(), e.constant(1));
  loneRow.emplace(e, view, GpuMatrixStaging::Block{1, block / kVec4}, array);
  loneRow->placeRows([&](Value row) { return startOfRow(view, row); },
                     [&](Value row) { return row; });
}

void GpuMatrices::placeGroups() {
  auto product = cast<kernel::ContractGroupsOp>(*op);
  groups.emplace(e, unit, product, GpuMatrixGroups::Block{rows(), columns(), block / kGroupWords});
  groups->place([&](Value row) { return startOfRow(e.view(product.getScales()), row); },
                [&](Value row) { return rowInArray(row); },
                [&](Value panel) { return startOfPanel(op, panel); });
  groups->number(firstRow, firstColumn);
}

//===- Blocks -------------------------------------------------------------===//

/// Returns the end of a row's features, in words of memory.
GpuMatrixStaging::End GpuMatrices::endOfRows() {
  const BoundView &view = e.view(op.getLhs());
  const int64_t inWord = GpuEmitter::perWord(view), over = features() % inWord,
                stored = padded(view.type.getDims().back().pitch.value) / inWord;
  const uint32_t bits = over ? (uint32_t{1} << (32 / inWord * over)) - 1 : 0;
  return {stored, features() / inWord, bits};
}

int64_t GpuMatrices::features() { return e.view(op.getRhs()).type.getDims().back().extent.value; }

/// Returns the words of a row that are multiplied, rounded up to whole matrices or groups.
int64_t GpuMatrices::allWords() {
  return llvm::alignTo(features(), hasGroups ? formatOf(DType::I4).group : shape.k) / perWord;
}

/// Loads the block that begins at word `first` of k, the right sides first.
void GpuMatrices::fetch(Value first, bool ends, Registers &loaded) {
  const int64_t stored =
      hasGroups ? allWords()
                : padded(e.view(op.getRhs()).type.getDims().back().pitch.value) / perWord;
  const GpuMatrixStaging::End ofRight{stored, stored, 0}, ofLeft = endOfRows();
  for (GpuMatrixStaging &right : rights)
    right.fetch(first, ends ? &ofRight : nullptr, loaded);
  (loneRow ? loneRow : left)->fetch(first, ends ? &ofLeft : nullptr, loaded);
  if (groups)
    groups->fetch(e.quotient(first, kGroupWords),
                  ends ? std::optional(stored / kGroupWords) : std::nullopt, loaded);
}

void GpuMatrices::store(ArrayRef<Value> loaded) {
  for (GpuMatrixStaging &right : rights) {
    right.store(loaded.take_front(right.loads()));
    loaded = loaded.drop_front(right.loads());
  }
  if (loneRow)
    return e.onlyIf(isLone, [&] { storeRows(*loneRow, loaded); });
  storeRows(*left, loaded.take_front(left->loads()));
  if (groups)
    groups->store(loaded.drop_front(left->loads()));
}

void GpuMatrices::storeRows(GpuMatrixStaging &rows, ArrayRef<Value> loaded) {
  Registers vec4s(loaded);
  if (sumsCodes())
    for (Value &vec4 : vec4s)
      vec4 = e.words.signedBytes(vec4);
  rows.store(vec4s);
}

/// Loads a matrix of either side, which begins `place` entries after the start of its rows.
Value GpuMatrices::loadSide(MatrixUnit::Side side, Value row, Value place) {
  const int64_t pitch = (block / kVec4 + 1) * array.perVec4();
  Value start = e.workgroup.inBuffer(e.add(e.mul(row, pitch), place), array.staged);
  return unit.load(side, /*number=*/0, pointer(start), pitch);
}

/// Loads the matrix of rows that begins `place` entries after the start of a part. With a stride of 0,
/// each row of the matrix is the lone row. Drivers load faster if the stride is a constant.
Value GpuMatrices::loadRows(Value place) {
  const int64_t pitch = (rowBlock / kVec4 + 1) * array.perVec4();
  return multipliesLone ? unit.load(MatrixUnit::Side::Left, /*number=*/0,
                                    pointer(e.add(place, partOfBlock)), 0)
                        : unit.load(MatrixUnit::Side::Left, /*number=*/0, pointer(place), pitch);
}

/// Adds one product of matrices to each matrix of sums of the subgroup.
void GpuMatrices::multiplyStep(Value place) {
  Registers lefts;
  if (loneRow)
    lefts.push_back(loadRows(place));
  for (int64_t i = 0; i < down && !loneRow; ++i)
    lefts.push_back(
        loadSide(MatrixUnit::Side::Left, e.add(firstRow, e.constant(i * shape.m)), place));
  if (loneRow)
    place = e.add(place, partOfBlock);
  for (int64_t j = 0; j < acrossAll(); ++j) {
    const int64_t before = leftRows + j / across * columns() + j % across * shape.n;
    Value b = loadSide(MatrixUnit::Side::Right, e.add(firstColumn, e.constant(before)), place);
    for (int64_t i = 0; i < down; ++i)
      unit.accumulate(sums[i * acrossAll() + j], lefts[i], b);
  }
}

/// Multiplies a group. Its integers are added to their chains one matrix at a time.
void GpuMatrices::multiplyGroup(Value group) {
  const int64_t steps = kGroupWords * perWord / shape.k, entries = shape.k / perWord / array.unit;
  auto placeOf = [&](int64_t step) {
    return e.add(e.mul(group, steps * entries), e.constant(step * entries));
  };
  Registers rights;
  for (int64_t j = 0; j < across; ++j)
    for (int64_t step = 0; step < steps; ++step) {
      Value column = e.add(firstColumn, e.constant(rows() + j * shape.n));
      rights.push_back(loadSide(MatrixUnit::Side::Right, column, placeOf(step)));
    }
  for (int64_t i = 0; i < down; ++i) {
    Value row = e.add(firstRow, e.constant(i * shape.m));
    Registers lefts;
    for (int64_t step = 0; step < steps; ++step)
      lefts.push_back(loadSide(MatrixUnit::Side::Left, row, placeOf(step)));
    for (int64_t j = 0; j < across; ++j) {
      Value sum = unit.zero(unit.type(Use::MatrixAcc));
      for (int64_t step = 0; step < steps; ++step)
        sum = unit.multiplyAdd(lefts[step], rights[j * steps + step], sum);
      groups->add({group, i * shape.m, j * shape.n}, sum, sums[i * across + j]);
      e.entry.forgetShared(); // or drivers also load the operands of the next matrix
    }
  }
}

/// Returns the number of steps whose matrices a driver may load ahead. More steps take more
/// registers and thus reduce occupancy.
int64_t GpuMatrices::stepsAtOnce() {
  constexpr int64_t mostWords = 24; // of an invocation
  const int64_t words = (down * shape.m + acrossAll() * shape.n) * shape.k / perWord;
  return llvm::bit_floor<uint64_t>(std::max<int64_t>(1, mostWords * e.placement.subgroup / words));
}

/// Emits fences that limit how many matrices drivers load ahead. The end of a loop does not.
void GpuMatrices::multiplySteps(Value place, int64_t steps) {
  const int64_t together = stepsAtOnce(), entries = shape.k / perWord / array.unit;
  for (int64_t i = 0; i < steps; ++i) {
    if (i % together == 0)
      e.entry.forgetShared();
    multiplyStep(e.add(place, e.constant(i * entries)));
  }
}

/// Multiplies the groups of a block, in a loop if there are many.
void GpuMatrices::multiplyGroups(int64_t count) {
  constexpr int64_t unrolled = 2, mostProducts = 32; // of matrices; each adds compile time
  const int64_t products = count * down * across * kGroupWords * perWord / shape.k;
  if (count > unrolled || products > mostProducts)
    return e.rolledLoop(count, 1, [&](Value group) { multiplyGroup(group); });
  for (int64_t group = 0; group < count; ++group)
    multiplyGroup(e.constant(group));
}

/// Multiplies the steps of a block, in a loop if there are many. The driver of an H100 then issues
/// the loads of the next block before the loop. It delayed them past four unrolled steps, which
/// took 126 us instead of 86 (bf16, 512 x 2048 by 5632).
void GpuMatrices::multiply(int64_t words) {
  const int64_t inStep = shape.k / perWord, steps = words / inStep, entries = inStep / array.unit,
                together = stepsAtOnce(),
                looped = steps > 2 * together ? steps / together * together : 0;
  e.onlyIf(multiplies, [&] {
    if (groups)
      return multiplyGroups(words / kGroupWords);
    if (looped)
      e.rolledLoop(looped * entries, together * entries,
                   [&](Value first) { multiplySteps(first, together); });
    multiplySteps(e.constant(looped * entries), steps - looped);
  });
}

/// Multiplies a part of a block, in code of its own for a lone row.
void GpuMatrices::multiplyRows(int64_t words) {
  auto multiplyAs = [&](bool isLoneRow) {
    multipliesLone = isLoneRow;
    multiply(words);
  };
  e.onlyIf(isLone, [&] { multiplyAs(true); }, [&] { multiplyAs(false); });
}

/// Multiplies a block part by part. Several rows are staged for each part, one part ahead.
void GpuMatrices::multiplyParts(const KBlock &now) {
  const int64_t whole = now.steps / rowBlock, rest = now.steps % rowBlock,
                last = static_cast<int64_t>(llvm::divideCeil(now.steps, rowBlock)) - 1;
  const GpuMatrixStaging::End ofLeft = endOfRows();
  Registers loaded(left->loads(), spirv::ConstantOp::getZero(e.vec4Type(), loc, builder));
  auto fetchPart = [&](Value part) {
    e.replaceIf(areSeveral, loaded, [&](MutableArrayRef<Value> replaced) {
      Registers fetched;
      left->fetch(e.add(now.first, e.mul(part, rowBlock)), now.isLast ? &ofLeft : nullptr, fetched);
      llvm::copy(fetched, replaced.begin());
    });
  };
  auto multiplyPart = [&](Value part, int64_t words) {
    e.onlyIf(areSeveral, [&] {
      e.workgroup.barrier();
      storeRows(*left, loaded);
      e.workgroup.barrier();
    });
    fetchPart(e.minimum(e.add(part, e.constant(1)), e.constant(last)));
    partOfBlock = e.mul(part, rowBlock / kVec4 * array.perVec4());
    multiplyRows(words);
  };
  fetchPart(e.constant(0));
  if (whole)
    e.loopOver(e.constant(0), e.constant(whole), 1, loaded, [&](Value part) {
      e.markLoop(kRolled);
      multiplyPart(part, rowBlock);
    });
  if (rest)
    multiplyPart(e.constant(whole), rest);
}

/// Sums all blocks. The last one may extend beyond the features of a row, which are zero there.
void GpuMatrices::sumAll() {
  const BlockSteps steps{
      .fetch = [&](const KBlock &now, Registers &loaded) { fetch(now.first, now.isLast, loaded); },
      .waitForReaders = [&] { e.workgroup.barrier(); },
      .store = [&](const KBlock &, ArrayRef<Value> loaded) { store(loaded); },
      .multiply = [&](const KBlock &now,
                      Registers &) { return loneRow ? multiplyParts(now) : multiply(now.steps); },
      .fetchesLate = hasGroups,
      .staysRolled = true};
  Registers none; // sums are in variables
  sumBlocks(e, allWords(), features() / perWord, block, steps, none);
  for (size_t number = 0; number < products.size(); ++number) {
    Fragment &sums = fragments.emplace_back(fragment);
    exchange(static_cast<int64_t>(number), sums);
    if (left->isRounded())
      scaleSums(sums);
  }
}

//===- The product --------------------------------------------------------===//

/// Finds the powers of two of rows that are rounded as they are staged.
void GpuMatrices::scaleRows() {
  const GpuMatrixStaging::End end = endOfRows();
  if (loneRow) {
    e.onlyIf(areSeveral, [&] { left->scaleRows(end); }, [&] { loneRow->scaleRows(end); });
    loneRow->takeFactors();
  } else {
    left->scaleRows(end);
  }
  left->takeFactors();
}

llvm::SmallVector<Fragment> GpuMatrices::run() {
  placeSubgroup();
  placeSides();
  const GpuMatrixUnit::Type type = hasGroups ? unit.floats() : unit.type(Use::MatrixAcc);
  Value zero = unit.zero(type);
  for (int64_t i = 0; i < down * acrossAll(); ++i) {
    sums.push_back(unit.variable(type));
    e.store(sums.back(), zero);
  }
  if (left->isRounded())
    scaleRows();
  sumAll();
  return fragments;
}

} // namespace heddle
