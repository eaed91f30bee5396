//===- GpuContract.cpp - Products of one invocation ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// result[r, c] = sum over k of left[r, k] * right[k, c], one chain of Fma a
// value, k ascending from zero:
//
//   scf.for k step 4        the left side four k at a time, as one quad a row
//     for u in 0..3         right quads of k + u, then rows x quads fma
//   the same one by one for what is left of k
//
// Of bf16 in panels, k counts words of two features, and each product is two; of i8 it is four, and
// sums are i32. Rows of a view of bf16 are widened as they are loaded, and taken in pairs, the odd
// one first. f16 is widened too, on either side, and k counts features or rows as with f32: of two
// features, which share a word, neither goes alone. Of i4 (GpuNibbles.cpp) k goes by eight, the features
// of a word.
//
// Each left quad is loaded where it is first used: drivers keep it in registers
// then (loading all before the products costs 12 % on llvmpipe).
#include "GpuProduct.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;
using heddle::kernel::ContractOp;
using heddle::kernel::Fragment;
using heddle::kernel::Place;

namespace heddle {

static constexpr int32_t kExponentBits = 0x7f800000, kMagnitudeBits = 0x7fffffff;

//===- Operands ----------------------------------------------------------===//

void GpuEmitter::placeRight(ContractOp op, Product &product) {
  const BoundView right = view(op.getRhs());
  int64_t columns = columnsOf(op.getType());
  int64_t stored = padded(right.type.getDims().back().pitch.value);
  Value index = scalar(op.getRhsIndex()), base = columnBase(columns);
  product.right = right;
  Value start;
  if (op.getRows()) {
    product.rightStep = stored;
    start = add(add(right.offset, mul(index, stored)), base);
    for (int64_t j = 0; j < product.shape.vectors; ++j)
      product.rightPlaces.push_back({start, vectorColumn(j, columns)});
    return;
  }
  // Column c is row c of the view: panel c / 16, place c % 16. Fragments of whole panels begin at
  // one.
  int64_t panel = right.type.getPanel();
  if (right.type.getElementType().isInteger(4))
    return placeNibbles(op, product);
  product.halves = right.type.getElementType().isF16();
  product.word = product.halves ? 1 : perWord(right);
  product.rightStep = panel * product.word;
  bool isWhole = product.shape.vectors * width % panel == 0;
  bool isPart = panel % (product.shape.vectors * width) == 0;
  Value column = add(index, base);
  for (int64_t j = 0; j < product.shape.vectors; ++j) {
    int64_t c = vectorColumn(j, columns);
    if (isWhole)
      product.rightPlaces.push_back({add(right.offset, mul(column, stored)),
                                     c / panel * panel * stored + c % panel * perWord(right)});
    else if (isPart)
      product.rightPlaces.push_back({panelStart(right, column, stored), c * perWord(right)});
    else
      product.rightPlaces.push_back({panelStart(right, add(column, constant(c)), stored), 0});
  }
}

Value GpuEmitter::panelStart(const BoundView &right, Value column, int64_t stored) {
  Value inside = arith::AndIOp::create(builder, loc, column, constant(right.type.getPanel() - 1));
  return add(add(right.offset, mul(sub(column, inside), stored)), mul(inside, perWord(right)));
}

LogicalResult GpuEmitter::placeLeft(ContractOp op, Product &product) {
  if (auto tile = dyn_cast<RankedTensorType>(op.getLhs().getType())) {
    product.end = scalar(op.getRows());
    product.oddFirst = product.right.type.getElementType().isBF16();
    product.leftPitch = tile.getDimSize(1);
    return stage(op.getLhs());
  }
  const BoundView left = view(op.getLhs());
  if (!hasQuads(left.type))
    return op.emitOpError("expected rows of floats on the left, found ") << left.type;
  Value row = add(scalar(op.getLhsIndex()), op.getType().getDimSize(0) > 1 ? rowBase() : Value());
  product.left = left;
  int64_t features = left.type.getDims().back().extent.value;
  // Whole words of the right side.
  int64_t word = perWord(product.right), words = (features + word - 1) / word;
  product.end = constant(words * (word / product.word));
  product.leftPitch = padded(left.type.getDims().back().pitch.value);
  product.leftStart = add(left.offset, mul(row, product.leftPitch));
  existing = compare(arith::CmpIPredicate::slt, row, left.extents.front());
  existingIn = builder.getInsertionBlock();
  return success();
}

/// Rows past the extent do nothing: their loops have no steps. No barrier is inside.
Value GpuEmitter::unlessMissing(Value end) {
  Block *here = builder.getInsertionBlock();
  if (!existing || (existingIn != here && !existingIn->findAncestorOpInBlock(*here->getParentOp())))
    return end;
  return arith::SelectOp::create(builder, loc, existing, end, constant(0));
}

//===- The chain ---------------------------------------------------------===//

/// left[row, k + unrolled]; `loaded` keeps the quad of k for the row. Steps of one take a single
/// element.
Value GpuEmitter::leftScalar(const Product &product, Value &loaded, Value k, int64_t row,
                             int64_t unrolled, bool isWhole) {
  if (!product.left) {
    if (!loaded)
      loaded = stagedQuad(product.leftPitch, add(rowBase(), constant(row)), quarter(k));
    if (isWhole)
      return vector::ExtractOp::create(builder, loc, loaded, unrolled);
    Value lane = arith::AndIOp::create(builder, loc, add(k, constant(unrolled)),
                                       constant(width - 1)); // pairs lie in one quad
    return spirv::VectorExtractDynamicOp::create(builder, loc, loaded, lane);
  }
  Place place = {add(product.leftStart, mul(k, product.word)), row * product.leftPitch};
  if (product.left->type.getElementType().isF16()) // steps of two begin at a word
    return leftHalf(*product.left, loaded, place, unrolled, isWhole);
  if (!isWhole) {
    Value one =
        spirv::LoadOp::create(builder, loc, wordAt(*product.left, moved(place, Value(), unrolled)));
    return product.word == 1 ? one : asWords(one);
  }
  if (!loaded) {
    Place quad = moved(place, Value(), unrolled / kUnroll * kUnroll);
    loaded = spirv::LoadOp::create(builder, loc, quadAt(*product.left, quad));
    if (product.word != 1)
      loaded = asWords(loaded);
  }
  return vector::ExtractOp::create(builder, loc, loaded, unrolled % kUnroll);
}

/// Element `unrolled` behind `place`, which begins a word; `loaded` keeps the four of a whole step,
/// or the two of a word.
Value GpuEmitter::leftHalf(const BoundView &left, Value &loaded, Place place, int64_t unrolled,
                           bool isWhole) {
  if (!loaded && isWhole)
    loaded = loadVector(left, place);
  if (!loaded) {
    Value word = asWords(spirv::LoadOp::create(builder, loc, wordAt(left, place)));
    auto [even, odd] = unpackedWords(word, left.type.getElementType());
    loaded = vector::FromElementsOp::create(
        builder, loc, VectorType::get({2}, builder.getF32Type()), ValueRange{even, odd});
  }
  return vector::ExtractOp::create(builder, loc, loaded, unrolled);
}

/// One product of floats, or none where the mask hides it.
Value GpuEmitter::accumulate(const Product &product, Value left, Value right, Value sum) {
  Value next = math::FmaOp::create(builder, loc, left, right, sum);
  if (!product.skipHidden)
    return next;
  Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, left, zeroVector());
  Value skip = arith::AndIOp::create(builder, loc, none, anyNotFinite({right}));
  return arith::SelectOp::create(builder, loc, skip, sum, next);
}

