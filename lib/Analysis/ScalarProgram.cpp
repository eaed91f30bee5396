//===- ScalarProgram.cpp - Interpreter of scalar arith and math -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interpreter of scalar ops. MLIR's folder is no replacement: it keeps every
// number in the context forever, which pictures with millions of tiles cannot
// afford, and it does not fold x / 0.

#include "heddle/Analysis/ScalarProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace heddle {

//===- Integers ----------------------------------------------------------===//

/// Bits of an integer or its tensor; 0 for other types.
static unsigned widthOf(Type type) {
  type = getElementTypeOrSelf(type);
  return type.isIndex() ? 64 : type.isInteger() ? type.getIntOrFloatBitWidth() : 0;
}

/// Truncates to `width` bits and sign-extends; i1 stays 0 or 1.
static double wrapped(int64_t x, unsigned width) {
  return static_cast<double>(width == 1 ? x & 1 : llvm::SignExtend64(x, width));
}
/// A number's bits as a signed integer (a set i1 is -1), and as an unsigned integer.
static int64_t signedOf(double x, unsigned width) {
  auto value = static_cast<int64_t>(x);
  return width == 1 ? -value : value;
}
static uint64_t unsignedOf(double x, unsigned width) {
  return static_cast<uint64_t>(static_cast<int64_t>(x)) & llvm::maskTrailingOnes<uint64_t>(width);
}

/// Integer quotient, rounded down (-1), toward zero (0) or up (1).
static int64_t quotient(int64_t x, int64_t y, int rounding) {
  if (y == 0)
    return 0;
  int64_t q = x / y;
  bool isInexact = q * y != x, isNegative = (x < 0) != (y < 0);
  if (isInexact && rounding < 0 && isNegative)
    return q - 1;
  return isInexact && rounding > 0 && !isNegative ? q + 1 : q;
}

/// Ops on signed integers. The caller wraps the result.
static int64_t (*signedOp(StringRef name))(int64_t, int64_t) {
  using I = int64_t;
  return llvm::StringSwitch<I (*)(I, I)>(name)
      .Case("arith.addi", [](I x, I y) { return x + y; })
      .Case("arith.subi", [](I x, I y) { return x - y; })
      .Case("arith.muli", [](I x, I y) { return x * y; })
      .Case("arith.floordivsi", [](I x, I y) { return quotient(x, y, -1); })
      .Case("arith.divsi", [](I x, I y) { return quotient(x, y, 0); })
      .Case("arith.ceildivsi", [](I x, I y) { return quotient(x, y, 1); })
      .Case("arith.remsi", [](I x, I y) { return y == 0 ? 0 : x % y; })
      .Case("arith.minsi", [](I x, I y) { return std::min(x, y); })
      .Case("arith.maxsi", [](I x, I y) { return std::max(x, y); })
      .Case("arith.andi", [](I x, I y) { return x & y; })
      .Case("arith.ori", [](I x, I y) { return x | y; })
      .Case("arith.xori", [](I x, I y) { return x ^ y; })
      .Case("arith.shrsi", [](I x, I y) { return y < 0 || y > 31 ? (x < 0 ? I(-1) : 0) : x >> y; })
      .Case("arith.extsi", [](I x, I) { return x; })
      .Case("arith.trunci", [](I x, I) { return x; })
      .Case("arith.index_cast", [](I x, I) { return x; })
      .Default(nullptr);
}

/// Extensions and shifts that read their operands as unsigned bits.
static ScalarOp bitsOp(Operation *op, unsigned from, unsigned to) {
  if (isa<arith::ExtUIOp>(op))
    return [=](const double *x) { return wrapped(unsignedOf(x[0], from), to); };
  bool left = isa<arith::ShLIOp>(op);
  if (!left && !isa<arith::ShRUIOp>(op))
    return {};
  return [=](const double *x) {
    if (x[1] < 0 || x[1] > 31)
      return 0.0;
    uint64_t bits = unsignedOf(x[0], from), by = static_cast<uint64_t>(x[1]);
    return wrapped(left ? bits << by : bits >> by, to);
  };
}

static ScalarOp integerOp(Operation *op) {
  unsigned from = widthOf(op->getOperand(0).getType()), to = widthOf(op->getResult(0).getType());
  if (isa<arith::SIToFPOp>(op))
    return [=](const double *x) { return static_cast<double>(signedOf(x[0], from)); };
  if (!from || !to)
    return {};
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return [=, predicate = compare.getPredicate()](const double *x) -> double {
      return arith::applyCmpPredicate(predicate, APInt(from, unsignedOf(x[0], from)),
                                      APInt(from, unsignedOf(x[1], from)));
    };
  if (auto *whole = signedOp(op->getName().getStringRef()))
    return [=](const double *x) {
      return wrapped(whole(signedOf(x[0], from), signedOf(x[1], from)), to);
    };
  return bitsOp(op, from, to);
}

//===- Numbers -----------------------------------------------------------===//

static double (*realOp(StringRef name))(const double *) {
  using X = const double *;
  return llvm::StringSwitch<double (*)(X)>(name)
      .Case("arith.addf", [](X x) { return x[0] + x[1]; })
      .Case("arith.subf", [](X x) { return x[0] - x[1]; })
      .Case("arith.mulf", [](X x) { return x[0] * x[1]; })
      .Case("arith.divf", [](X x) { return x[0] / x[1]; })
      .Case("arith.negf", [](X x) { return -x[0]; })
      .Case("arith.maximumf", [](X x) { return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1]; })
      .Case("arith.minimumf", [](X x) { return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1]; })
      .Case("arith.select", [](X x) { return x[0] != 0 ? x[1] : x[2]; })
      .Case("math.absf", [](X x) { return std::abs(x[0]); })
      .Case("math.exp", [](X x) { return std::exp(x[0]); })
      .Case("math.log", [](X x) { return std::log(x[0]); })
      .Default(nullptr);
}

