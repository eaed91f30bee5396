//===- CpuContract.cpp - Contractions on the CPU -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Views times panels, with the next panels fetched meanwhile, and a tile of
// scratch times rows of a view. The latter may be guarded: the fast chain is run
// first; where its result is not finite, it is run again with the products of a
// zero and a non-finite value left out. A finite result proves that there were none.
//
// Of bf16, the loop over k goes by words of two elements: two features of panels, or two rows of
// a view (CpuPairs.cpp); of two f16 where they are summed as such (CpuHalfSums.cpp). Of i8 it goes by
// words of four features.
//
//===----------------------------------------------------------------------===//

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===----------------------------------------------------------------------===//
// Multiply-add
//===----------------------------------------------------------------------===//

/// `kept` where a is zero and b is not finite, else `sum`.
Value CpuEmitter::leaveOut(Value a, Value b, Value kept, Value sum) {
  auto type = cast<VectorType>(b.getType());
  auto bits = VectorType::get(type.getShape(), builder.getI32Type());
  Value exponent =
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(bits, 0x7f800000));
  Value field = arith::AndIOp::create(builder, loc, arith::BitcastOp::create(builder, loc, bits, b),
                                      exponent);
  Value notFinite = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, field, exponent);
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, zeroVector());
  Value both = arith::AndIOp::create(builder, loc, notFinite, isZero);
  return arith::SelectOp::create(builder, loc, both, kept, sum);
}

Value CpuEmitter::multiplyAdd(Value a, Value b, Value c) {
  Value sum;
  if (target.fusedMultiplyAdd)
    sum = math::FmaOp::create(builder, loc, a, b, c);
  else
    sum = arith::AddFOp::create(builder, loc, arith::MulFOp::create(builder, loc, a, b), c);
  return guarding ? leaveOut(a, b, c, sum) : sum;
}

/// One instruction where there is one; while guarding, products are looked at one by one.
Value CpuEmitter::multiplyAddPair(Value a, Value b, Value c) {
  if (getElementTypeOrSelf(c.getType()).isF16())
    return multiplyAddHalves(a, b, c);
  if (!target.pairProducts || guarding)
    return BodyEmitter::multiplyAddPair(a, b, c);
  auto pairs = VectorType::get({2 * width}, builder.getBF16Type());
  SmallVector<Value> operands{c, vector::BitCastOp::create(builder, loc, pairs, a),
                              vector::BitCastOp::create(builder, loc, pairs, b)};
  return LLVM::CallIntrinsicOp::create(builder, loc, c.getType(),
                                       builder.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                       operands)
      .getResult(0);
}

/// vscalefps is exact where the result is no denormal.
Value CpuEmitter::scaleByPower(Value x, Value n) {
  auto floats = dyn_cast<VectorType>(x.getType());
  if (!floats || target.lanes != 16)
    return BodyEmitter::scaleByPower(x, n);
  Value low = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(floats, -125.0f));
  Value kept = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGE, n, low);
  kept = LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), kept);
  SmallVector<Value> operands{x, n, zeroVector(), kept,
                              wordConstant(4, builder.getI32Type())}; // the current rounding
  return LLVM::CallIntrinsicOp::create(builder, loc, floats,
                                       builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                       operands)
      .getResult(0);
}

