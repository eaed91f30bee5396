//===- CpuProduct.cpp - Products on the CPU -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of product strategies, and the code they share: the unrolled loop over k, packed B, and
// guarded products. A guarded product runs the fast chain first. If the result is not finite, it
// runs again and omits products of a zero and a non-finite value. A finite result proves that there
// were none.
//
// Formats of B that cost instructions before they can be multiplied are packed into scratch if many
// row fragments read B. The last rows of a tile, which use a smaller register tile, read the view.

#include "CpuProduct.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- The strategies ----------------------------------------------------===//

const ProductStrategy &heddle::kernel::chooseStrategy(ProductOpInterface op,
                                                      const CpuTarget &target) {
  static const ProductStrategy f32 = strategyOf<CpuProduct>();
  static const ProductStrategy *const strategies[] = {
      &commonRows, &int8Matrices, &bf16Matrices, &int8Pairs,     &int8Dot4, &int4, &groupBytes,
      &keptAsBf16, &bf16Widened,  &bf16Dot2,     &f16Accumulate, &widened,  &f32};
  for (const ProductStrategy *strategy : strategies)
    if (strategy->accepts(op, target))
      return *strategy;
  llvm_unreachable("the last one accepts everything");
}

CpuProduct &CpuEmitter::product(ProductOpInterface op) {
  std::unique_ptr<CpuProduct> &known = products[op];
  if (!known)
    known = chooseStrategy(op, target).make(*this, op);
  return *known;
}

//===- The chain ---------------------------------------------------------===//

Value CpuProduct::multiplyAdd(Value a, Value b, Value c, bool guarded) {
  Value sum;
  if (e.target.fusedMultiplyAdd)
    sum = math::FmaOp::create(builder, loc, a, b, c);
  else
    sum = arith::AddFOp::create(builder, loc, arith::MulFOp::create(builder, loc, a, b), c);
  return guarded ? leaveOut(a, b, c, sum) : sum;
}

/// Emits one loop that carries the accumulators. Each element is one chain in ascending order of k.
Registers CpuProduct::emitChain(const Chain &chain, Registers sums) {
  const Fragment &shape = chain.shape;
  auto emitStep = [&](Value k, int64_t unrolled) {
    Registers b;
    for (int64_t j = 0; j < shape.vectors; ++j)
      b.push_back(chain.right(k, j, unrolled));
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value a = chain.left(k, row, unrolled);
      a = e.splat(a, VectorType::get({width}, a.getType()));
      for (int64_t j = 0; j < shape.vectors; ++j) {
        Value &sum = sums[row * shape.vectors + j];
        sum = step(a, b[j], sum, chain.guarded);
      }
    }
  };
  auto loop = [&](Value begin, Value end, int64_t steps) {
    e.loopOver(begin, end, steps, sums, [&](Value k) {
      if (chain.atStep && steps > chain.grain)
        chain.atStep(k);
      for (int64_t u = 0; u < steps; ++u)
        emitStep(k, u);
    });
  };
  // Emits whole unrolled steps, then the remainder, with the same code for each k.
  std::optional<int64_t> first = e.constantOf(chain.from), end = e.constantOf(chain.to);
  if (first && end) {
    int64_t whole = *first + (*end - *first) / chain.unroll * chain.unroll;
    if (whole > *first)
      loop(e.constant(*first), e.constant(whole), chain.unroll);
    for (int64_t k = whole; k < *end; k += chain.grain)
      for (int64_t u = 0; u < chain.grain; ++u)
        emitStep(e.constant(k), u);
    return sums;
  }
  Value count = e.sub(chain.to, chain.from);
  Value whole =
      e.add(chain.from, arith::AndIOp::create(builder, loc, count, e.constant(-chain.unroll)));
  loop(chain.from ? chain.from : e.constant(0), whole, chain.unroll);
  loop(whole, chain.to, chain.grain);
  return sums;
}

//===- Over features -----------------------------------------------------===//

Value CpuProduct::columnsInView() {
  const int64_t columns = CpuEmitter::columnsOf(op.getType());
  Value all = e.constant(columns), left = e.loops.columnsLeft(*op, columns);
  return left ? e.maximum(e.minimum(left, all), e.constant(0)) : all;
}