/// Two products of bf16 in words, the odd one first.
Value GpuEmitter::multiplyAddPair(Value a, Value b, Value c) {
  auto [evenA, oddA] = halvesOf(a);
  auto [evenB, oddB] = halvesOf(b);
  c = math::FmaOp::create(builder, loc, oddA, oddB, c);
  return math::FmaOp::create(builder, loc, evenA, evenB, c);
}

/// Quads of the right side at k + u, or of words. Of f16, an even step keeps the words' other halves
/// in `odd` for the next one; of i4, the first of eight steps keeps words and scales.
SmallVector<Value> GpuEmitter::rightQuads(const Product &product, Value k, int64_t u,
                                          SmallVectorImpl<Value> &odd) {
  if (product.nibbles)
    return decodedQuads(product, k, u, odd);
  if (product.halves && u % 2 != 0)
    return llvm::to_vector(odd);
  Value far = mul(k, product.rightStep);
  SmallVector<Value> right;
  odd.clear();
  for (Place place : product.rightPlaces) {
    Place here = moved(place, far, u * product.rightStep);
    if (product.word == 1 && !product.halves) {
      right.push_back(loadVector(product.right, here));
      continue;
    }
    Value words = asWords(spirv::LoadOp::create(builder, loc, quadAt(product.right, here)));
    if (product.halves) {
      auto [low, high] = unpackedWords(words, product.right.type.getElementType());
      words = low;
      odd.push_back(high);
    }
    right.push_back(words);
  }
  return right;
}

