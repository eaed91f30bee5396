//===- GpuMatrices.cpp - Products through matrix units --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GpuMatrices.h.
#include "GpuMatrices.h"

#include "GpuLoops.h"

#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;
using heddle::kernel::ContractOp;
using heddle::kernel::Fragment;

namespace heddle {

/// Words of a quad, rows of an invocation in a tile of many rows, rows of a panel.
static constexpr int64_t kQuad = 4, kRows = 8, kPanel = 16;

//===- Which kernels ------------------------------------------------------===//

bool isMatrixProduct(ContractOp op) { return !op.getRows() && op.readsWeights(); }

static DType elementOf(Value view) {
  return dtypeOf(cast<kernel::ViewType>(view.getType()).getElementType());
}

void placeMatrices(kernel::FuncOp func, const GpuTarget &target, GpuPlacement &placement) {
  if (!target.matrixTiles || !placement.block)
    return;
  const TileSizes &tiles = *target.matrixTiles;
  SmallVector<const MatrixShape *> shapes;
  int64_t columns = 0;
  func.walk([&](ContractOp op) {
    if (!isMatrixProduct(op))
      return;
    int64_t rows = op.getType().getDimSize(0);
    bool fits = rows == tiles.linearRows || rows == tiles.fewRows;
    shapes.push_back(fits ? target.matrixOf(elementOf(op.getLhs()), elementOf(op.getRhs()))
                          : nullptr);
    columns = std::max(columns, op.getType().getDimSize(1));
  });
  if (shapes.empty() || llvm::is_contained(shapes, nullptr))
    return;
  placement.matrix = shapes.front();
  placement.mostColumns = columns;
  placement.subgroup = target.subgroup;
}

bool multipliesMatrices(kernel::FuncOp func, const GpuTarget &target) {
  FailureOr<GpuPlacement> placement = placeInvocations(func);
  if (succeeded(placement)) // a lowering reports the error
    placeMatrices(func, target, *placement);
  return succeeded(placement) && placement->matrix;
}

//===- Sizes --------------------------------------------------------------===//

/// Quads from one row of sums to the next where `columns` of them go through workgroup memory.
static int64_t pitchOfSums(int64_t columns) { return columns / kQuad + 1; }

/// The array of a kernel: blocks of both sides, or a row of matrices of each subgroup.
static MatrixArray arrayOf(const GpuPlacement &placement, int64_t perWord) {
  const MatrixShape &shape = *placement.matrix;
  const int64_t pitch = placement.block / kQuad + 1, rows = placement.ty * placement.rows,
                inTeam = std::max<int64_t>(kQuad, placement.mostColumns / placement.tx) *
                         GpuMatrices::lanesAcross;
  const bool isForFew = placement.rows == 1;
  const int64_t teams = isForFew ? 1 : placement.ty * placement.tx / placement.subgroup,
                sums = teams * shape.m * pitchOfSums(isForFew ? placement.mostColumns : inTeam),
                staged = (rows + placement.mostColumns) * pitch;
  const int64_t unit = shape.k / perWord % kQuad == 0 ? kQuad : kQuad / 2;
  return {unit, std::max(sums, staged) * kQuad / unit};
}

static int64_t wordsElements(DType operands) { return formatOf(operands).perWord; }

GpuMatrices::GpuMatrices(GpuEmitter &emitter, ContractOp op)
    : e(emitter), builder(emitter.builder), loc(emitter.loc), op(op),
      shape(*emitter.placement.matrix), fragment(emitter.shapeOf(op.getType())),
      perWord(wordsElements(shape.operands)), block(emitter.placement.block),
      array(arrayOf(emitter.placement, perWord)) {}

Type GpuMatrices::element() const {
  return sumsCodes() ? Type(builder.getIntegerType(8)) : Type(builder.getF16Type());
}

Type GpuMatrices::matrix(Use use) const {
  Type sum = sumsCodes() ? Type(builder.getI32Type()) : Type(builder.getF32Type());
  int64_t rows = use == Use::MatrixB ? shape.k : shape.m,
          columns = use == Use::MatrixA ? shape.k : shape.n;
  return spirv::CooperativeMatrixType::get(use == Use::MatrixAcc ? sum : element(), rows, columns,
                                           spirv::Scope::Subgroup, use);
}

Value GpuMatrices::pointer(Value entry) {
  return e.entry.shared(SharedArray::Matrices, VectorType::get({array.unit}, builder.getF32Type()),
                        array.entries, entry);
}

//===- Places -------------------------------------------------------------===//

/// Invocations of subgroups that multiply matrices are a block of a tile, four of them wide.
void GpuEmitter::placeInvocation() {
  auto quotient = [&](Value x, int64_t by) -> Value {
    return builder.createOrFold<arith::DivUIOp>(loc, x, constant(by));
  };
  auto rest = [&](Value x, int64_t by) -> Value {
    return builder.createOrFold<arith::RemUIOp>(loc, x, constant(by));
  };
  if (placement.matrix) {
    subgroup = entry.subgroup();
    lane = entry.lane();
    number = add(mul(subgroup, placement.subgroup), lane);
  } else {
    number = entry.invocation();
  }
  if (placement.matrix && placement.rows > 1) {
    int64_t across = placement.tx / GpuMatrices::lanesAcross,
            down = placement.subgroup / GpuMatrices::lanesAcross;
    tx = add(mul(rest(subgroup, across), GpuMatrices::lanesAcross),
             rest(lane, GpuMatrices::lanesAcross));
    ty = add(mul(quotient(subgroup, across), down), quotient(lane, GpuMatrices::lanesAcross));
  } else {
    tx = rest(number, placement.tx);
    ty = quotient(number, placement.tx);
  }
}

void GpuMatrices::placeTeam() {
  if (isForFew()) {
    across = columns() / shape.n;
    firstRow = firstColumn = e.constant(0);
    multiplies = e.compare(arith::CmpIPredicate::eq, e.subgroup, e.constant(0));
    return;
  }
  const int64_t inTeam = fragment.vectors * kQuad * lanesAcross,
                teams = e.placement.tx / lanesAcross,
                rowsOfTeam = e.placement.subgroup / lanesAcross * kRows;
  across = inTeam / shape.n;
  down = rowsOfTeam / shape.m;
  Value number = arith::DivUIOp::create(builder, loc, e.subgroup, e.constant(teams)),
        beside = arith::RemUIOp::create(builder, loc, e.subgroup, e.constant(teams));
  firstRow = e.mul(number, rowsOfTeam);
  firstColumn = e.mul(e.minimum(beside, e.constant(columns() / inTeam - 1)), inTeam);
}

/// Where a row of the tile lies among the staged ones.
Value GpuMatrices::rowInArray(Value row) {
  if (isForFew())
    return row;
  const int64_t below = e.placement.subgroup / lanesAcross, together = shape.m / below;
  auto part = [&](int64_t unit, int64_t count) -> Value {
    Value units = arith::DivUIOp::create(builder, loc, row, e.constant(unit));
    return count ? arith::RemUIOp::create(builder, loc, units, e.constant(count)) : units;
  };
  Value team = e.mul(part(kRows * below, 0), kRows * below),
        matrix = e.mul(part(together, kRows / together), shape.m),
        invocation = e.mul(part(kRows, below), together);
  return e.add(e.add(team, matrix), e.add(invocation, part(1, together)));
}

/// Rows that do not exist are copies of the last one.
void GpuMatrices::placeSides() {
  const BoundView leftView = e.view(op.getLhs()), rightView = e.view(op.getRhs());
  left.emplace(e, leftView, GpuMatrixStaging::Block{rows(), block / kQuad}, array);
  right.emplace(e, rightView, GpuMatrixStaging::Block{columns(), block / kQuad}, array);
  auto pitchOf = [](const BoundView &view) {
    return padded(view.type.getDims().back().pitch.value);
  };
  Value last = e.sub(leftView.extents.front(), e.constant(1)), first = e.scalar(op.getLhsIndex());
  left->placeRows(
      [&](Value row) {
        Value start = e.mul(e.minimum(e.add(first, row), last), pitchOf(leftView));
        return e.quadOf(leftView, {e.add(leftView.offset, start), 0});
      },
      [&](Value row) { return rowInArray(row); });
  right->placePanels(
      [&](Value panel) {
        Value column = e.add(e.scalar(op.getRhsIndex()), e.mul(panel, kPanel));
        Value start = e.mul(column, pitchOf(rightView));
        return e.quadOf(rightView, {e.add(rightView.offset, start), 0});
      },
      rows());
}

//===- Blocks -------------------------------------------------------------===//

/// Where the features of a row end, in words of memory.
GpuMatrixStaging::End GpuMatrices::endOfRows() {
  const BoundView &view = e.view(op.getLhs());
  const int64_t inWord = GpuEmitter::perWord(view), over = features() % inWord,
                stored = padded(view.type.getDims().back().pitch.value) / inWord;
  const uint32_t bits = over ? (uint32_t{1} << (32 / inWord * over)) - 1 : 0;
  return {stored, features() / inWord, bits};
}

int64_t GpuMatrices::features() { return e.view(op.getRhs()).type.getDims().back().extent.value; }

/// Loads the block that begins `first` words behind k = 0, the right side first.
void GpuMatrices::fetch(Value first, bool ends, Registers &loaded) {
  const int64_t stored = padded(e.view(op.getRhs()).type.getDims().back().pitch.value) / perWord;
  const GpuMatrixStaging::End ofRight{stored, stored, 0}, ofLeft = endOfRows();
  right->fetch(first, ends ? &ofRight : nullptr, loaded);
  left->fetch(first, ends ? &ofLeft : nullptr, loaded);
}

void GpuMatrices::store(ArrayRef<Value> loaded) {
  e.workgroup.barrier(); // all have read the last block
  right->store(loaded.take_front(right->loads()));
  Registers rowQuads(loaded.drop_front(right->loads()));
  if (sumsCodes())
    for (Value &quad : rowQuads)
      quad = asSigned(quad);
  left->store(rowQuads);
  e.workgroup.barrier();
}

/// One product of each matrix of the subgroup, `place` entries of the array into the block.
void GpuMatrices::multiplyStep(Value place) {
  const int64_t pitch = (block / kQuad + 1) * array.perQuad();
  Value stride = spirv::ConstantOp::create(builder, loc, builder.getI32Type(),
                                           builder.getI32IntegerAttr(pitch));
  auto load = [&](Use use, Value row, spirv::CooperativeMatrixLayoutKHR layout) -> Value {
    Value entry = e.add(e.mul(row, pitch), place);
    return spirv::KHRCooperativeMatrixLoadOp::create(builder, loc, matrix(use), pointer(entry),
                                                     layout, stride, spirv::MemoryAccessAttr(),
                                                     IntegerAttr());
  };
  Registers lefts;
  for (int64_t i = 0; i < down; ++i)
    lefts.push_back(load(Use::MatrixA, e.add(firstRow, e.constant(i * shape.m)),
                         spirv::CooperativeMatrixLayoutKHR::RowMajor));
  using Sign = spirv::CooperativeMatrixOperandsKHR;
  auto isSigned = spirv::CooperativeMatrixOperandsKHRAttr::get(
      builder.getContext(), Sign::ASigned | Sign::BSigned | Sign::CSigned | Sign::ResultSigned);
  for (int64_t j = 0; j < across; ++j) {
    Value row = e.add(firstColumn, e.constant(rows() + j * shape.n));
    Value b = load(Use::MatrixB, row, spirv::CooperativeMatrixLayoutKHR::ColumnMajor);
    for (int64_t i = 0; i < down; ++i) {
      Value variable = sums[i * across + j];
      Value c = spirv::LoadOp::create(builder, loc, variable);
      c = spirv::KHRCooperativeMatrixMulAddOp::create(
          builder, loc, c.getType(), lefts[i], b, c,
          sumsCodes() ? isSigned : spirv::CooperativeMatrixOperandsKHRAttr());
      spirv::StoreOp::create(builder, loc, variable, c);
    }
  }
}

/// Steps whose matrices a driver may load ahead: the more registers that takes, the fewer subgroups run
/// beside each other.
int64_t GpuMatrices::stepsAtOnce() {
  constexpr int64_t mostWords = 24; // of an invocation
  const int64_t words = (down * shape.m + across * shape.n) * shape.k / perWord;
  return llvm::bit_floor<uint64_t>(std::max<int64_t>(1, mostWords * e.placement.subgroup / words));
}

/// Drivers load matrices ahead of loops' ends, but not of fences.
void GpuMatrices::multiplySteps(Value place, int64_t steps) {
  const int64_t together = stepsAtOnce(), entries = shape.k / perWord / array.unit;
  for (int64_t i = 0; i < steps; ++i) {
    if (i && i % together == 0)
      spirv::MemoryBarrierOp::create(builder, loc, spirv::Scope::Subgroup,
                                     spirv::MemorySemantics::AcquireRelease |
                                         spirv::MemorySemantics::WorkgroupMemory);
    multiplyStep(e.add(place, e.constant(i * entries)));
  }
}

/// Steps are a loop where a block has many.
void GpuMatrices::multiply(int64_t words) {
  const int64_t inStep = shape.k / perWord, steps = words / inStep, entries = inStep / array.unit,
                together = stepsAtOnce(),
                looped = steps > 2 * together ? steps / together * together : 0;
  e.onlyIf(multiplies, [&] {
    Registers none;
    if (looped)
      e.loopOver(
          e.constant(0), e.constant(looped * entries), together * entries, none, [&](Value first) {
            builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, builder.getUnitAttr());
            multiplySteps(first, together);
          });
    multiplySteps(e.constant(looped * entries), steps - looped);
  });
}