SmallVector<Address> CpuProduct::rowsOf(const BoundView &view, const Fragment &shape) {
  Fragment column;
  column.rows = shape.rows;
  Value first = e.add(e.scalar(op.getLhsIndex()),
                      shape.rows > 1 || e.loops.plan.tileRows > 1 ? e.loops.at.row : Value());
  return e.places(view, view.offset, first, Value(), column, 1);
}

Value CpuProduct::wordsOf(Value features) {
  const int64_t together = this->together();
  return together == 1 ? features
                       : builder.createOrFold<arith::DivUIOp>(
                             loc, e.add(features, e.constant(together - 1)), e.constant(together));
}

/// k counts words where several features of a word are multiplied at once (bf16, i8). If B is
/// decoded, k counts features, in whole words: an incomplete last word is padded with zeros.
Registers CpuProduct::overFeatures(const Fragment &shape, Registers sums, Value from, Value to) {
  Chain chain{shape, from, to, {}, isPacked() ? loadPacked(shape) : loadB(shape), {}};
  chain.unroll = isPacked() ? 8 : unrolled();
  chain.grain = together() / perStep();
  int64_t counted = perStep();
  const BoundView left = this->left();
  SmallVector<Address> rows = leftRows(shape);
  const bool isEntered = prepared.has_value();
  if (!isEntered)
    prepareRows(from, to);
  Value begin = prepared ? packedRow(from) : Value();
  chain.left = [&, this](Value k, int64_t r, int64_t u) {
    if (prepared)
      return e.loadAt(prepared->base,
                      e.moved({e.sub(k, begin), 0}, Value(), r * prepared->columns + featureAt(u)),
                      prepared->element, prepared->element);
    Address place = e.moved(rows[r], e.mul(k, counted), u * counted);
    return counted == 1 ? e.loadScalars(left, place, 1).front() : e.loadWord(left, place);
  };
  Value first = wordsOf(from), last = wordsOf(to);
  sums = readsByPanel(shape) ? sumByPanel(chain, sums, first, last)
                             : sumFeatures(std::move(chain), std::move(sums), first, last);
  if (prepared && !isEntered) {
    e.scratch.release(*prepared);
    leaveRows();
  }
  return sums;
}

/// Whether few rows read their columns one panel after another. The keys of a head have few
/// features, so each panel ends within a page or two. Reading panels in parallel gives the hardware
/// prefetcher many short streams; reading them in sequence gives it one long stream.
bool CpuProduct::readsByPanel(const Fragment &shape) {
  return readsOnce(shape) && shape.vectors * width > 16;
}

bool CpuProduct::readsOnce(const Fragment &shape) {
  const CpuPlan &plan = e.loops.plan;
  return !op.readsWeights() && (shape.rows < plan.fragment.rows || plan.hasOneLarge());
}

Registers CpuProduct::sumByPanel(const Chain &chain, const Registers &sums, Value first,
                                 Value last) {
  const Fragment &shape = chain.shape;
  Fragment panel;
  panel.rows = shape.rows;
  panel.vectors = 16 / width;
  Registers result(sums);
  for (int64_t start = 0; start < shape.vectors; start += panel.vectors) {
    Chain part{panel,
               chain.from,
               chain.to,
               chain.left,
               [&](Value k, int64_t j, int64_t u) { return chain.right(k, start + j, u); },
               {}};
    part.unroll = chain.unroll;
    part.grain = chain.grain;
    Registers own;
    for (int64_t i = 0; i < panel.size(); ++i)
      own.push_back(sums[i / panel.vectors * shape.vectors + start + i % panel.vectors]);
    own = sumFeatures(std::move(part), std::move(own), first, last);
    for (int64_t i = 0; i < panel.size(); ++i)
      result[i / panel.vectors * shape.vectors + start + i % panel.vectors] = own[i];
  }
  return result;
}

