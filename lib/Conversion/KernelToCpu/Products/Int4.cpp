//===- Int4.cpp - Products with weights of i4 -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of byte rows p and 4-bit codes q (GroupProduct.h). A line of words holds eight features
// of 16 columns; 32 features are a group.
//
// Codes are the unsigned operand of vpdpbusd, and rows are its signed operand. Without vpdpbusd,
// products are added in 16 bits, by vpmaddubsw or one by one (smlal on AArch64). 16 bits suffice
// for a group: half of its products sum to at most 32 / 2 * 15 * 128, less than 2^15.
//
// The high codes of a line are shifted down before they are multiplied. With few rows, their sums
// are shifted instead, before the products of the low codes are added.
//
// A matrix unit computes u for sixteen rows and columns; its operands and results are in scratch.
// To overlap with the vector unit, it computes the next group's u of sixteen rows in its registers
// before this group's u of these rows are added to the sums. The new u then replace the old ones in
// scratch.

#include "../CpuMatrices.h"
#include "GroupProduct.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Features of a group, and words of four of them.
static constexpr int64_t groupFeatures = formatOf(DType::I4).group,
                         groupWords = groupFeatures / formatOf(DType::I8).perWord;

namespace {
struct Int4 : GroupProduct {
  using GroupProduct::GroupProduct;
  static bool accepts(ProductOpInterface op, const CpuTarget &) {
    return op.getFormat().weights == DType::I4;
  }
  static Keeps keeps(const CpuTarget &) { return Keeps::GroupSums; }

  /// With few rows the product is bound by memory, and register tiles prefetch.
  int64_t matricesFrom() override { return findMatrixUnit(e.target, operands) ? 16 : 0; }

  /// An incomplete last group is added in a second pass, because its matrices have another shape.
  void sumMatrices(const TileMemory &sums, Value count) override {
    CpuMatrices unit(e, operands);
    GroupScratch scratch;
    scratch.rowsOfMatrix = unit.rows();
    scratch.codes.rows = GroupScratch::groups * GroupScratch::panels * groupWords;
    scratch.codes.columns = lineWords;
    scratch.parts.rows = CpuMatrices::perBlock * unit.rows();
    scratch.parts.columns = GroupScratch::panels * lineWords;
    for (TileMemory *memory : {&scratch.codes, &scratch.parts}) {
      memory->element = builder.getI32Type();
      e.scratch.place(*memory);
    }
    const int64_t whole = features() / format.group, rest = features() % format.group;
    auto add = [&](int64_t from, int64_t to, int64_t depth) {
      scratch.depth = depth;
      unit.overBlocks(count, {{}, columnsInView()}, depth, [&](const CpuMatrices::Block &block) {
        addBlock(unit, sums, block, scratch, from, to);
      });
    };
    if (whole)
      add(0, whole, format.group);
    if (rest)
      add(whole, whole + 1, (rest + 3) / 4 * 4);
    for (TileMemory *memory : {&scratch.parts, &scratch.codes})
      e.scratch.release(*memory);
  }

private:
  //===--------------------------------------------------------------------===//
  // Matrices
  //===--------------------------------------------------------------------===//

  static constexpr MatrixOperands operands = MatrixOperands::SignedByUnsigned;

  /// Scratch of a block of matrices.
  struct GroupScratch {
    static constexpr int64_t groups = 2, panels = CpuMatrices::perBlock;
    int64_t rowsOfMatrix = 0;
    TileMemory codes;              ///< words of four codes, panel by panel, of two groups
    TileMemory parts;              ///< i32 sums of the products of one group
    int64_t depth = groupFeatures; ///< features of a group
  };

  /// Adds the groups [from, to) of a block of matrices to `sums`.
  void addBlock(CpuMatrices &unit, const TileMemory &sums, const CpuMatrices::Block &block,
                const GroupScratch &scratch, int64_t from, int64_t to) {
    const int64_t panel = panelBytes(DType::I4, features()) / 4;
    Value number = arith::DivUIOp::create(builder, loc, block.column, e.constant(lineWords));
    const Address first = e.moved(columnPlaces(oneVector()).front(), e.mul(number, panel));
    SmallVector<Address> panels; // a register of columns each
    for (int64_t j = 0; j < block.panels; ++j)
      for (int64_t lane = 0; lane < lineWords; lane += width)
        panels.push_back(e.moved(first, Value(), j * panel + lane));
    if (!from)
      unit.overSums(sums, block, [&](Value matrix, Value place) {
        unit->clear(matrix);
        unit->store(matrix, place, sums.columns * 4);
      });
    Value last = e.constant(to - 1);
    decode(scratch, panels, e.constant(from), e.constant(from));
    Registers codes = loadCodes(unit, block, scratch, e.constant(from));
    for (int64_t i = 0; i < block.matrices; ++i) {
      multiply(unit, codes, i, e.constant(from));
      storeParts(unit, block, scratch, i);
    }
    if (to - from > 1) {
      decode(scratch, panels, e.constant(from + 1), e.constant(from + 1));
      OpBuilder::InsertionGuard guard(builder);
      Value group = e.loopBy(e.constant(from), last, 1).getInductionVar();
      Value next = e.add(group, e.constant(1)), afterNext = e.add(group, e.constant(2));
      codes = loadCodes(unit, block, scratch, next);
      // After the last group its codes are decoded again; this is cheaper than a check.
      decode(scratch, panels, e.minimum(afterNext, last), afterNext);
      const SmallVector<Scales> columns = columnScales(panels, group);
      for (int64_t i = 0; i < block.matrices; ++i) {
        multiply(unit, codes, i, next);
        addParts(sums, block, scratch, i, columns, group);
        storeParts(unit, block, scratch, i);
      }
    }
    const SmallVector<Scales> columns = columnScales(panels, last);
    for (int64_t i = 0; i < block.matrices; ++i)
      addParts(sums, block, scratch, i, columns, last);
  }