ScalarOp scalarOp(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return {};
  if (auto *real = realOp(op->getName().getStringRef()))
    return real;
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return [predicate = compare.getPredicate()](const double *x) -> double {
      return arith::applyCmpPredicate(predicate, APFloat(x[0]), APFloat(x[1]));
    };
  return integerOp(op);
}

double scalarNumber(Attribute attribute) {
  if (auto splat = dyn_cast<DenseElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  auto whole = cast<IntegerAttr>(attribute);
  return wrapped(whole.getValue().getSExtValue(), widthOf(whole.getType()));
}

//===- Programs ----------------------------------------------------------===//

/// Whether a device traps or returns an unspecified value. Emitted code contains no floordivsi,
/// ceildivsi or remsi, because masks expand them.
static bool (*trapOf(Operation *op))(const double *) {
  if (isa<arith::DivSIOp>(op))
    return [](const double *x) { return x[1] == 0 || (x[0] == -0x1p31 && x[1] == -1); };
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return [](const double *x) { return x[1] < 0 || x[1] > 31; };
  return nullptr;
}

unsigned ScalarProgram::addCell(double initial) {
  cells.push_back(initial);
  return static_cast<unsigned>(cells.size() - 1);
}

unsigned ScalarProgram::cellOf(Value value, const Site &site) {
  auto known = numbers.find(value);
  if (known != numbers.end())
    return known->second;
  unsigned cell = addCell(site.captured(value));
  numbers[value] = cell;
  return cell;
}

/// The function of an op: its semantics here, with f32 results rounded, or the site's function.
ScalarProgram::Function ScalarProgram::functionOf(Operation *op, const Site &site) {
  if (isa<arith::MulSIExtendedOp>(op))
    return [](const double *x, double *r) {
      int64_t product = static_cast<int64_t>(x[0]) * static_cast<int64_t>(x[1]);
      r[0] = wrapped(product, 32);
      r[1] = static_cast<double>(product >> 32);
    };
  ScalarOp compute = scalarOp(op);
  if (!compute)
    return site.function(op);
  if (getElementTypeOrSelf(op->getResult(0).getType()).isF32())
    return [=](const double *x, double *r) { *r = static_cast<float>(compute(x)); };
  return [=](const double *x, double *r) { *r = compute(x); };
}

/// Compiles a loop to one step. The result cells carry the loop's values, so a loop without
/// iterations yields the initial values.
Operation *ScalarProgram::compileLoop(Operation *op, const Site &site, Steps &into) {
  auto loop = cast<scf::ForOp>(op);
  Block &body = *loop.getBody();
  auto cellsOf = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return cellOf(value, site); });
  };
  SmallVector<unsigned> bounds =
      cellsOf({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
  SmallVector<unsigned> init = cellsOf(loop.getInitArgs()), results;
  for (Value result : loop.getResults())
    results.push_back(numbers[result] = addCell(0));
  for (Value argument : body.getArguments())
    numbers[argument] = addCell(0);
  Steps inside;
  if (Operation *unknown = compileBlock(body, site, inside))
    return unknown;
  SmallVector<unsigned> arguments = cellsOf(ValueRange(body.getArguments())),
                        yielded = cellsOf(body.getTerminator()->getOperands());
  into.push_back([=, inside = std::move(inside)](double *cells) {
    auto copy = [&](ArrayRef<unsigned> from, ArrayRef<unsigned> to) {
      for (auto [source, target] : llvm::zip_equal(from, to))
        cells[target] = cells[source];
    };
    copy(init, results);
    for (double x = cells[bounds[0]]; x < cells[bounds[1]]; x += cells[bounds[2]]) {
      cells[arguments[0]] = x;
      copy(results, ArrayRef(arguments).drop_front());
      for (const Step &step : inside)
        step(cells);
      copy(yielded, results);
    }
  });
  return nullptr;
}

/// Appends a step for each op before the terminator. The results of an op are in consecutive cells.
Operation *ScalarProgram::compileBlock(Block &block, const Site &site, Steps &into) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      numbers[constant] = addCell(scalarNumber(constant.getValue()));
      continue;
    }
    if (isa<scf::ForOp>(op)) {
      if (Operation *unknown = compileLoop(&op, site, into))
        return unknown;
      continue;
    }
    Function function = functionOf(&op, site);
    if (!function)
      return &op;
    SmallVector<unsigned> operands;
    for (Value operand : op.getOperands())
      if (numbers.contains(operand) || !isa<ShapedType>(operand.getType()))
        operands.push_back(cellOf(operand, site));
    unsigned result = static_cast<unsigned>(cells.size());
    for (Value value : op.getResults())
      numbers[value] = addCell(0);
    into.push_back([=, trap = trapOf(&op), flag = trapped](double *cells) {
      double x[4] = {};
      for (auto [n, operand] : llvm::enumerate(operands))
        x[n] = cells[operand];
      if (trap && trap(x))
        cells[flag] = 1;
      function(x, cells + result);
    });
  }
  return nullptr;
}

Operation *ScalarProgram::compile(Block &block, const Site &site) {
  for (Value argument : block.getArguments())
    numbers[argument] = addCell(0);
  trapped = addCell(0);
  return compileBlock(block, site, steps);
}

ScalarProgram::Cells ScalarProgram::run(ArrayRef<double> arguments) const {
  Cells now = cells;
  llvm::copy(arguments, now.begin());
  for (const Step &step : steps)
    step(now.data());
  return now;
}

} // namespace heddle