/// To bf16 or f16, as 16 bits, or the low byte of integers.
Value CpuEmitter::narrow(Value value, Type element) {
  if (element.isF16())
    return narrowedToHalf(value);
  auto type = cast<VectorType>(value.getType());
  if (element.isInteger(8))
    return arith::TruncIOp::create(builder, loc, VectorType::get(type.getShape(), element), value);
  auto bits = VectorType::get(type.getShape(), builder.getI16Type());
  if (target.pairProducts) {
    auto rounded = VectorType::get(type.getShape(), builder.getBF16Type());
    Value made = LLVM::CallIntrinsicOp::create(
                     builder, loc, rounded,
                     builder.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"), value)
                     .getResult(0);
    return arith::BitcastOp::create(builder, loc, bits, made);
  }
  Value words = roundedWords(value);
  words = arith::ShRUIOp::create(builder, loc, words, wordConstant(16, words.getType()));
  return arith::TruncIOp::create(builder, loc, bits, words);
}

/// x * 0 is 0 or NaN: the sum over all registers tells. Four sums, so that none waits long.
Value CpuEmitter::anyNotFinite(ArrayRef<Value> registers) {
  Value zero = zeroVector();
  SmallVector<Value> sums(4, zero);
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

//===----------------------------------------------------------------------===//
// The two products
//===----------------------------------------------------------------------===//

SmallVector<Place> CpuEmitter::leftRows(ContractOp op, const Fragment &shape) {
  const BoundView left = view(op.getLhs());
  Fragment column;
  column.rows = shape.rows;
  Value first = add(scalar(op.getLhsIndex()), shape.rows > 1 || plan.tileRows > 1 ? row : Value());
  return places(left, left.offset, first, Value(), column, 1);
}

SmallVector<Value> CpuEmitter::contractViews(ContractOp op, const Fragment &shape,
                                             SmallVector<Value> sums, Value from, Value to) {
  const BoundView right = view(op.getRhs());
  const PreparedSide *side = preparedSide(op);
  if (isWidened(op) && !side)
    return isNibbles(op) ? contractNibbles(op, shape, std::move(sums), from, to)
                         : contractHalves(op, shape, std::move(sums), from, to);
  int64_t step = 0;
  SmallVector<Place> panelPlaces =
      side ? preparedPlaces(op, shape, step) : rightPlaces(op, shape, step);
  auto loadRight = [&](Value k, int64_t j, int64_t u) {
    Place place = moved(panelPlaces[j], mul(k, step), u * step);
    if (side)
      return loadPrepared(*side, place);
    return perWord(right) == 1 ? loadVector(right, place) : loadWords(right, place, true);
  };
  return overFeatures(op, shape, std::move(sums), from, to, loadRight, isWidened(op) ? 8 : 4);
}

/// The chain over the features [from, to), and the next panels fetched meanwhile. Where several
/// features lie in a word, k counts the words (bf16, i8), or it counts the features and goes by whole
/// words (f16, i4): the last of an incomplete word have zeros of padding beside them.
SmallVector<Value> CpuEmitter::overFeatures(ContractOp op, const Fragment &shape,
                                            SmallVector<Value> sums, Value from, Value to,
                                            RightSide right, int64_t unroll) {
  const BoundView left = view(op.getLhs());
  SmallVector<Place> leftPlaces = leftRows(op, shape);
  int64_t word = perWord(view(op.getRhs())), grain = isWidened(op) ? word : 1,
          counted = word / grain;
  std::optional<TileMemory> leftWidened;
  if (isWidened(op) && left.type.getElementType().isF16())
    leftWidened = widenLeftRows(op, shape, from, to);
  auto loadLeft = [&](Value k, int64_t r, int64_t u) {
    if (leftWidened)
      return loadAt(leftWidened->base,
                    moved({sub(k, from), 0}, Value(), r * leftWidened->columns + u),
                    leftWidened->element, leftWidened->element);
    Place place = moved(leftPlaces[r], mul(k, counted), u * counted);
    return counted == 1 ? loadScalars(left, place, 1).front() : loadWords(left, place, false);
  };
  auto words = [&](Value features) {
    return word == 1 ? features
                     : builder.createOrFold<arith::DivUIOp>(loc, add(features, constant(word - 1)),
                                                            constant(word));
  };
  Value first = words(from), last = words(to);
  if (word == 4 && shape.rows == 1)
    return contractRowOfQuads(op, shape, std::move(sums), first, last);
  FetchedMeanwhile fetched = fetchedMeanwhile(op, shape, from, to, first, last);
  auto atStep = [&](Value k) {
    fetchMeanwhile(op, fetched, grain == 1 ? k : words(k), unroll / grain);
  };
  Operands operands{loadLeft, right, atStep, grain};
  if (sumsHalves(op))
    return sumInHalves(shape, std::move(sums), first, words(sub(to, from)), operands);
  sums = emitChain(shape, std::move(sums), mul(first, grain), mul(last, grain), operands, unroll);
  if (leftWidened)
    release(*leftWidened);
  return sums;
}

/// The left tile of a product over rows, in memory.
FailureOr<TileMemory> CpuEmitter::leftTile(ContractOp op) {
  Value tile = op.getLhs();
  if (const TileMemory *memory = memoryOf(tile))
    return *memory;
  if (isWide(cast<RankedTensorType>(tile.getType())))
    return op.emitOpError("expected the left tile in scratch, found one that is in no memory");
  FailureOr<Fragment> fragment = use(tile);
  if (failed(fragment))
    return failure();
  TileMemory memory = allocate(tile.getType(), /*allRows=*/false);
  writeFragment(memory, *fragment, tile.getType());
  return memory;
}

/// The chain over the visited tiles of [from, to), ascending.
SmallVector<Value> CpuEmitter::overVisited(ContractOp op, Value from, Value to, ValueRange start,
                                           ChainPart part) {
  Value tile = constant(*op.getVisitTile());
  Value first = mul(arith::DivUIOp::create(builder, loc, from, tile), tile);
  auto loop = scf::ForOp::create(builder, loc, first, to, tile, start);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value begin = loop.getInductionVar();
  Value end = minimum(add(begin, tile), to);
  Value bit = visitBit(op.getVisited(), *op.getVisitTile(), begin);
  SmallVector<Value> next = ifVisited(bit, loop.getRegionIterArgs(), [&] {
    return part(maximum(begin, from), end, SmallVector<Value>(loop.getRegionIterArgs()));
  });
  scf::YieldOp::create(builder, loc, next);
  return SmallVector<Value>(loop.getResults());
}

/// What `product` computes under a condition, else `otherwise`.
SmallVector<Value> CpuEmitter::ifVisited(Value condition, ValueRange otherwise,
                                         llvm::function_ref<SmallVector<Value>()> product) {
  auto branch =
      scf::IfOp::create(builder, loc, otherwise.getTypes(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, otherwise);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, product());
  return SmallVector<Value>(branch.getResults());
}

/// The chain, and once more with care where its result is not finite.
SmallVector<Value>
CpuEmitter::guarded(ContractOp op, llvm::function_ref<SmallVector<Value>(int64_t unroll)> chain) {
  SmallVector<Value> sums = chain(4);
  if (!op.getGuarded())
    return sums;
  SmallVector<Type> types(ValueRange(sums).getTypes());
  auto branch = scf::IfOp::create(builder, loc, types, anyNotFinite(sums), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, sums);
  builder.setInsertionPointToStart(branch.thenBlock());
  guarding = true;
  SmallVector<Value> again = chain(1);
  guarding = false;
  scf::YieldOp::create(builder, loc, again);
  return SmallVector<Value>(branch.getResults());
}

/// Sums from zero over the rows of the op's range that are visited, `part` after `part`.
SmallVector<Value> CpuEmitter::overRows(ContractOp op, const Fragment &shape, RowPart part) {
  SmallVector<Value> zeros(shape.size(), zeroVector());
  Value from = op.getFrom() ? scalar(op.getFrom()) : constant(0), count = scalar(op.getRows());
  return guarded(op, [&](int64_t unroll) {
    if (!op.getVisited())
      return part(from, count, zeros, unroll);
    return overVisited(op, from, count, zeros,
                       [&](Value begin, Value end, SmallVector<Value> sums) {
                         return part(begin, end, std::move(sums), unroll);
                       });
  });
}

SmallVector<Value> CpuEmitter::contractTile(ContractOp op, const TileMemory &left,
                                            const Fragment &shape) {
  int64_t step = 0;
  const BoundView right = view(op.getRhs());
  const PreparedSide *side = preparedSide(op);
  SmallVector<Place> rowPlaces =
      side ? preparedPlaces(op, shape, step) : rightPlaces(op, shape, step);
  auto loadLeft = [&](Value k, int64_t r, int64_t u) {
    return loadAt(left.base, placeIn(left, r, k, u), builder.getF32Type(), left.element);
  };
  auto loadRight = [&](Value k, int64_t j, int64_t u) {
    Place place = moved(rowPlaces[j], mul(k, step), u * step);
    if (side)
      return loadPrepared(*side, place);
    Value values = loadVector(right, place);
    return isHalf(op) ? widened(values) : values;
  };
  Operands operands{loadLeft, loadRight, {}};
  return overRows(op, shape, [&](Value begin, Value end, SmallVector<Value> sums, int64_t unroll) {
    return emitChain(shape, std::move(sums), begin, end, operands, unroll);
  });
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

LogicalResult CpuEmitter::emitContract(ContractOp op) {
  Fragment result = shapeOf(op.getType());
  if (!result.vectors)
    return op.emitOpError("expected a result of at least 16 columns");
  if (op.getRows()) {
    FailureOr<TileMemory> left = leftTile(op);
    if (failed(left))
      return failure(); // leftTile said why
    bool pairs = view(op.getRhs()).type.getElementType().isBF16();
    result.registers = pairs ? contractPairs(op, *left, result) : contractTile(op, *left, result);
  } else {
    const Size &features = view(op.getLhs()).type.getDims().back().extent;
    SmallVector<Value> zeros(result.size(), zeroSum(op)), start = zeros;
    int64_t from = 0;
    if (auto sums = partialSums.find(op); sums != partialSums.end()) {
      start = readFragment(sums->second, op.getType()).registers;
      from = lastBlock(op);
    }
    auto product = [&] {
      return contractViews(op, result, start, constant(from), constant(features.value));
    };
    if (op.getVisited() && columnBase(columnsOf(op.getType())))
      result.registers = ifVisited(
          visitBit(op.getVisited(), *op.getVisitTile(), columnBase(columnsOf(op.getType()))), zeros,
          product);
    else
      result.registers = product();
  }
  fragments[op.getResult()] = std::move(result);
  return success();
}
