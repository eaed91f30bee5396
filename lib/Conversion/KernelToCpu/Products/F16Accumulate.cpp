//===- F16Accumulate.cpp - Products of f16, summed in f16 -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of f16 rows and f16 panels that accumulate in f16. A word of the row, two features, is
// broadcast and multiplied by a line of the panel as stored: 16 columns of two features each. Every
// lane sums the even or the odd features of one column.
//
//   for blocks of 256 features   even, odd = 0, 128 products each, in f16
//                                sum += f32(even) + f32(odd)
//
// Blocks begin at multiples of 256 regardless of k-blocks, so the bits of an element depend only on
// its row and its column. Other targets widen both sides (Widened.cpp).

#include "../CpuProduct.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
struct F16Accumulate : CpuProduct {
  using CpuProduct::CpuProduct;
  static bool accepts(ProductOpInterface op, const CpuTarget &target) {
    return target.f16Accumulate && op.getFormat().peak == Arithmetic::F16;
  }

  /// Multiplies both halves of each word into two sums.
  Value step(Value a, Value b, Value c, bool) override {
    a = vector::BitCastOp::create(builder, loc, c.getType(), a);
    b = vector::BitCastOp::create(builder, loc, c.getType(), b);
    return beforeNextLoads(math::FmaOp::create(builder, loc, a, b, c));
  }

  /// Sums block by block, each from zero.
  Registers sumFeatures(Chain chain, Registers sums, Value first, Value last) override {
    const int64_t block = op.getFormat().sumBlock / 2;
    fetchMeanwhile(chain, first, last);
    std::optional<int64_t> words = e.constantOf(wordsOf(e.sub(chain.to, chain.from)));
    assert(words && "rows of products have a static number of features, and so have k-blocks");
    auto halves = VectorType::get({2 * width}, builder.getF16Type());
    auto addBlock = [&](Value start, int64_t length) {
      auto from = [&](const Operand &side) -> Operand {
        return [&, start](Value k, int64_t i, int64_t u) { return side(e.add(start, k), i, u); };
      };
      Value zero =
          arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(halves)));
      Registers parts =
          emitChain({chain.shape, e.constant(0), e.constant(length), from(chain.left),
                     from(chain.right), [&](Value k) { chain.atStep(e.add(start, k)); }},
                    Registers(chain.shape.size(), zero));
      for (auto [sum, part] : llvm::zip_equal(sums, parts))
        sum = addHalves(sum, part);
    };
    int64_t whole = *words / block * block;
    if (whole > 0)
      e.loopOver(first ? first : e.constant(0), e.add(first, e.constant(whole)), block, sums,
                 [&](Value start) { addBlock(start, block); });
    if (*words > whole)
      addBlock(e.add(first, e.constant(whole)), *words - whole);
    return sums;
  }

  /// Passes `sum` through an empty asm statement, which delays the loads of the next products. No
  /// f16 multiply-add of x86 broadcasts a word from memory, so words need registers. Otherwise LLVM
  /// would load the words of all rows and steps first, and spill them.
  Value beforeNextLoads(Value sum) {
    if (!e.isX86())
      return sum;
    auto nothing = LLVM::InlineAsmOp::create(builder, loc, sum.getType(), sum, "", "=v,0,~{memory}",
                                             /*has_side_effects=*/true, /*is_align_stack=*/false,
                                             LLVM::tailcallkind::TailCallKind::None,
                                             /*asm_dialect=*/LLVM::AsmDialectAttr(),
                                             /*operand_attrs=*/ArrayAttr());
    return nothing.getRes();
  }

  /// Adds the sums of even and odd features to the f32 sum. One permutation moves the even sums to
  /// the low half of the register; extracting each half on its own would cost two narrowings.
  Value addHalves(Value sum, Value halves) {
    SmallVector<int64_t> evenFirst;
    for (int64_t first : {0, 1})
      for (int64_t lane = 0; lane < width; ++lane)
        evenFirst.push_back(2 * lane + first);
    Value sorted = vector::ShuffleOp::create(builder, loc, halves, halves, evenFirst);
    Value wide = arith::ExtFOp::create(builder, loc,
                                       VectorType::get({2 * width}, builder.getF32Type()), sorted);
    auto part = [&](int64_t first) -> Value {
      return vector::ShuffleOp::create(builder, loc, wide, wide,
                                       llvm::to_vector(llvm::seq<int64_t>(first, first + width)));
    };
    Value even = part(0), odd = part(width);
    Value both = arith::AddFOp::create(builder, loc, even, odd);
    return arith::AddFOp::create(builder, loc, sum, both);
  }
};
} // namespace

const ProductStrategy heddle::kernel::f16Accumulate = strategyOf<F16Accumulate>();