void GpuEmitter::emitStep(const Product &product, Value k, int64_t unroll,
                          SmallVectorImpl<Value> &sums) {
  int64_t vectors = product.shape.vectors;
  SmallVector<Value> quads(product.shape.rows), odd;
  for (int64_t step = 0; step < unroll; ++step) {
    int64_t u = product.oddFirst && unroll > 1 ? step ^ 1 : step;
    SmallVector<Value> right = rightQuads(product, k, u, odd);
    if (u == kUnroll) // the next quads of the left side
      quads.assign(quads.size(), Value());
    for (int64_t row = 0; row < product.shape.rows; ++row) {
      Value left = leftScalar(product, quads[row], k, row, u, unroll == product.unroll);
      left = splat(left, VectorType::get({width}, left.getType()));
      for (int64_t j = 0; j < vectors; ++j) {
        Value &sum = sums[row * vectors + j];
        if (product.word == 4)
          sum = multiplyAddQuad(left, right[j], sum);
        else if (product.word == 2)
          sum = multiplyAddPair(left, right[j], sum);
        else
          sum = accumulate(product, left, right[j], sum);
      }
    }
  }
}

void GpuEmitter::emitLoop(const Product &product, Value from, Value to, int64_t unroll,
                          SmallVectorImpl<Value> &sums) {
  auto loop = scf::ForOp::create(builder, loc, from, to, constant(unroll),
                                 ValueRange(ArrayRef<Value>(sums)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> carried(loop.getRegionIterArgs());
  emitStep(product, loop.getInductionVar(), unroll, carried);
  scf::YieldOp::create(builder, loc, carried);
  sums.assign(loop.result_begin(), loop.result_end());
}

SmallVector<Value> GpuEmitter::emitProduct(const Product &product) {
  SmallVector<Value> sums(product.shape.size(), product.zero);
  std::optional<int64_t> count = constantOf(product.end);
  int64_t unroll = product.unroll;
  Value whole = count ? constant(*count / unroll * unroll)
                      : Value(arith::AndIOp::create(builder, loc, product.end, constant(-unroll)));
  Product inSteps = product;
  inSteps.skipHidden = false;
  emitLoop(inSteps, constant(0), unlessMissing(whole), unroll, sums);
  Value from = product.skipHidden ? restartIfNotFinite(whole, sums) : whole;
  if (product.oddFirst) { // pairs first, then the last one of an odd number
    Value pairs = arith::AndIOp::create(builder, loc, product.end, constant(-2));
    emitLoop(product, from, unlessMissing(pairs), 2, sums);
    from = pairs;
  }
  if (product.skipHidden || !count || *count % unroll)
    emitLoop(product, from, unlessMissing(product.end), product.halves ? 2 : 1, sums);
  return sums;
}

//===- Values that are not finite ----------------------------------------===//

/// Lane by lane, whether some value is infinite or NaN: by its bits, since a device's comparisons
/// need not know them.
Value GpuEmitter::anyNotFinite(ArrayRef<Value> values) {
  Type words = VectorType::get({width}, builder.getI32Type());
  auto all = [&](int32_t word) {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(cast<ShapedType>(words), word));
  };
  Value largest, mask = all(kMagnitudeBits);
  for (Value value : values) {
    Value bits = arith::BitcastOp::create(builder, loc, words, value);
    bits = arith::AndIOp::create(builder, loc, bits, mask);
    largest = largest ? arith::MaxSIOp::create(builder, loc, largest, bits).getResult() : bits;
  }
  return compare(arith::CmpIPredicate::sge, largest, all(kExponentBits));
}

/// A value that is not finite in the right side makes the sums it enters not finite, so finite sums
/// are right as they are and the last few k follow. Others begin again: the loop for the last k,
/// which leaves out the products that the mask hides (left factor 0), then does all of them.
/// Returns where it starts.
Value GpuEmitter::restartIfNotFinite(Value whole, SmallVectorImpl<Value> &sums) {
  Value lanes = anyNotFinite(sums), any;
  for (int64_t lane = 0; lane < width; ++lane) {
    Value one = vector::ExtractOp::create(builder, loc, lanes, lane);
    any = any ? arith::OrIOp::create(builder, loc, any, one).getResult() : one;
  }
  Value all = splat(any, VectorType::get({width}, builder.getI1Type())), zero = zeroVector();
  for (Value &sum : sums)
    sum = arith::SelectOp::create(builder, loc, all, zero, sum);
  return arith::SelectOp::create(builder, loc, any, constant(0), whole);
}

LogicalResult GpuEmitter::emitContract(ContractOp op) {
  Product product;
  product.shape = shapeOf(op.getType());
  if (!product.shape.vectors || columnsOf(op.getType()) % 16 != 0)
    return op.emitOpError("expected a multiple of 16 columns, found ") << op.getType();
  placeRight(op, product);
  if (LogicalResult placed = placeLeft(op, product); failed(placed))
    return placed;
  product.skipHidden = op.getGuarded();
  product.zero = zeroSum(op);
  product.shape.registers = emitProduct(product);
  fragments[op.getResult()] = std::move(product.shape);
  return success();
}

} // namespace heddle