/// The next block is loaded while one is multiplied. The last one may end behind the features, which
/// are zero there.
void GpuMatrices::sumBlocks() {
  const int64_t whole = features() / perWord / block * block,
                all = llvm::alignTo(features(), shape.k) / perWord;
  Registers weights(sumsCodes() ? right->loads() : 0, e.constant(0));
  if (whole) {
    Registers carried(weights);
    fetch(e.constant(0), false, carried);
    e.loopOver(e.constant(0), e.constant(whole), block, carried, [&](Value first) {
      builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, builder.getUnitAttr());
      Registers inside(ArrayRef<Value>(carried).take_front(weights.size())),
          loaded(ArrayRef<Value>(carried).drop_front(weights.size()));
      store(loaded);
      addWeights(loaded, inside);
      fetch(e.minimum(e.add(first, e.constant(block)), e.constant(whole - block)), false, inside);
      multiply(block);
      carried = std::move(inside);
    });
    carried.truncate(weights.size());
    weights = std::move(carried);
  }
  if (whole < all) {
    Registers loaded;
    fetch(e.constant(whole), true, loaded);
    store(loaded);
    addWeights(loaded, weights);
    multiply(all - whole);
  }
  exchange();
  if (sumsCodes())
    addBases(weights);
  if (left->isRounded())
    scaleSums();
}