Registers CpuProduct::sumFeatures(Chain chain, Registers sums, Value first, Value last) {
  fetchMeanwhile(chain, first, last);
  chain.from = e.mul(first, chain.grain);
  chain.to = e.mul(last, chain.grain);
  return emitChain(chain, std::move(sums));
}

void CpuProduct::fetchMeanwhile(Chain &chain, Value first, Value last) {
  CpuPrefetch prefetch(e, op, chain.shape, chain.to, first, last, fetchesNextPanels());
  int64_t words = chain.unroll / chain.grain;
  Value grain = e.constant(chain.grain);
  chain.atStep = [=, this](Value k) mutable {
    prefetch.atStep(builder.createOrFold<arith::DivUIOp>(loc, k, grain), words);
  };
}

/// A single row may have many features, and several products would hold it in scratch at once, so it
/// is not prepared here.
void CpuProduct::enterRows(Value from, Value to) {
  if (!e.loops.isOneRow())
    prepareRows(from, to);
}

void CpuProduct::prepareRows(Value from, Value to) {
  const BoundView left = this->left();
  if (!decodes() || CpuEmitter::perWord(left) == 1)
    return;
  Fragment shape;
  shape.rows = e.loops.at.rows;
  SmallVector<Address> places = leftRows(shape);
  TileMemory memory;
  memory.rows = shape.rows;
  memory.columns = padded(e.isWholeRow(op) ? wholeFeatures() : packedFeatures());
  memory.element = builder.getF32Type();
  e.scratch.place(memory);
  OpBuilder::InsertionGuard guard(builder);
  Value feature = e.loopBy(from, to, 16).getInductionVar();
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t lane = 0; lane < 16; lane += width)
      e.storeAt(e.widened(e.loadVector(left, e.moved(places[row], feature, lane)),
                          left.type.getElementType(), Value()),
                memory.base,
                e.moved({e.sub(feature, from), 0}, Value(), row * memory.columns + lane),
                memory.element);
  prepared = memory;
}

void CpuProduct::sumAhead() {
  Value rows = e.loops.rows(), isSummed;
  if (matricesFrom() > 1)
    isSummed = e.compare(arith::CmpIPredicate::sge, rows, e.constant(matricesFrom()));
  ahead = {isSummed, e.allocate(op.getType(), /*allRows=*/true)};
  OpBuilder::InsertionGuard guard(builder);
  if (isSummed)
    e.enterIf(isSummed);
  sumMatrices(ahead->sums, rows);
}

//===- Over rows ---------------------------------------------------------===//

CpuProduct::RowPart CpuProduct::sumRows(const Fragment &shape, const TileMemory &left) {
  Operand b = isPacked() ? loadPacked(shape) : loadB(shape);
  Operand a = [this, &left](Value k, int64_t r, int64_t u) {
    return e.loadAt(left.base, e.placeIn(left, r, k, u), builder.getF32Type(), left.element);
  };
  return [=, this, &shape](Value begin, Value end, Registers sums, bool guarded) {
    return emitChain({shape, begin, end, a, b, {}, guarded ? 1 : 4, 1, guarded}, std::move(sums));
  };
}

/// Sums the visited rows of the op's range from zero. If the result is not finite, sums them again
/// with guards.
Registers CpuProduct::overRows(const Fragment &shape, const TileMemory &left) {
  RowPart part = sumRows(shape, left);
  Registers zeros(shape.size(), e.zeroVector());
  const RowRange range = visitedRange();
  Value from = range.from ? e.scalar(range.from) : e.constant(0), count = e.scalar(range.to);
  auto product = [&](bool guarded) {
    if (!range.visited)
      return part(from, count, zeros, guarded);
    return overVisited(from, count, zeros, [&](Value begin, Value end, Registers sums) {
      return part(begin, end, std::move(sums), guarded);
    });
  };
  Registers sums =
      ahead ? e.readFragment(ahead->sums, op.getType()).registers : product(/*guarded=*/false);
  if (!cast<ContractRowsOp>(*op).getGuarded())
    return sums;
  return e.ifVisited(anyNotFinite(sums), sums, [&] { return product(/*guarded=*/true); });
}

