//===- MaskContradictions.cpp - Masks that exclude themselves -------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ways in which a mask may hold are gone through: an `or` holds by either
// side, a band does not hold below it or above it. A way is closed by two bounds
// that exclude each other or by a mask that has to hold and not to hold:
//
//   window(3, 0) & !window(5, 1)
//     j - i >= n - 3, j - i <= n, j - i <= n - 6     the first and the last
//     j - i >= n - 3, j - i <= n, j - i >= n + 2     the last two
//
// Bounds that stop at the ends of i32 keep their order, so nothing here depends
// on the size of n.
//
//===----------------------------------------------------------------------===//

#include "MaskContradictions.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::transformer {

namespace {
/// A bound of the key j, or of j - i, at base + shift, itself allowed.
struct Bound {
  bool relative, isLow;
  /// A number that the run will tell: an operand, or the default offset; null is 0.
  const void *base;
  int64_t shift;

  Bound opposite() const { return {relative, !isLow, base, isLow ? shift - 1 : shift + 1}; }
  bool excludes(const Bound &other) const {
    if (relative != other.relative || base != other.base || isLow == other.isLow)
      return false;
    return isLow ? shift > other.shift : shift < other.shift;
  }
};

/// A mask that holds, or one that does not.
struct Literal {
  Value mask;
  bool holds;
};

/// One way in which the mask may hold.
struct Way {
  SmallVector<Literal> open, leaves;
  SmallVector<Bound> bounds;

  Way with(Value mask, bool holds) const {
    Way way = *this;
    way.open.push_back({mask, holds});
    return way;
  }
  /// False if the bound excludes another one.
  bool add(const Bound &bound) {
    if (llvm::any_of(bounds, [&](const Bound &other) { return bound.excludes(other); }))
      return false;
    bounds.push_back(bound);
    return true;
  }
};
} // namespace

/// The number `operand + shift` as a bound.
static Bound boundAt(bool relative, bool isLow, Value operand, int64_t shift) {
  static const char defaultOffset = 0;
  APInt number;
  DenseElementsAttr numbers;
  if (!operand)
    return {relative, isLow, &defaultOffset, shift};
  if (matchPattern(operand, m_ConstantInt(&number)))
    return {relative, isLow, nullptr, number.getSExtValue() + shift};
  if (matchPattern(operand, m_Constant(&numbers)) && numbers.isSplat())
    return {relative, isLow, nullptr, numbers.getSplatValue<APInt>().getSExtValue() + shift};
  return {relative, isLow, operand.getAsOpaquePointer(), shift};
}

/// The bounds that are all of a mask; none: it is another kind of mask.
static std::optional<SmallVector<Bound>> boundsOf(Operation *mask) {
  using Bounds = std::optional<SmallVector<Bound>>;
  return llvm::TypeSwitch<Operation *, Bounds>(mask)
      .Case([](MaskCausalOp op) -> Bounds { return {{boundAt(true, false, op.getOffset(), 0)}}; })
      .Case([](MaskWindowOp op) -> Bounds {
        return {{boundAt(true, true, op.getOffset(), -static_cast<int64_t>(op.getBefore())),
                 boundAt(true, false, op.getOffset(), static_cast<int64_t>(op.getAfter()))}};
      })
      .Case(
          [](MaskLengthsOp op) -> Bounds { return {{boundAt(false, false, op.getLengths(), -1)}}; })
      .Case([](MaskPrefixOp op) -> Bounds { return {{boundAt(false, false, op.getPrefix(), -1)}}; })
      .Default([](Operation *) -> Bounds { return std::nullopt; });
}

namespace {
class Search {
public:
  /// Whether no way is left open.
  bool closes(Way way);

private:
  static bool closesLeaf(Way &way, const Literal &next);

  int budget = 10000; ///< of steps: ways, and masks in one, may grow as powers of two
};
} // namespace

/// A leaf that has to hold and not to hold.
bool Search::closesLeaf(Way &way, const Literal &next) {
  for (const Literal &leaf : way.leaves)
    if (leaf.holds != next.holds &&
        OperationEquivalence::isEquivalentTo(leaf.mask.getDefiningOp(), next.mask.getDefiningOp(),
                                             OperationEquivalence::IgnoreLocations))
      return true;
  way.leaves.push_back(next);
  return false;
}

bool Search::closes(Way way) {
  while (!way.open.empty()) {
    if (--budget < 0)
      return false;
    Literal next = way.open.pop_back_val();
    Operation *op = next.mask.getDefiningOp();
    if (auto opposite = dyn_cast<MaskNotOp>(op)) {
      way.open.push_back({opposite.getMask(), !next.holds});
    } else if (isa<MaskAndOp, MaskOrOp>(op)) {
      if (isa<MaskAndOp>(op) != next.holds) // either operand is enough
        return llvm::all_of(op->getOperands(),
                            [&](Value operand) { return closes(way.with(operand, next.holds)); });
      for (Value operand : op->getOperands())
        way.open.push_back({operand, next.holds});
    } else if (std::optional<SmallVector<Bound>> bounds = boundsOf(op)) {
      if (!next.holds)
        return llvm::all_of(*bounds, [&](const Bound &bound) {
          Way outside = way;
          return !outside.add(bound.opposite()) || closes(std::move(outside));
        });
      if (!llvm::all_of(*bounds, [&](const Bound &bound) { return way.add(bound); }))
        return true;
    } else if (closesLeaf(way, next)) {
      return true;
    }
  }
  return false;
}

bool excludesItself(Value mask) { return Search().closes(Way().with(mask, true)); }

} // namespace heddle::transformer