//===- Sums ---------------------------------------------------------------===//

FailureOr<Fragment> GpuMatrices::run() {
  placeTeam();
  placeSides();
  Type type = matrix(Use::MatrixAcc);
  Type element = cast<spirv::CooperativeMatrixType>(type).getElementType();
  Value zero = spirv::ConstantOp::getZero(element, loc, builder);
  zero = spirv::CompositeConstructOp::create(builder, loc, type, zero);
  for (int64_t i = 0; i < down * across; ++i) {
    auto pointer = spirv::PointerType::get(type, spirv::StorageClass::Function);
    sums.push_back(spirv::VariableOp::create(builder, loc, pointer, spirv::StorageClass::Function,
                                             /*initializer=*/Value()));
    spirv::StoreOp::create(builder, loc, sums.back(), zero);
  }
  if (left->isRounded())
    left->scaleRows(endOfRows());
  sumBlocks();
  return fragment;
}

void GpuMatrices::scaleSums() {
  for (int64_t row = 0; row < fragment.rows; ++row) {
    Value scale = left->scaleOf(e.add(e.rowBase(), e.constant(row)));
    for (int64_t v = 0; v < fragment.vectors; ++v) {
      Value &sum = fragment.registers[row * fragment.vectors + v];
      sum = arith::MulFOp::create(builder, loc, sum, e.splat(scale, sum.getType()));
    }
  }
}

