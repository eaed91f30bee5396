//===- Int4.cpp - Products with weights of i4 -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of bytes p times codes q as Support/Formats.h stores them: a quad of
// words is eight features of four columns. 32 features of a column share a scale d and a
// minimum m, those of a row e and s. Group by group:
//
//   u    sum of p * q, an integer below 2^24, so that f32 holds it exactly
//   sum  Fma(u, e * d, sum), then Fma(s, m, sum)

#include "../GpuProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;
using heddle::kernel::BoundView;

static constexpr const ElementFormat &format = formatOf(DType::I4);
/// Features of a word, in which places of i4 are counted; words of a line, and of a group in a panel;
/// words of a group in a row.
static constexpr int64_t wordFeatures = format.perWord, lineWords = 16,
                         blockWords = format.blockLines * lineWords,
                         groupBytes = format.group / formatOf(DType::I8).perWord;
static_assert(format.group == format.blockColumns);

namespace {
struct Int4 : GpuProduct {
  /// Staged blocks are counted in groups; as long as those of words, in bytes.
  Int4(GpuEmitter &emitter, kernel::ContractOp op) : GpuProduct(emitter, op) {
    block = block * lineWords / blockWords;
  }
  static bool accepts(kernel::ContractOp op, const GpuTarget &) {
    return op.getFormat().weights == DType::I4;
  }

  /// Words of the codes of features 0 to 7, and of the scales of their group.
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
    return e.quadOf(right(), {e.add(right().offset, start), 0});
  }
  /// Rows are read where they are: a word for each four features of all columns.
  int64_t rowQuads(int64_t) override { return 0; }
  int64_t allSteps() override { return (features() + format.group - 1) / format.group; }
  bool endsShort() override { return features() % format.group != 0; }

  void sumProducts(Registers &sums) override {
    addSteps(e.constant(0), allSteps(), Value(), sums);
  }

  void addSteps(Value first, int64_t groups, Value start, Registers &sums) override {
    rowsAt = rowStart(e.view(op.getLhs()));
    scalesAt = rowStart(scales());
    std::optional<int64_t> before = e.constantOf(start); // of a block in a loop it is not known
    bool isShort = endsShort() && before && *before + groups == allSteps();
    int64_t whole = groups - isShort;
    if (whole)
      loopOver(first, whole, groupBytes, start, sums);
    if (isShort)
      loopOver(e.add(first, e.constant(whole)), 1, (features() % format.group + 3) / 4, start,
               sums);
  }

private:
  int64_t features() { return right().type.getDims().back().extent.value; }
  const BoundView &scales() { return e.view(op.getScales()); }

  int64_t panelWords() { return panelBytes(DType::I4, features()) / 4; }
  /// Quads from one panel of a staged block to the next.
  int64_t panelPitch() {
    return pitchOfRuns(GpuEmitter::columnsOf(op.getType()) / 16, panelQuads(block));
  }

  /// `count` groups, of `words` of four features of a row each; the right side counts them from
  /// `start` on.
  void loopOver(Value first, int64_t count, int64_t words, Value start, Registers &sums) {
    e.loopOver(first, end(e.add(first, e.constant(count))), 1, sums,
               [&](Value group) { addGroup(group, e.add(group, start), words, sums); });
  }

  /// A group by its number in the staged block, or among all, and among all.
  void addGroup(Value inBlock, Value group, int64_t words, Registers &sums) {
    Registers parts(shape.size(), e.zeroVector()), codes(shape.vectors), quads(shape.rows);
    Value far = e.mul(inBlock, blockWords * wordFeatures);
    for (int64_t word = 0; word < words; ++word) {
      Registers q;
      for (int64_t j = 0; j < shape.vectors; ++j)
        q.push_back(nibblesOf(codes[j], e.moved(rightPlaces[j], far), word));
      for (int64_t row = 0; row < shape.rows; ++row) {
        Value p = rowWord(quads[row], group, row, word);
        for (int64_t j = 0; j < shape.vectors; ++j) {
          Value &part = parts[row * shape.vectors + j];
          for (int64_t byte = 0; byte < 4; ++byte)
            part = math::FmaOp::create(builder, loc, e.byteAsFloat(q[j], byte, /*isSigned=*/false),
                                       e.byteAsFloat(p, byte, /*isSigned=*/true), part);
        }
      }
    }
    for (int64_t j = 0; j < shape.vectors; ++j)
      addScaled(far, group, j, parts, sums);
  }

