//===- Groups.cpp - Products with codes in groups -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common part of products with codes in groups (GpuGroups.h), and the product of rows in
// memory. Rows are not staged, because a load of a word serves all columns of an invocation.

#include "GpuGroups.h"

#include "../GpuLoops.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;
using heddle::kernel::BoundView;

//===- Common part --------------------------------------------------------===//

static GpuProductForm formOfCodes(kernel::ProductOpInterface op, int64_t block, bool fetchesLate) {
  const ElementFormat &format = formatOf(op.getFormat().weights);
  const int64_t features =
                    cast<kernel::ViewType>(op.getRhs().getType()).getDims().back().extent.value,
                rowVec4s = format.group / formatOf(DType::I8).perWord / kVec4,
                last = features % format.group;
  GpuProductForm form{.word = format.group, .block = block, .endsShort = last != 0};
  form.steps = llvm::divideCeil(features, format.group);
  form.missingVec4s = rowVec4s > 1 && last && last <= format.group / rowVec4s;
  form.panelVec4s = format.blockLines * GroupProduct::lineWords / kVec4;
  form.panelElements = panelBytes(format.type, features) / 4 * format.perWord;
  form.fetchesLate = fetchesLate;
  return form;
}

GroupProduct::GroupProduct(GpuEmitter &emitter, kernel::ProductOpInterface op, int64_t block,
                           bool fetchesLate)
    : GpuProduct(emitter, op, formOfCodes(op, block, fetchesLate)),
      format(formatOf(op.getFormat().weights)) {
  assert(format.group == format.blockColumns && "a block has the scales of one group");
}

void GroupProduct::placeRight() {
  Value first = right->columnOf(e.columnBase(columns()));
  for (int64_t j = 0; j < shape.vectors; ++j) {
    Value column = e.add(first, e.constant(e.vectorColumn(j, columns())));
    Value inside = e.masked(column, 15), number = e.shiftedRight(column, 4);
    Value start = right->panelAt(number);
    auto placeOf = [&](Value words) -> Address {
      return {e.add(start, e.mul(words, wordFeatures())), 0};
    };
    right->places.push_back(placeOf(inside));
    scalePlaces.push_back(placeOf(e.shiftedRight(inside, 1)));
    Value second = e.masked(column, 4);
    isSecondHalf.push_back(e.compare(arith::CmpIPredicate::ne, second, e.constant(0)));
  }
}

void GroupProduct::addSteps(Value first, int64_t groups, Value start, Registers &sums) {
  std::optional<int64_t> before = e.constantOf(start); // unknown for a block in a loop
  bool isShort = form.endsShort && before && *before + groups == allSteps();
  int64_t whole = groups - isShort;
  if (whole)
    addGroups(first, whole, rowWords(), start, sums);
  if (isShort)
    addGroups(e.add(first, e.constant(whole)), 1, (features() % format.group + 3) / 4, start, sums);
}

Value GroupProduct::scaled(Value u, Scales column, Scales row, Value sum) {
  Value factor = e.mulf(row[0], column[0]);
  sum = e.fma(u, factor, sum);
  return e.fma(row[1], column[1], sum);
}

Value GroupProduct::codesOf(Value &line, int64_t j, Value far, int64_t word) {
  Address group = e.moved(right->places[j], far);
  auto load = [&](int64_t number) {
    return e.asWords(right->vec4(e.moved(group, {}, number * lineWords * wordFeatures())));
  };
  if (!isInt4()) { // bytes of 128 + code
    Value words = load(word);
    return arith::XOrIOp::create(builder, loc, words,
                                 e.wordConstant(static_cast<int32_t>(0x80808080), words.getType()));
  }
  if (word % 2 == 0)
    line = load(word / 2);
  Type type = line.getType();
  Value low = line;
  if (word % 2)
    low = arith::ShRUIOp::create(builder, loc, line, e.wordConstant(4, type));
  return e.bitAnd(low, e.wordConstant(0x0f0f0f0f, type));
}

GroupProduct::Scales GroupProduct::columnScales(int64_t j, Value far) {
  Value d = halvesAt(j, far, 0), m = halvesAt(j, far, lineWords / 2);
  return {d, m};
}

/// Four f16 of the group's last line, from word `first` of its scales.
Value GroupProduct::halvesAt(int64_t j, Value far, int64_t first) {
  int64_t words = format.group / wordFeatures() * lineWords + first;
  auto [low, high] =
      right->halfVec4(e.moved(scalePlaces[j], far, words * wordFeatures()), isSecondHalf[j]);
  return e.words.unpackFour(low, high, builder.getF16Type());
}

//===- Few rows -----------------------------------------------------------===//

namespace {
struct Groups : GroupProduct {
  Groups(GpuEmitter &emitter, kernel::ProductOpInterface op)
      : GroupProduct(emitter, op, groupsOf(emitter.placement.block, op), /*fetchesLate=*/false) {
    left = std::make_unique<ViewRows>(*this);
  }
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return op.getFormat().sumsGroups();
  }