/// Stores a row of matrices at a time, and reads of it this invocation's rows.
void GpuMatrices::exchange() {
  const int64_t inTeam = across * shape.n, pitch = pitchOfSums(inTeam) * array.perQuad();
  Value base = isForFew() ? e.constant(0) : e.mul(e.subgroup, shape.m * pitch);
  Value stride = spirv::ConstantOp::create(builder, loc, builder.getI32Type(),
                                           builder.getI32IntegerAttr(pitch));
  for (int64_t i = 0; i < down; ++i) {
    e.workgroup.barrier();
    e.onlyIf(multiplies, [&] {
      for (int64_t j = 0; j < across; ++j) {
        Value sum = spirv::LoadOp::create(builder, loc, sums[i * across + j]);
        spirv::KHRCooperativeMatrixStoreOp::create(
            builder, loc, pointer(e.add(base, e.constant(j * shape.n / array.unit))), sum,
            spirv::CooperativeMatrixLayoutKHR::RowMajor, stride, spirv::MemoryAccessAttr(),
            IntegerAttr());
      }
    });
    e.workgroup.barrier();
    readRows();
  }
}

void GpuMatrices::readRows() {
  const int64_t inTeam = across * shape.n, pitch = pitchOfSums(inTeam),
                together = fragment.rows / down;
  Value row = e.ty, quad;
  if (isForFew()) {
    quad = e.minimum(e.tx, e.constant(columns() / kQuad - 1));
  } else {
    Value below = arith::DivUIOp::create(builder, loc, e.lane, e.constant(lanesAcross)),
          beside = arith::RemUIOp::create(builder, loc, e.lane, e.constant(lanesAcross));
    row = e.add(e.mul(e.subgroup, shape.m), e.mul(below, together));
    quad = e.mul(beside, fragment.vectors);
  }
  for (int64_t i = 0; i < together; ++i)
    for (int64_t v = 0; v < fragment.vectors; ++v) {
      Value place = e.add(e.mul(e.add(row, e.constant(i)), pitch), e.add(quad, e.constant(v)));
      Value sum = readQuad(place);
      fragment.registers.push_back(sumsCodes() ? e.asWords(sum) : sum);
    }
}