/// Emits the chain over the visited tiles of [from, to), in ascending order.
Registers CpuProduct::overVisited(Value from, Value to, ValueRange start,
                                  function_ref<Registers(Value, Value, Registers)> part) {
  const RowRange range = visitedRange();
  Value tile = e.constant(range.visitTile);
  Value first = e.mul(arith::DivUIOp::create(builder, loc, from, tile), tile);
  auto loop = scf::ForOp::create(builder, loc, first, to, tile, start);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value begin = loop.getInductionVar();
  Value end = e.minimum(e.add(begin, tile), to);
  Value bit = e.visitBit(range.visited, range.visitTile, begin);
  Registers next = e.ifVisited(bit, loop.getRegionIterArgs(), [&] {
    return part(e.maximum(begin, from), end, Registers(loop.getRegionIterArgs()));
  });
  scf::YieldOp::create(builder, loc, next);
  return Registers(loop.getResults());
}

/// Whether any value is not finite: x * 0 is 0 or NaN, and NaN survives the sum. Four sums hide the
/// latency of the additions.
Value CpuProduct::anyNotFinite(ArrayRef<Value> registers) {
  Value zero = e.zeroVector();
  Registers sums(4, zero);
  auto addTo = [&](Value &sum, Value value) {
    sum = arith::AddFOp::create(builder, loc, value, sum);
  };
  for (auto [i, value] : llvm::enumerate(registers))
    addTo(sums[i % sums.size()], arith::MulFOp::create(builder, loc, value, zero));
  addTo(sums[0], sums[1]);
  addTo(sums[2], sums[3]);
  addTo(sums[0], sums[2]);
  Value sum = sums[0];
  Value lanes = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, sum, sum);
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, lanes);
}

/// Returns `kept` where a is zero and b is not finite, else `sum`.
Value CpuProduct::leaveOut(Value a, Value b, Value kept, Value sum) {
  auto type = cast<VectorType>(b.getType());
  auto bits = VectorType::get(type.getShape(), builder.getI32Type());
  Value exponent =
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(bits, 0x7f800000));
  Value field = arith::AndIOp::create(builder, loc, arith::BitcastOp::create(builder, loc, bits, b),
                                      exponent);
  Value notFinite = e.compare(arith::CmpIPredicate::eq, field, exponent);
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, e.zeroVector());
  Value both = arith::AndIOp::create(builder, loc, notFinite, isZero);
  return e.select(both, kept, sum);
}

//===- Packed B ----------------------------------------------------------===//

/// Number of features, rounded up to whole words.
int64_t CpuProduct::wholeFeatures() { return (features() + word() - 1) / word() * word(); }

Value CpuProduct::packedRow(Value feature) {
  const int64_t features = perPackedRow();
  return features == 1 ? feature : e.mul(wordsOf(feature), together() / features);
}

/// Features of a packed panel, rounded up to whole words.
int64_t CpuProduct::packedFeatures() {
  int64_t whole = wholeFeatures();
  return e.isBlocked(*op) ? std::min(e.plan.getBlock(), whole) : whole;
}

std::optional<TileMemory> CpuProduct::decodedForm() {
  constexpr int64_t mostElements = 64 << 10;
  TileMemory form;
  form.columns = CpuEmitter::columnsOf(op.getType());
  form.rows = op.isOverRows() ? CpuEmitter::columnsOf(op.getLhs().getType()) : packedFeatures();
  form.element = builder.getF32Type();
  return form.rows * form.columns > mostElements ? std::nullopt : std::optional(form);
}

/// Packs B if the large register tile runs at all; tiles that a mask does not visit stay
/// uninitialized. A tile with at most one large fragment reads B once or twice and does not pack.
void CpuProduct::pack(Value from, Value to) {
  std::optional<TileMemory> form = packedForm();
  if (!form || e.loops.plan.hasOneLarge())
    return;
  e.scratch.place(*form);
  packed = {*form, from ? packedRow(from) : Value()};
  OpBuilder::InsertionGuard guard(builder);
  e.enterIf(e.loops.readsPacked());
  const RowRange range = op.getRange();
  Value first = range.from ? e.scalar(range.from) : e.constant(0);
  if (op.isOverRows())
    return forVisited(first, e.scalar(range.to),
                      [&](Value begin, Value end) { packRows(*form, begin, end); });
  forVisited(first, columnsInView(), [&](Value begin, Value end) {
    packPanels(*form, {begin, end}, from ? packedRow(from) : e.constant(0),
               to ? packedRow(to) : e.constant(form->rows));
  });
}