  /// Adds the group's integers of four columns to their sums.
  void addScaled(Value far, Value group, int64_t j, ArrayRef<Value> parts, Registers &sums) {
    Value d = halvesAt(j, far, 0), m = halvesAt(j, far, lineWords / 2);
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value &sum = sums[row * shape.vectors + j];
      Value u = parts[row * shape.vectors + j];
      Value factor = arith::MulFOp::create(builder, loc, rowScale(group, row, 0), d);
      sum = math::FmaOp::create(builder, loc, u, factor, sum);
      sum = math::FmaOp::create(builder, loc, rowScale(group, row, 1), m, sum);
    }
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// The codes of four features of four columns. A line holds two words of them, the first in the low
  /// halves of its bytes; `line` keeps it.
  Value nibblesOf(Value &line, Address group, int64_t word) {
    if (word % 2 == 0)
      line = e.asWords(rightQuad(e.moved(group, {}, word / 2 * lineWords * wordFeatures)));
    Type type = line.getType();
    Value low = line;
    if (word % 2)
      low = arith::ShRUIOp::create(builder, loc, line, e.wordConstant(4, type));
    return arith::AndIOp::create(builder, loc, low, e.wordConstant(0x0f0f0f0f, type));
  }

  /// Four f16 of the group's last line, which begin so many words behind the first scale.
  Value halvesAt(int64_t j, Value far, int64_t first) {
    int64_t words = format.group / wordFeatures * lineWords + first;
    Address place = e.moved(halfPlaces[j], far, words * wordFeatures);
    if (isStaged())
      return stagedHalves(j, rightQuad(place));
    Value low = spirv::LoadOp::create(builder, loc, e.wordAt(right(), place)),
          high = spirv::LoadOp::create(builder, loc,
                                       e.wordAt(right(), e.moved(place, {}, wordFeatures)));
    return e.unpackFour(low, high, builder.getF16Type());
  }

  /// The first two words of a quad, or the others.
  Value stagedHalves(int64_t j, Value quad) {
    auto wordOf = [&](int64_t word) -> Value {
      Value first = vector::ExtractOp::create(builder, loc, quad, word),
            second = vector::ExtractOp::create(builder, loc, quad, word + 2);
      return e.select(secondHalf[j], second, first);
    };
    return e.unpackFour(wordOf(0), wordOf(1), builder.getF16Type());
  }

  /// A word of four features of a row; `quad` keeps the four words that were loaded at once.
  Value rowWord(Value &quad, Value group, int64_t row, int64_t word) {
    const BoundView &left = e.view(op.getLhs());
    int64_t perWord = GpuEmitter::perWord(left), inQuad = word % GpuProduct::vec4;
    if (inQuad == 0) {
      Address place{e.add(rowsAt, e.mul(group, format.group)),
                    row * pitchOf(left) + word * perWord};
      quad = e.asWords(spirv::LoadOp::create(builder, loc, e.vec4At(left, place)));
    }
    Value one = vector::ExtractOp::create(builder, loc, quad, inQuad);
    return e.splat(one, VectorType::get({width}, one.getType()));
  }

  Value rowScale(Value group, int64_t row, int64_t number) {
    Address place{e.add(scalesAt, e.mul(group, 2)), row * pitchOf(scales()) + number};
    Value one = spirv::LoadOp::create(builder, loc, e.wordAt(scales(), place));
    return e.splat(one, VectorType::get({width}, one.getType()));
  }

  static int64_t pitchOf(const BoundView &view) {
    return padded(view.type.getDims().back().pitch.value);
  }

  SmallVector<Address> halfPlaces; ///< like rightPlaces
  Registers secondHalf;            ///< whether a register's scales are the last words of a quad
  Value rowsAt, scalesAt;          ///< this invocation's first row
};
} // namespace

const GpuProductStrategy heddle::gpuInt4 = gpuStrategyOf<Int4>();
