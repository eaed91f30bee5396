//===- Int8Pairs.cpp - Products of bytes as pairs of 16-bit numbers -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes on x86 processors without an instruction for byte dot products. They multiply
// pairs of 16-bit numbers (vpmaddwd), whose i32 sums are exact. Both sides are widened once: B for
// all rows of a tile (packed), A for all columns of a register tile's rows. k then counts pairs of
// neighboring features.
//
// Few rows are bound by memory and widen words when they load them (Int8Dot4).

#include "Int8Dot4.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
struct Int8Pairs : Int8Dot4 {
  using Int8Dot4::Int8Dot4;
  static bool accepts(ProductOpInterface op, const CpuTarget &target) {
    return Int8Dot4::accepts(op, target) && !op.isOverRows() && !target.int8Dot4 &&
           StringRef(target.triple).starts_with("x86_64");
  }
  /// Packing costs about the time that two register tiles save.
  static int64_t packsFrom(ProductOpInterface) { return 2; }

  int64_t perStep() override { return isPacked() ? 2 : word(); }
  int64_t perPackedRow() override { return 2; }
  Value step(Value a, Value b, Value c, bool guarded) override {
    if (!isPacked())
      return Int8Dot4::step(a, b, c, guarded);
    auto shorts = VectorType::get({2 * width}, builder.getI16Type());
    auto asShorts = [&](Value words) {
      return vector::BitCastOp::create(builder, loc, shorts, words);
    };
    return e.multiplyAddShorts(asShorts(a), asShorts(b), c);
  }

  Registers sumFeatures(Chain chain, Registers sums, Value from, Value to) override {
    return isPacked() ? CpuProduct::sumFeatures(std::move(chain), std::move(sums), from, to)
                      : Int8Dot4::sumFeatures(std::move(chain), std::move(sums), from, to);
  }

  /// A kernel's stack and the second-level cache hold 72 Ki pairs next to their other contents.
  std::optional<TileMemory> packedForm() override {
    constexpr int64_t mostPairs = 72 << 10;
    TileMemory form;
    form.columns = CpuEmitter::columnsOf(op.getType());
    form.rows = packedFeatures() / 2;
    form.element = builder.getI32Type();
    return form.rows * packedColumns() > mostPairs ? std::nullopt : std::optional(form);
  }

  void packPanels(const TileMemory &packed, ColumnRange columns, Value from, Value to) override {
    OpBuilder::InsertionGuard guard(builder);
    const BoundView right = this->right();
    int64_t stored = padded(right.type.getDims().back().pitch.value);
    Value column = e.loopBy(columns.from, columns.to, 16).getInductionVar();
    Value start = e.add(right.offset, e.mul(e.add(e.scalar(op.getRhsIndex()), column), stored));
    Value pair = e.loopBy(from, to, 2).getInductionVar();
    Address source = e.moved({start, 0}, e.mul(pair, 2 * 16)),
            target = e.moved({e.mul(column, packed.rows), 0}, e.mul(e.sub(pair, from), 16));
    auto words = VectorType::get({width}, builder.getI32Type());
    for (int64_t lane = 0; lane < 16; lane += width) {
      CpuEmitter::Shorts shorts = e.shortsOf(
          e.loadWords(right, e.moved(source, Value(), word() * lane)), /*isSigned=*/true);
      for (int64_t half = 0; half < 2; ++half) {
        SmallVector<int64_t> lanes; // lanes of (f0, f1), then of (f2, f3) of each word
        for (int64_t i = 0; i < width; ++i)
          lanes.append({2 * i + half, 2 * (width + i) + half});
        Value pairs = vector::ShuffleOp::create(builder, loc, shorts.even, shorts.odd, lanes);
        e.storeAt(vector::BitCastOp::create(builder, loc, words, pairs), packed.base,
                  e.moved(target, Value(), half * 16 + lane), packed.element);
      }
    }
  }

  /// Prepares sixteen features at a time, which the padding of views allows. Padding is multiplied
  /// by zeros of B.
  void prepareRows(Value from, Value to) override {
    if (!isPacked())
      return;
    const BoundView left = this->left();
    Fragment shape;
    shape.rows = e.loops.at.rows;
    SmallVector<Address> places = leftRows(shape);
    TileMemory memory;
    memory.rows = shape.rows;
    memory.columns = padded(packedFeatures()) / 2;
    memory.element = builder.getI32Type();
    e.scratch.place(memory);
    OpBuilder::InsertionGuard guard(builder);
    Value feature = e.loopBy(from, to, 16).getInductionVar();
    Value first = arith::ShRUIOp::create(builder, loc, e.sub(feature, from), e.constant(1));
    auto bytes = VectorType::get({16}, builder.getI8Type()),
         shorts = VectorType::get({16}, builder.getI16Type()),
         pairs = VectorType::get({8}, builder.getI32Type());
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value codes = e.loadAt(e.pointers[left.argument], e.moved(places[row], feature), bytes,
                             builder.getI8Type());
      Value wide = arith::ExtUIOp::create(builder, loc, shorts, codes);
      e.storeAt(vector::BitCastOp::create(builder, loc, pairs, wide), memory.base,
                e.moved({first, 0}, Value(), row * memory.columns), memory.element);
    }
    prepared = memory;
  }

private:
  /// Columns of all packed panels of the kernel. Parts run one after another and share slots of one
  /// size.
  int64_t packedColumns() {
    llvm::DenseMap<int64_t, int64_t> most; // by columns: the products of a block
    e.kernel.walk([&](Block *block) {
      llvm::DenseMap<int64_t, int64_t> here;
      for (auto product : block->getOps<ProductOpInterface>())
        ++here[CpuEmitter::columnsOf(product.getType())];
      for (auto [columns, count] : here)
        most[columns] = std::max(most[columns], count);
    });
    int64_t all = 0;
    for (auto [columns, count] : most)
      all += columns * count;
    return all;
  }
};
} // namespace

const ProductStrategy heddle::kernel::int8Pairs = strategyOf<Int8Pairs>();