  /// Address of the codes of a group in scratch, in words.
  Address codesAt(Value group, int64_t panel) {
    Value turn = arith::AndIOp::create(builder, loc, group, e.constant(GroupScratch::groups - 1));
    return {e.mul(turn, GroupScratch::panels * groupWords * lineWords),
            panel * groupWords * lineWords};
  }

  /// Decodes the codes of a group to bytes, into the scratch of group `to`.
  void decode(const GroupScratch &scratch, ArrayRef<Address> panels, Value group, Value to) {
    fetchAhead(panels, group);
    const int64_t inPanel = lineWords / width;
    for (auto [j, panel] : llvm::enumerate(panels)) {
      const auto number = static_cast<int64_t>(j);
      const Address matrix =
          e.moved(codesAt(to, number / inPanel), Value(), number % inPanel * width);
      Value line;
      for (int64_t word = 0; word < scratch.depth / 4; ++word) {
        if (word % 2 == 0)
          line = lineAt(panel, group, word / 2);
        e.storeAt(codesOf(line, word % 2, /*isShifted=*/true), scratch.codes.base,
                  e.moved(matrix, Value(), word * lineWords), scratch.codes.element);
      }
    }
  }

  Registers loadCodes(CpuMatrices &unit, const CpuMatrices::Block &block,
                      const GroupScratch &scratch, Value group) {
    Registers codes;
    for (int64_t j = 0; j < block.panels; ++j)
      codes.push_back(
          unit.loadRight(j, e.address(scratch.codes.base, codesAt(group, j), scratch.codes.element),
                         lineWords * 4));
    return codes;
  }

  /// Computes the products of a group and a matrix of rows in the registers of sums.
  void multiply(CpuMatrices &unit, const Registers &codes, int64_t matrix, Value group) {
    Value rows = unit.loadLeft(matrix, left(),
                               e.moved(leftRows(oneVector()).front(), e.mul(group, format.group)));
    for (auto [j, panel] : llvm::enumerate(codes)) {
      Value sum = unit.sum(matrix, static_cast<int64_t>(j));
      unit->clear(sum);
      unit->accumulate(sum, rows, panel);
    }
  }

  /// Stores the sums of a matrix of rows to scratch.
  void storeParts(CpuMatrices &unit, const CpuMatrices::Block &block, const GroupScratch &scratch,
                  int64_t matrix) {
    const TileMemory &parts = scratch.parts;
    for (int64_t j = 0; j < block.panels; ++j) {
      const int64_t place = matrix * scratch.rowsOfMatrix * parts.columns + j * lineWords;
      unit->store(unit.sum(matrix, j), e.address(parts.base, {Value(), place}, parts.element),
                  parts.columns * 4);
    }
  }

  /// Adds a group's sums of products in scratch to `sums`, row by row, for one matrix of rows.
  void addParts(const TileMemory &sums, const CpuMatrices::Block &block,
                const GroupScratch &scratch, int64_t matrix, ArrayRef<Scales> columns,
                Value group) {
    OpBuilder::InsertionGuard guard(builder);
    Value row = e.add(e.loopBy(e.constant(0), block.rowsOfMatrix, 1).getInductionVar(),
                      e.constant(matrix * scratch.rowsOfMatrix));
    llvm::SaveAndRestore context(e.loops.at, {1, e.add(e.loops.at.row, row)});
    const Scales ofRow = rowScales(rowsOf(scales(), oneVector()).front(), group);
    const Address parts{e.mul(row, scratch.parts.columns), 0};
    for (auto [j, ofColumns] : llvm::enumerate(columns)) {
      const auto column = static_cast<int64_t>(j) * width;
      const Address place = e.placeIn(sums, 0, block.column, column);
      auto load = [&](const TileMemory &memory, const Address &from) {
        return e.loadAt(memory.base, from, VectorType::get({width}, memory.element),
                        memory.element);
      };
      Value sum = addPart(load(scratch.parts, e.moved(parts, Value(), column)), ofRow, ofColumns,
                          load(sums, place));
      e.storeAt(sum, sums.base, place, sums.element);
    }
  }

