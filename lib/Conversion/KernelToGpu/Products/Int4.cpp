//===- Int4.cpp - Products with weights of i4 -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows of bytes p with i4 codes q (Support/Formats.h). A vec4 of words holds
// eight features of four columns. Each group of 32 features has a scale d and a minimum m
// for every column, and e and s for every row. For each group:
//
//   u    sum of p * q, by packed dot products if the target has them; an integer below
//        2^24, which f32 holds exactly
//   sum  Fma(u, e * d, sum), then Fma(s, m, sum)
//
// Tiles of many rows stage one or two groups of both sides with the scales of rows. An
// invocation then multiplies two columns at a time, so that it holds few integers.

#include "../GpuLoops.h"
#include "../GpuProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;
using heddle::kernel::BoundView;

static constexpr const ElementFormat &format = formatOf(DType::I4);
/// Features of a word, the unit of i4 addresses; words of a line; words of a group in a panel and
/// in a row.
static constexpr int64_t wordFeatures = format.perWord, lineWords = 16,
                         blockWords = format.blockLines * lineWords,
                         rowWords = format.group / formatOf(DType::I8).perWord;
static_assert(format.group == format.blockColumns);

namespace {
struct Int4 : GpuProduct {
  /// Counts the steps of a staged block in groups. With crosswise rows it has one or two groups,
  /// whose scales are a vec4 for each row.
  Int4(GpuEmitter &emitter, kernel::ProductOpInterface op) : GpuProduct(emitter, op) {
    block = isCrosswise() ? std::clamp<int64_t>(block / rowWords, 1, vec4 / scalesOfStep)
                          : block * lineWords / blockWords;
  }
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return op.getFormat().weights == DType::I4;
  }

  int64_t word() const override { return format.group; }

  /// Finds the words of features 0 to 7 and the scales of their group.
  void placeRight() override {
    int64_t columns = GpuEmitter::columnsOf(op.getType());
    Value first = e.columnBase(columns);
    if (!isStaged())
      first = e.add(e.scalar(op.getRhsIndex()), first);
    for (int64_t j = 0; j < shape.vectors; ++j) {
      Value column = e.add(first, e.constant(e.vectorColumn(j, columns)));
      Value inside = arith::AndIOp::create(builder, loc, column, e.constant(15)),
            number = arith::ShRUIOp::create(builder, loc, column, e.constant(4));
      Value start = isStaged() ? e.mul(number, panelPitch() * vec4 * wordFeatures)
                               : e.add(right().offset, e.mul(number, panelWords() * wordFeatures));
      auto placeOf = [&](Value words) -> Address {
        return {e.add(start, e.mul(words, wordFeatures)), 0};
      };
      rightPlaces.push_back(placeOf(inside));
      halfPlaces.push_back(placeOf(arith::ShRUIOp::create(builder, loc, inside, e.constant(1))));
      Value second = arith::AndIOp::create(builder, loc, column, e.constant(4));
      secondHalf.push_back(e.compare(arith::CmpIPredicate::ne, second, e.constant(0)));
    }
  }

  int64_t panelQuads(int64_t groups) override { return groups * blockWords / vec4; }
  Value panelAt(Value panel) override {
    Value column = e.scalar(op.getRhsIndex());
    Value number = arith::ShRUIOp::create(builder, loc, column, e.constant(4));
    Value start = e.mul(e.add(number, panel), panelWords() * wordFeatures);
    return e.memory.vec4Index(right(), {e.add(right().offset, start), 0});
  }
  /// Few rows are not staged: a load of a word serves all columns of an invocation. A row may end
  /// in the middle of its last group.
  int64_t rowQuads(int64_t steps, bool areLast) override {
    if (!isCrosswise())
      return 0;
    int64_t inQuad = format.group / 2, last = features() % format.group;
    return areLast && last && last <= inQuad ? 2 * steps - 1 : 2 * steps;
  }
  std::optional<GpuStaging> stagedScales() override {
    if (!isCrosswise())
      return std::nullopt;
    return stagedRows(scales(), scalesLayout(), /*quads=*/1);
  }
  bool fetchesLate() const override { return isCrosswise(); }
  int64_t allSteps() override { return (features() + format.group - 1) / format.group; }
  bool endsShort() override { return features() % format.group != 0; }

  void sumProducts(Registers &sums) override { addSteps(e.constant(0), allSteps(), Value(), sums); }

  void addSteps(Value first, int64_t groups, Value start, Registers &sums) override {
    rowsAt = rowStart(e.view(op.getLhs()));
    scalesAt = rowStart(scales());
    std::optional<int64_t> before = e.constantOf(start); // unknown for a block in a loop
    bool isShort = endsShort() && before && *before + groups == allSteps();
    int64_t whole = groups - isShort;
    if (whole)
      loopOver(first, whole, rowWords, start, sums);
    if (isShort)
      loopOver(e.add(first, e.constant(whole)), 1, (features() % format.group + 3) / 4, start,
               sums);
  }

private:
  /// Words of four features of a row for one line of codes.
  static constexpr int64_t lineGrain = 2;
  int64_t features() { return right().type.getDims().back().extent.value; }
  const BoundView &scales() { return e.view(cast<kernel::ContractGroupsOp>(*op).getScales()); }