Value GpuMatrices::readQuad(Value quad) {
  Type entry = VectorType::get({array.unit}, builder.getF32Type());
  SmallVector<Value> words;
  for (int64_t part = 0; part < array.perQuad(); ++part) {
    Value read = e.workgroup.read(SharedArray::Matrices, entry, array.entries,
                                  e.add(e.mul(quad, array.perQuad()), e.constant(part)));
    if (array.unit == kQuad)
      return read;
    for (int64_t word = 0; word < array.unit; ++word)
      words.push_back(vector::ExtractOp::create(builder, loc, read, word));
  }
  return vector::FromElementsOp::create(builder, loc, e.vec4Type(), words);
}

//===- Bytes --------------------------------------------------------------===//

/// Rows hold 128 + code. The 128 are left out of products, and enter the sums at the end:
///
///   sum of row * weight  =  sum of code * weight  +  128 * sum of weight
Value GpuMatrices::asSigned(Value quad) {
  Value words = e.asWords(quad);
  return e.asFloats(
      arith::XOrIOp::create(builder, loc, words, e.wordConstant(0x80808080, words.getType())));
}

/// Adds the weights of the quads that this invocation copies.
void GpuMatrices::addWeights(ArrayRef<Value> loaded, Registers &weights) {
  auto packed = spirv::PackedVectorFormatAttr::get(
      builder.getContext(), spirv::PackedVectorFormat::PackedVectorFormat4x8Bit);
  for (auto [sum, quad] : llvm::zip(weights, loaded)) {
    Value words = e.asWords(quad);
    for (int64_t word = 0; word < kQuad; ++word) {
      Value four = vector::ExtractOp::create(builder, loc, words, word);
      sum = e.add(sum, spirv::SDotOp::create(builder, loc, builder.getI32Type(), four,
                                             e.constant(0x01010101), packed));
    }
  }
}

/// The quads of a column are those of several invocations, which add up what each has seen.
void GpuMatrices::addBases(Registers &weights) {
  constexpr int64_t base = 128;
  const int64_t quads = block / kQuad;
  Type entry = VectorType::get({array.unit}, builder.getF32Type());
  e.workgroup.barrier();
  for (auto [copy, sum] : llvm::enumerate(weights)) {
    Value word = e.add(e.mul(right->quadOf(copy), columns()), right->lineOf(copy));
    Value place = arith::DivUIOp::create(builder, loc, word, e.constant(array.unit)),
          lane = arith::RemUIOp::create(builder, loc, word, e.constant(array.unit));
    e.workgroup.write(SharedArray::Matrices, entry, array.entries, place,
                      e.asFloats(e.mul(sum, base)), lane);
  }
  e.workgroup.barrier();
  Value first = e.quarter(e.columnBase(columns()));
  for (int64_t v = 0; v < fragment.vectors; ++v) {
    Value all;
    for (int64_t quad = 0; quad < quads; ++quad) {
      Value place = e.add(first, e.constant(quad * columns() / kQuad + v));
      Value part = e.asWords(readQuad(place));
      all = all ? arith::AddIOp::create(builder, loc, all, part).getResult() : part;
    }
    for (int64_t row = 0; row < fragment.rows; ++row) {
      Value &sum = fragment.registers[row * fragment.vectors + v];
      sum = arith::AddIOp::create(builder, loc, sum, all);
    }
  }
}

} // namespace heddle