  //===--------------------------------------------------------------------===//
  // Products of bytes
  //===--------------------------------------------------------------------===//

  /// Sums p * q of a register tile over one group.
  Registers sumsOfGroup(const Sides &sides, Value group, int64_t words) override {
    const int64_t rows = sides.shape.rows, vectors = sides.shape.vectors;
    Registers parts(rows * vectors,
                    arith::ConstantOp::create(builder, loc, builder.getZeroAttr(partType()))),
        lines(vectors);
    auto addWord = [&](int64_t word, bool isShifted) {
      Registers q;
      for (int64_t j = 0; j < vectors; ++j)
        q.push_back(codesOf(lines[j], word % 2, isShifted));
      for (int64_t row = 0; row < rows; ++row) {
        Value p = rowWord(sides.rows[row], group, word);
        for (int64_t j = 0; j < vectors; ++j) {
          Value &part = parts[row * vectors + j];
          part = addProducts(q[j], p, part);
        }
      }
    };
    auto load = [&](int64_t line) {
      for (int64_t j = 0; j < vectors; ++j)
        lines[j] = lineAt(sides.columns[j], group, line);
    };
    const bool shiftsSums = rows < words / 2 && e.target.int8Dot4;
    if (shiftsSums) {
      for (int64_t word = 1; word < words; word += 2) {
        load(word / 2);
        addWord(word, /*isShifted=*/false);
      }
      for (Value &part : parts)
        part = arith::ShRSIOp::create(builder, loc, part, e.wordConstant(4, part.getType()));
    }
    for (int64_t word = 0; word < words; word += shiftsSums ? 2 : 1) {
      if (word % 2 == 0)
        load(word / 2);
      addWord(word, /*isShifted=*/true);
    }
    return parts;
  }

  /// Number of partial sums per word: 1 if all four products are added, 2 for pairs, 4 for single
  /// products.
  int64_t partsOfWord() const { return e.target.int8Dot4 ? 1 : e.isX86() ? 2 : 4; }
  VectorType partType() {
    return VectorType::get({width * partsOfWord()},
                           builder.getIntegerType(partsOfWord() == 1 ? 32 : 16));
  }

  /// Adds the products of the bytes of `a`, which are codes of the weight, and of `b` to `c`.
  Value addProducts(Value a, Value b, Value c) {
    if (partsOfWord() == 1)
      return e.dot4(a, b, c);
    auto bytes = VectorType::get({4 * width}, builder.getI8Type());
    a = vector::BitCastOp::create(builder, loc, bytes, a);
    b = vector::BitCastOp::create(builder, loc, bytes, b);
    Value products;
    if (partsOfWord() == 2)
      products =
          e.instruction(e.formOf("llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.avx2.pmadd.ub.sw",
                                 "llvm.x86.avx512.pmaddubs.w.512"),
                        c.getType(), {a, b});
    else
      products =
          arith::MulIOp::create(builder, loc, arith::ExtSIOp::create(builder, loc, c.getType(), a),
                                arith::ExtSIOp::create(builder, loc, c.getType(), b));
    return arith::AddIOp::create(builder, loc, c, products);
  }

  /// Adds the partial sums of each word.
  Value asWords(Value part) override {
    if (partsOfWord() == 1)
      return part;
    if (partsOfWord() == 4)
      return addPairs(addPairs(part));
    auto words = VectorType::get({width}, builder.getI32Type());
    Value zero = e.wordConstant(0, words),
          ones = arith::ConstantOp::create(
              builder, loc, DenseElementsAttr::get(cast<ShapedType>(part.getType()), APInt(16, 1)));
    return e.multiplyAddShorts(part, ones, zero);
  }

  /// Adds neighboring numbers, as i32.
  Value addPairs(Value numbers) {
    const int64_t count = cast<VectorType>(numbers.getType()).getDimSize(0) / 2;
    auto words = VectorType::get({count}, builder.getI32Type());
    auto every = [&](int64_t first) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = 0; lane < count; ++lane)
        lanes.push_back(2 * lane + first);
      Value half = vector::ShuffleOp::create(builder, loc, numbers, numbers, lanes);
      if (half.getType() != words)
        half = arith::ExtSIOp::create(builder, loc, words, half);
      return half;
    };
    Value even = every(0);
    return arith::AddIOp::create(builder, loc, even, every(1));
  }

  /// Low or high codes of a line. High codes that are not shifted down are 16 times too large.
  Value codesOf(Value line, bool isHigh, bool isShifted) {
    int32_t mask = isHigh && !isShifted ? static_cast<int32_t>(0xf0f0f0f0) : 0x0f0f0f0f;
    if (isHigh && isShifted)
      line = arith::ShRUIOp::create(builder, loc, line, e.wordConstant(4, line.getType()));
    return arith::AndIOp::create(builder, loc, line, e.wordConstant(mask, line.getType()));
  }
};
} // namespace

const ProductStrategy heddle::kernel::int4 = strategyOf<Int4>();
