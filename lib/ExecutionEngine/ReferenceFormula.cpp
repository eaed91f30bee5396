//===- ReferenceFormula.cpp - Regions of `where`, interpreted -------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region becomes a list of steps over numbered cells once, and the steps run
// for each pair. Cells hold integers exactly (i1 as 0 or 1) and f32 rounded
// after each op. Every op has a value everywhere: this is where x / 0 is 0.
//
//===----------------------------------------------------------------------===//

#include "ReferenceMasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle::reference {

namespace {
/// An op's value from those of its operands.
using Element = std::function<double(const double *)>;

/// One op: operands and result are numbers of cells.
struct Step {
  Element compute;
  std::vector<unsigned> operands;
  unsigned result;
};

/// The steps of one region.
class Formula {
public:
  static Expected<Formula> create(Operation *where, const Lookup &lookup);
  double operator()(const Pair &pair) const;

private:
  Status add(Operation *op, const Lookup &lookup);
  unsigned cellOf(Value value, const Lookup &lookup);

  std::vector<double> cells; ///< initial values: 0, or a captured number
  std::vector<Step> steps;
  llvm::DenseMap<Value, unsigned> numbers;
  unsigned yielded = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The integer of `width` bits that x is modulo 2^width: signed, but 0 or 1 for one bit.
static double wrapped(int64_t x, unsigned width) {
  if (width == 1)
    return static_cast<double>(x & 1);
  int64_t modulus = int64_t{1} << width, rest = x & (modulus - 1);
  return static_cast<double>(rest >= modulus / 2 ? rest - modulus : rest);
}
/// The signed and the unsigned reading of a cell.
static int64_t signedOf(double x, unsigned width) {
  auto value = static_cast<int64_t>(x);
  return width == 1 ? -value : value;
}
static int64_t unsignedOf(double x, unsigned width) {
  return static_cast<int64_t>(x) & ((int64_t{1} << width) - 1);
}

/// Quotient rounded down (-1), towards zero (0) or up (1).
static int64_t quotient(int64_t x, int64_t y, int rounding) {
  if (y == 0)
    return 0;
  int64_t q = x / y;
  bool isInexact = q * y != x, isNegative = (x < 0) != (y < 0);
  if (isInexact && rounding < 0 && isNegative)
    return q - 1;
  return isInexact && rounding > 0 && !isNegative ? q + 1 : q;
}

using Whole = std::function<int64_t(int64_t, int64_t)>;

/// Ops on two signed integers whose result wraps.
static Whole signedOp(Operation *op) {
  using I = int64_t;
  return llvm::TypeSwitch<Operation *, Whole>(op)
      .Case<arith::AddIOp>([](auto) { return [](I x, I y) { return x + y; }; })
      .Case<arith::SubIOp>([](auto) { return [](I x, I y) { return x - y; }; })
      .Case<arith::MulIOp>([](auto) { return [](I x, I y) { return x * y; }; })
      .Case<arith::FloorDivSIOp>([](auto) { return [](I x, I y) { return quotient(x, y, -1); }; })
      .Case<arith::DivSIOp>([](auto) { return [](I x, I y) { return quotient(x, y, 0); }; })
      .Case<arith::CeilDivSIOp>([](auto) { return [](I x, I y) { return quotient(x, y, 1); }; })
      .Case<arith::RemSIOp>([](auto) { return [](I x, I y) { return y == 0 ? 0 : x % y; }; })
      .Case<arith::MinSIOp>([](auto) { return [](I x, I y) { return std::min(x, y); }; })
      .Case<arith::MaxSIOp>([](auto) { return [](I x, I y) { return std::max(x, y); }; })
      .Case<arith::AndIOp>([](auto) { return [](I x, I y) { return x & y; }; })
      .Case<arith::OrIOp>([](auto) { return [](I x, I y) { return x | y; }; })
      .Case<arith::XOrIOp>([](auto) { return [](I x, I y) { return x ^ y; }; })
      .Case<arith::ShRSIOp>(
          [](auto) { return [](I x, I y) { return y < 0 || y > 31 ? (x < 0 ? -1 : 0) : x >> y; }; })
      .Default(Whole());
}

/// A shift, which reads its first operand as bits.
static Element shift(Operation *op, unsigned width) {
  bool left = isa<arith::ShLIOp>(op);
  return [left, width](const double *x) {
    auto by = static_cast<int64_t>(x[1]);
    if (by < 0 || by > 31)
      return 0.0;
    int64_t bits = unsignedOf(x[0], width);
    return wrapped(left ? bits << by : bits >> by, width);
  };
}

template <typename T, typename Predicate>
static bool holds(Predicate predicate, T x, T y) {
  switch (predicate) {
  case Predicate::eq:
    return x == y;
  case Predicate::ne:
    return x != y;
  case Predicate::slt:
  case Predicate::ult:
    return x < y;
  case Predicate::sle:
  case Predicate::ule:
    return x <= y;
  case Predicate::sgt:
  case Predicate::ugt:
    return x > y;
  case Predicate::sge:
  case Predicate::uge:
    return x >= y;
  }
  llvm_unreachable("a predicate of cmpi");
}

static Element compareIntegers(arith::CmpIOp op, unsigned width) {
  arith::CmpIPredicate predicate = op.getPredicate();
  bool asBits = predicate >= arith::CmpIPredicate::ult;
  return [=](const double *x) {
    auto read = asBits ? unsignedOf : signedOf;
    return holds(predicate, read(x[0], width), read(x[1], width)) ? 1.0 : 0.0;
  };
}

/// An op on integers, `width` being that of its operands.
static Element integerElement(Operation *op) {
  auto operand = dyn_cast<IntegerType>(op->getOperand(0).getType());
  auto result = dyn_cast<IntegerType>(op->getResult(0).getType());
  if (!operand || !result)
    return {};
  unsigned width = operand.getWidth(), to = result.getWidth();
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare, width);
  if (isa<arith::ShLIOp, arith::ShRUIOp>(op))
    return shift(op, width);
  if (isa<arith::ExtUIOp>(op))
    return [=](const double *x) { return wrapped(unsignedOf(x[0], width), to); };
  if (isa<arith::ExtSIOp, arith::TruncIOp>(op))
    return [=](const double *x) { return wrapped(signedOf(x[0], width), to); };
  if (Whole whole = signedOp(op))
    return [=](const double *x) {
      return wrapped(whole(signedOf(x[0], width), signedOf(x[1], width)), to);
    };
  return {};
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static double rounded(double x) { return static_cast<float>(x); }

/// The ordering of two numbers by cmpf: its predicates are sets of these.
enum Ordering { Equal = 1, Greater = 2, Less = 4, Unordered = 8 };

static Element compareFloats(arith::CmpFOp op) {
  using P = arith::CmpFPredicate;
  static const std::pair<P, int> sets[] = {
      {P::AlwaysFalse, 0},
      {P::OEQ, Equal},
      {P::OGT, Greater},
      {P::OGE, Greater | Equal},
      {P::OLT, Less},
      {P::OLE, Less | Equal},
      {P::ONE, Less | Greater},
      {P::ORD, Less | Greater | Equal},
      {P::UEQ, Unordered | Equal},
      {P::UGT, Unordered | Greater},
      {P::UGE, Unordered | Greater | Equal},
      {P::ULT, Unordered | Less},
      {P::ULE, Unordered | Less | Equal},
      {P::UNE, Unordered | Less | Greater},
      {P::UNO, Unordered},
      {P::AlwaysTrue, Unordered | Less | Greater | Equal},
  };
  int set = 0;
  for (auto [predicate, members] : sets)
    if (predicate == op.getPredicate())
      set = members;
  return [set](const double *x) {
    int found = x[0] < x[1] ? Less : x[0] > x[1] ? Greater : x[0] == x[1] ? Equal : Unordered;
    return set & found ? 1.0 : 0.0;
  };
}

static Element floatElement(Operation *op) {
  using X = const double *;
  return llvm::TypeSwitch<Operation *, Element>(op)
      .Case<arith::AddFOp>([](auto) { return [](X x) { return rounded(x[0] + x[1]); }; })
      .Case<arith::SubFOp>([](auto) { return [](X x) { return rounded(x[0] - x[1]); }; })
      .Case<arith::MulFOp>([](auto) { return [](X x) { return rounded(x[0] * x[1]); }; })
      .Case<arith::DivFOp>([](auto) { return [](X x) { return rounded(x[0] / x[1]); }; })
      .Case<arith::NegFOp>([](auto) { return [](X x) { return -x[0]; }; })
      .Case<arith::MaximumFOp>(
          [](auto) { return [](X x) { return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1]; }; })
      .Case<arith::MinimumFOp>(
          [](auto) { return [](X x) { return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1]; }; })
      .Case<arith::SIToFPOp>([](arith::SIToFPOp op) {
        unsigned width = op.getIn().getType().getIntOrFloatBitWidth();
        return [width](X x) { return rounded(static_cast<double>(signedOf(x[0], width))); };
      })
      .Case<arith::CmpFOp>([](arith::CmpFOp op) { return compareFloats(op); })
      .Case<math::AbsFOp>([](auto) { return [](X x) { return std::abs(x[0]); }; })
      .Case<math::ExpOp>([](auto) { return [](X x) { return rounded(std::exp(x[0])); }; })
      .Case<math::LogOp>([](auto) { return [](X x) { return rounded(std::log(x[0])); }; })
      .Default(Element());
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// table[x] or table[b, x]; 0 outside.
static Element load(MaskLoadOp op, const Lookup &lookup) {
  const RefTensor &table = lookup(op.getTable());
  return [&table](const double *x) {
    int64_t at = 0;
    for (size_t d = 0; d < table.shape.size(); ++d) {
      auto index = static_cast<int64_t>(x[d]);
      if (index < 0 || index >= table.shape[d])
        return 0.0;
      at = at * table.shape[d] + index;
    }
    return table.values[at];
  };
}

static Element elementOf(Operation *op, const Lookup &lookup) {
  if (auto loaded = dyn_cast<MaskLoadOp>(op))
    return load(loaded, lookup);
  if (isa<arith::SelectOp>(op))
    return [](const double *x) { return x[0] != 0 ? x[1] : x[2]; };
  if (Element number = floatElement(op))
    return number;
  return op->getNumOperands() ? integerElement(op) : Element();
}

static double numberOf(TypedAttr value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValueAsDouble();
  auto whole = cast<IntegerAttr>(value);
  unsigned width = whole.getType().getIntOrFloatBitWidth();
  return wrapped(whole.getValue().getSExtValue(), width);
}

/// The cell of a value; one from outside gets a cell that holds its number.
unsigned Formula::cellOf(Value value, const Lookup &lookup) {
  auto [entry, isNew] = numbers.try_emplace(value, static_cast<unsigned>(cells.size()));
  if (isNew)
    cells.push_back(lookup(value).values[0]);
  return entry->second;
}

Status Formula::add(Operation *op, const Lookup &lookup) {
  auto number = static_cast<unsigned>(cells.size());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    numbers[constant] = number;
    cells.push_back(numberOf(constant.getValue()));
    return {};
  }
  Element compute = elementOf(op, lookup);
  if (!compute)
    return errorAt(op, "the reference has no meaning for this op in a formula");
  Step step{compute, {}, 0};
  ValueRange operands = op->getOperands();
  for (Value operand : isa<MaskLoadOp>(op) ? operands.drop_front() : operands)
    step.operands.push_back(cellOf(operand, lookup));
  step.result = numbers[op->getResult(0)] = static_cast<unsigned>(cells.size());
  cells.push_back(0);
  steps.push_back(std::move(step));
  return {};
}

Expected<Formula> Formula::create(Operation *where, const Lookup &lookup) {
  Formula made;
  Block &body = where->getRegion(0).front();
  for (Value argument : body.getArguments()) {
    made.numbers[argument] = static_cast<unsigned>(made.cells.size());
    made.cells.push_back(0);
  }
  for (Operation &op : body.without_terminator())
    if (Status added = made.add(&op, lookup); !added)
      return added.takeError();
  made.yielded = made.cellOf(body.getTerminator()->getOperand(0), lookup);
  return made;
}

double Formula::operator()(const Pair &pair) const {
  std::vector<double> now = cells;
  int64_t arguments[] = {pair.b, pair.h, pair.i, pair.j};
  std::copy(std::begin(arguments), std::end(arguments), now.begin());
  for (const Step &step : steps) {
    double x[3] = {};
    for (size_t k = 0; k < step.operands.size(); ++k)
      x[k] = now[step.operands[k]];
    now[step.result] = step.compute(x);
  }
  return now[yielded];
}

Expected<ScoreRule> formula(Operation *where, const Lookup &lookup) {
  Expected<Formula> made = Formula::create(where, lookup);
  if (!made)
    return made.takeError();
  return ScoreRule(std::move(*made));
}

} // namespace heddle::reference