void CpuProduct::releasePacked() {
  if (packed)
    e.scratch.release(packed->memory);
  if (packedLeft)
    e.scratch.release(*packedLeft);
}

void CpuProduct::release() {
  if (partialSums)
    e.scratch.release(*partialSums);
  if (ahead)
    e.scratch.release(ahead->sums);
  releasePacked();
}

void CpuProduct::forVisited(Value from, Value to, function_ref<void(Value begin, Value end)> part) {
  const RowRange range = visitedRange();
  if (!range.visited)
    return part(from, to);
  int64_t tile = range.visitTile;
  OpBuilder::InsertionGuard guard(builder);
  Value begin = e.loopBy(from, to, tile).getInductionVar();
  e.enterIf(e.visitBit(range.visited, tile, begin));
  part(begin, e.minimum(e.add(begin, e.constant(tile)), to));
}

//===- Scales of codes ----------------------------------------------------===//

Value CpuProduct::scalesOfPanel(Value column, int64_t lane) {
  if (!op.getKeptScales())
    return {};
  const BoundView scales = e.view(op.getKeptScales());
  Value first = e.add(e.add(scales.offset, e.scalar(op.getRhsIndex())), column);
  return e.loadVector(scales, {first, lane});
}

Registers CpuProduct::scalesOfColumns(const Fragment &shape) {
  int64_t columns = CpuEmitter::columnsOf(op.getType());
  Registers scales;
  for (int64_t j = 0; j < shape.vectors; ++j)
    scales.push_back(scalesOfPanel(e.columnBase(columns), e.vectorColumn(j, columns)));
  return scales;
}

Value CpuProduct::scaleOfRow(Value row) {
  if (!op.getKeptScales())
    return {};
  const BoundView scales = e.view(op.getKeptScales());
  Value place = e.add(e.add(scales.offset, e.scalar(op.getRhsIndex())), row);
  return e.splat(e.loadScalars(scales, {place, 0}, 1).front(),
                 VectorType::get({width}, builder.getF32Type()));
}

CpuProduct::Operand CpuProduct::loadB(const Fragment &shape) {
  int64_t step = 0;
  SmallVector<Address> places = e.rightPlaces(op, shape, step);
  return [=, this](Value k, int64_t j, int64_t u) {
    Address place = e.moved(places[j], e.mul(k, step), u * step);
    if (op.isOverRows())
      fetchRows(shape, place, step, j, /*rows=*/1);
    return word() == 1 || op.isOverRows() ? e.loadVector(right(), place)
                                          : e.loadWords(right(), place);
  };
}

/// Packed B has shape [rows][columns] in products over rows, else panels [c/16][k][16] that start
/// at feature `packed->from`.
CpuProduct::Operand CpuProduct::loadPacked(const Fragment &shape) {
  const TileMemory memory = packed->memory;
  int64_t columns = CpuEmitter::columnsOf(op.getType()), depth = op.isOverRows() ? 1 : memory.rows,
          step = op.isOverRows() ? memory.columns : 16;
  SmallVector<Address> places;
  Address start = e.moved({Value(), 0}, e.mul(e.columnBase(columns), depth));
  if (packed->from)
    start = e.moved(start, e.mul(e.sub(Value(), packed->from), step));
  for (int64_t j = 0; j < shape.vectors; ++j) {
    int64_t column = e.vectorColumn(j, columns);
    places.push_back(
        e.moved(start, Value(), op.isOverRows() ? column : column / 16 * 16 * depth + column % 16));
  }
  return [=, this](Value k, int64_t j, int64_t u) {
    return e.loadAt(memory.base, e.moved(places[j], e.mul(k, step), u * step),
                    VectorType::get({width}, memory.element), memory.element);
  };
}