  int64_t panelWords() { return panelBytes(DType::I4, features()) / 4; }
  /// Vec4s between the starts of two panels of a staged block.
  int64_t panelPitch() {
    return pitchOfRuns(GpuEmitter::columnsOf(op.getType()) / 16, panelQuads(block));
  }

  /// Adds `count` groups with `words` words of a row each. `first` counts from the start of the
  /// staged block, group `start`.
  void loopOver(Value first, int64_t count, int64_t words, Value start, Registers &sums) {
    if (isCrosswise()) {
      for (int64_t group = 0; group < count; ++group)
        addStagedGroup(e.add(first, e.constant(group)), start, words, sums);
      return;
    }
    e.loopOver(first, end(e.add(first, e.constant(count))), 1, sums,
               [&](Value group) { addGroup(group, e.add(group, start), words, sums); });
  }

  /// Adds group `group`, with index `inBlock` in the staged block. While the tile of an earlier op
  /// is live, a loop over lines keeps drivers from holding four words of each row.
  void addGroup(Value inBlock, Value group, int64_t words, Registers &sums) {
    Registers parts(shape.size(), zeroPart());
    Value far = e.mul(inBlock, blockWords * wordFeatures), first = e.mul(group, format.group);
    if (words % lineGrain == 0 && isBesideTiles()) {
      e.loopOver(e.constant(0), e.constant(words / lineGrain), 1, parts, [&](Value line) {
        builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, builder.getUnitAttr());
        addWords(e.add(far, e.mul(line, lineWords * wordFeatures)),
                 e.add(first, e.mul(line, lineGrain * formatOf(DType::I8).perWord)), lineGrain,
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
    Registers codes(shape.vectors), quads(shape.rows);
    for (int64_t word = 0; word < words; ++word) {
      Registers q;
      for (int64_t j = 0; j < shape.vectors; ++j)
        q.push_back(nibblesOf(codes[j], e.moved(rightPlaces[j], far), word));
      for (int64_t row = 0; row < shape.rows; ++row) {
        Value p = rowWord(quads[row], first, row, word, /*alone=*/words == lineGrain);
        for (int64_t j = 0; j < shape.vectors; ++j) {
          Value &part = parts[row * shape.vectors + j];
          part = addFour(p, q[j], part);
        }
      }
    }
  }

  /// Whether tiles of earlier ops are live after this product.
  bool isBesideTiles() {
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

  /// Adds the products of four features: signed bytes of `p` and unsigned bytes of `q`.
  Value addFour(Value p, Value q, Value part) {
    if (e.target.packedDots) // codes of four bits are positive as signed bytes too
      return arith::AddIOp::create(builder, loc, part, packedDots(p, q));
    for (int64_t byte = 0; byte < 4; ++byte)
      part = math::FmaOp::create(builder, loc, e.words.byteAsFloat(q, byte, /*isSigned=*/false),
                                 e.words.byteAsFloat(p, byte, /*isSigned=*/true), part);
    return part;
  }

  /// Scales the group's integers of four columns and adds them to the sums.
  void addScaled(Value far, Value group, int64_t j, ArrayRef<Value> parts, Registers &sums) {
    Value d = halvesAt(j, far, 0), m = halvesAt(j, far, lineWords / 2);
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value u = parts[row * shape.vectors + j];
      if (e.target.packedDots)
        u = arith::SIToFPOp::create(builder, loc, e.vec4Type(), u);
      Value &sum = sums[row * shape.vectors + j];
      sum = scaled(u, {d, m}, {rowScale(group, row, 0), rowScale(group, row, 1)}, sum);
    }
  }

  using Scales = std::array<Value, scalesOfStep>;
  Value scaled(Value u, Scales column, Scales row, Value sum) {
    Value factor = arith::MulFOp::create(builder, loc, row[0], column[0]);
    sum = math::FmaOp::create(builder, loc, u, factor, sum);
    return math::FmaOp::create(builder, loc, row[1], column[1], sum);
  }

  //===--------------------------------------------------------------------===//
  // Staged groups
  //===--------------------------------------------------------------------===//

  /// Adds a group in pairs of columns, so that few integers are in registers. Each pair reads the
  /// words of rows again.
  void addStagedGroup(Value inBlock, Value start, int64_t words, Registers &sums) {
    // Scales of rows are staged for two groups at a time.
    Value pair = block * scalesOfStep >= vec4
                     ? inBlock
                     : arith::AndIOp::create(builder, loc, e.add(start, inBlock), e.constant(1));
    for (int64_t j = 0; j < shape.vectors; ++j)
      for (int64_t lane = 0; lane < width; lane += 2) {
        addPair(inBlock, e.mul(pair, scalesOfStep), words, j, lane, sums);
        e.entry.forgetShared(); // else drivers keep all words of the rows in registers
      }
  }

  void addPair(Value inBlock, Value firstScale, int64_t words, int64_t j, int64_t first,
               Registers &sums) {
    Value far = e.mul(inBlock, blockWords * wordFeatures), line;
    Registers parts(2 * shape.rows, e.constant(0));
    for (int64_t word = 0; word < words; ++word) {
      Value codes = nibblesOf(line, e.moved(rightPlaces[j], far), word);
      Registers rows = rowsOf(leftWords(e.add(e.mul(inBlock, rowWords), e.constant(word))));
      for (auto [number, part] : llvm::enumerate(parts)) {
        Value q = laneOf(codes, first + number % 2), p = e.asWords(rows[number / 2]);
        part = arith::AddIOp::create(builder, loc, part, packedDot(p, q));
      }
    }
    Scales columns{halvesAt(j, far, 0), halvesAt(j, far, lineWords / 2)};
    Scales fours; // scales of four rows
    for (auto [number, part] : llvm::enumerate(parts)) {
      int64_t row = number / 2, lane = first + number % 2;
      if (number % (2 * vec4) == 0)
        for (int64_t which = 0; which < scalesOfStep; ++which)
          fours[which] =
              wordOfRows(scalesLayout(), e.add(firstScale, e.constant(which)), row / vec4);
      Value &sum = sums[row * shape.vectors + j];
      Value next =
          scaled(arith::SIToFPOp::create(builder, loc, builder.getF32Type(), part),
                 {laneOf(columns[0], lane), laneOf(columns[1], lane)},
                 {laneOf(fours[0], row % vec4), laneOf(fours[1], row % vec4)}, laneOf(sum, lane));
      sum = vector::InsertOp::create(builder, loc, next, sum, lane);
    }
  }

  Value laneOf(Value vector, int64_t lane) {
    return vector::ExtractOp::create(builder, loc, vector, lane);
  }
  GpuStaging::Layout scalesLayout() { return crosswise(SharedArray::Scales, vec4); }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// Codes of four features of four columns. A line holds two words of codes, the first in the low
  /// nibbles of its bytes; `line` caches it.
  Value nibblesOf(Value &line, Address group, int64_t word) {
    if (word % 2 == 0)
      line = e.asWords(rightQuad(e.moved(group, {}, word / 2 * lineWords * wordFeatures)));
    Type type = line.getType();
    Value low = line;
    if (word % 2)
      low = arith::ShRUIOp::create(builder, loc, line, e.wordConstant(4, type));
    return arith::AndIOp::create(builder, loc, low, e.wordConstant(0x0f0f0f0f, type));
  }

  /// Four f16 of the group's last line, from word `first` of its scales.
  Value halvesAt(int64_t j, Value far, int64_t first) {
    int64_t words = format.group / wordFeatures * lineWords + first;
    Address place = e.moved(halfPlaces[j], far, words * wordFeatures);
    if (isStaged())
      return stagedHalves(j, rightQuad(place));
    Value low = e.memory.loadWord(right(), place),
          high = e.memory.loadWord(right(), e.moved(place, {}, wordFeatures));
    return e.words.unpackFour(low, high, builder.getF16Type());
  }

  /// Unpacks the first or the last two words of a vec4.
  Value stagedHalves(int64_t j, Value quad) {
    auto wordOf = [&](int64_t word) -> Value {
      Value first = vector::ExtractOp::create(builder, loc, quad, word),
            second = vector::ExtractOp::create(builder, loc, quad, word + 2);
      return e.select(secondHalf[j], second, first);
    };
    return e.words.unpackFour(wordOf(0), wordOf(1), builder.getF16Type());
  }

  /// Word `word` of a row, counted from feature `first`. `quad` caches a load of four words; with
  /// `alone`, words are loaded one at a time.
  Value rowWord(Value &quad, Value first, int64_t row, int64_t word, bool alone) {
    const BoundView &left = e.view(op.getLhs());
    int64_t perWord = GpuEmitter::perWord(left), inQuad = word % GpuProduct::vec4;
    Address place{e.add(rowsAt, first), row * pitchOf(left) + word * perWord};
    Value one;
    if (alone) {
      one = e.asWords(e.memory.loadWord(left, place));
    } else {
      if (inQuad == 0)
        quad = e.asWords(e.memory.loadVec4(left, place));
      one = vector::ExtractOp::create(builder, loc, quad, inQuad);
    }
    return e.splat(one, VectorType::get({width}, one.getType()));
  }

  Value rowScale(Value group, int64_t row, int64_t number) {
    Address place{e.add(scalesAt, e.mul(group, 2)), row * pitchOf(scales()) + number};
    Value one = e.memory.loadWord(scales(), place);
    return e.splat(one, VectorType::get({width}, one.getType()));
  }

  static int64_t pitchOf(const BoundView &view) {
    return padded(view.type.getDims().back().pitch.value);
  }

  SmallVector<Address> halfPlaces; ///< addresses of scales, as rightPlaces
  Registers secondHalf;            ///< whether a register's scales are the last words of a vec4
  Value rowsAt, scalesAt;          ///< starts of this invocation's first row and its scales
};
} // namespace

const GpuProductStrategy heddle::gpuInt4 = gpuStrategyOf<Int4>();