  void addSteps(Value first, int64_t groups, Value start, Registers &sums) override {
    rowsAt = rowStart(leftView());
    scalesAt = rowStart(scales());
    GroupProduct::addSteps(first, groups, start, sums);
  }

protected:
  void addGroups(Value first, int64_t count, int64_t words, Value start, Registers &sums) override {
    e.loopOver(first, end(e.add(first, e.constant(count))), 1, sums,
               [&](Value group) { addGroup(group, e.add(group, start), words, sums); });
  }

private:
  /// Groups in a staged block of `lines` lines.
  static int64_t groupsOf(int64_t lines, kernel::ProductOpInterface op) {
    return lines ? std::max<int64_t>(lines / formatOf(op.getFormat().weights).blockLines, 1) : 0;
  }
  /// Words of four features of a row for one line of codes.
  int64_t lineGrain() const { return wordFeatures() / formatOf(DType::I8).perWord; }
  const BoundView &scales() { return e.view(cast<kernel::ContractGroupsOp>(*op).getScales()); }

  /// Adds group `group`, with index `inBlock` in the staged block. While the tile of an earlier op
  /// is live, a loop over lines keeps drivers from holding four words of each row.
  void addGroup(Value inBlock, Value group, int64_t words, Registers &sums) {
    Registers parts(shape.size(), zeroPart());
    Value far = e.mul(inBlock, blockWords() * wordFeatures()), first = e.mul(group, format.group);
    if (words % lineGrain() == 0 && hasLiveTiles()) {
      e.loopOver(e.constant(0), e.constant(words / lineGrain()), 1, parts, [&](Value line) {
        e.markLoop(kRolled);
        addWords(e.add(far, e.mul(line, lineWords * wordFeatures())),
                 e.add(first, e.mul(line, lineGrain() * formatOf(DType::I8).perWord)), lineGrain(),
                 parts);
      });
    } else {
      addWords(far, first, words, parts);
    }
    for (int64_t j = 0; j < shape.vectors; ++j)
      addScaled(far, group, j, parts, sums);
  }

  /// Adds `words` words of four features: codes at offset `far`, rows from feature `first`.
  void addWords(Value far, Value first, int64_t words, Registers &parts) {
    Registers codes(shape.vectors), vec4s(shape.rows);
    for (int64_t word = 0; word < words; ++word) {
      Registers q;
      for (int64_t j = 0; j < shape.vectors; ++j)
        q.push_back(codesOf(codes[j], j, far, word));
      for (int64_t row = 0; row < shape.rows; ++row) {
        Value p = rowWord(vec4s[row], first, row, word, /*alone=*/words == lineGrain());
        for (int64_t j = 0; j < shape.vectors; ++j) {
          Value &part = parts[row * shape.vectors + j];
          part = addFour(p, q[j], part);
        }
      }
    }
  }

  /// Whether tiles of earlier ops are live after this product.
  bool hasLiveTiles() {
    return llvm::any_of(*op->getBlock(), [&](Operation &other) {
      return other.isBeforeInBlock(op) && !e.recomputes(other) && other.getNumResults() == 1 &&
             other.getResult(0).getType() == op.getType() &&
             llvm::any_of(other.getUsers(), [&](Operation *user) {
               return user->getBlock() == op->getBlock() && op->isBeforeInBlock(user);
             });
    });
  }

  Value zeroPart() {
    return e.target.packedDots ? e.wordConstant(0, VectorType::get({width}, builder.getI32Type()))
                               : e.zeroVector();
  }

  /// Adds the products of four features: signed bytes of `p`, and bytes of `q`.
  Value addFour(Value p, Value q, Value part) {
    if (e.target.packedDots) // codes of i4 are positive as signed bytes too
      return arith::AddIOp::create(builder, loc, part, e.words.dots(p, q));
    for (int64_t byte = 0; byte < 4; ++byte)
      part = e.fma(e.words.byteAsFloat(q, byte, /*isSigned=*/!isInt4()),
                   e.words.byteAsFloat(p, byte, /*isSigned=*/true), part);
    return part;
  }

  /// Scales the group's integers of four columns and adds them to the sums.
  void addScaled(Value far, Value group, int64_t j, ArrayRef<Value> parts, Registers &sums) {
    const Scales column = columnScales(j, far);
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value u = parts[row * shape.vectors + j];
      if (e.target.packedDots)
        u = arith::SIToFPOp::create(builder, loc, e.vec4Type(), u);
      Value &sum = sums[row * shape.vectors + j];
      sum = scaled(u, column, {rowScale(group, row, 0), rowScale(group, row, 1)}, sum);
    }
  }

  /// Word `word` of a row, counted from feature `first`. `vec4` caches a load of four words; with
  /// `alone`, words are loaded one at a time.
  Value rowWord(Value &vec4, Value first, int64_t row, int64_t word, bool alone) {
    const BoundView &left = leftView();
    Address place{e.add(rowsAt, first), row * pitchOf(left) + word * GpuEmitter::perWord(left)};
    Value one;
    if (alone) {
      one = e.asWords(e.memory.loadWord(left, place));
    } else {
      if (word % kVec4 == 0)
        vec4 = e.asWords(e.memory.loadVec4(left, place));
      one = e.extract(vec4, word % kVec4);
    }
    return e.splat(one, VectorType::get({width}, one.getType()));
  }

  Value rowScale(Value group, int64_t row, int64_t number) {
    Address place{e.add(scalesAt, e.mul(group, 2)), row * pitchOf(scales()) + number};
    Value one = e.memory.loadWord(scales(), place);
    return e.splat(one, VectorType::get({width}, one.getType()));
  }

  Value rowsAt, scalesAt; ///< starts of this invocation's first row and its scales
};
} // namespace

const GpuProductStrategy heddle::gpuGroups = gpuStrategyOf<Groups>();
