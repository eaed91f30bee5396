//===- HostProgram.cpp - Emitted code, run on the host --------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op becomes a closure over the slots of its operands and results.
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

Elements *HostProgram::slot(Value value) {
  std::unique_ptr<Elements> &entry = slots[value];
  if (!entry)
    entry = std::make_unique<Elements>();
  return entry.get();
}

std::string HostProgram::compile(Block &block, Resolver resolve) {
  arguments.assign(block.args_begin(), block.args_end());
  steps = compileBlock(block, resolve);
  return error;
}

std::vector<HostProgram::Step> HostProgram::compileBlock(Block &block, Resolver resolve) {
  std::vector<Step> result;
  for (Operation &op : block)
    if (Step step = compileOp(&op, resolve))
      result.push_back(std::move(step));
  return result;
}

HostProgram::Step HostProgram::compileOp(Operation *op, Resolver resolve) {
  if (isa<scf::YieldOp>(op))
    return {};
  if (isa<arith::ConstantOp>(op))
    return compileConstant(op);
  if (isa<scf::ForOp>(op))
    return compileFor(op, resolve);
  if (isa<func::CallOp>(op))
    return compileCall(op, resolve);
  for (auto compile :
       {&HostProgram::compileInteger, &HostProgram::compileGuarded, &HostProgram::compileCompare,
        &HostProgram::compileSelect, &HostProgram::compileFloat})
    if (Step step = (this->*compile)(op))
      return step;
  error = "expected ops that masks emit, found '" + op->getName().getStringRef().str() + "'";
  return {};
}

template <typename F>
HostProgram::Step HostProgram::unary(Operation *op, F f) {
  Elements *x = slot(op->getOperand(0)), *r = slot(op->getResult(0));
  return [=] {
    r->resize(x->size());
    for (size_t n = 0; n < x->size(); ++n)
      (*r)[n] = f((*x)[n]);
  };
}

template <typename F>
HostProgram::Step HostProgram::binary(Operation *op, F f) {
  Elements *x = slot(op->getOperand(0)), *y = slot(op->getOperand(1)), *r = slot(op->getResult(0));
  return [=] {
    r->resize(x->size());
    for (size_t n = 0; n < x->size(); ++n)
      (*r)[n] = f((*x)[n], (*y)[n]);
  };
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static int32_t asSigned(uint32_t x) { return static_cast<int32_t>(x); }
static float asFloat(uint32_t x) { return std::bit_cast<float>(x); }
static uint32_t bitsOf(float x) { return std::bit_cast<uint32_t>(x); }

static uint32_t bitsOf(Attribute number) {
  if (auto real = dyn_cast<FloatAttr>(number))
    return bitsOf(real.getValue().convertToFloat());
  APInt value = cast<IntegerAttr>(number).getValue();
  return static_cast<uint32_t>(value.getBitWidth() == 1 ? value.getZExtValue()
                                                        : value.getSExtValue());
}

HostProgram::Step HostProgram::compileConstant(Operation *op) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  Elements *r = slot(op->getResult(0));
  if (auto tile = dyn_cast<DenseElementsAttr>(value)) {
    r->clear();
    for (Attribute number : tile.getValues<Attribute>())
      r->push_back(bitsOf(number));
  } else {
    *r = {bitsOf(value)};
  }
  return {}; // filled once
}

HostProgram::Step HostProgram::compileInteger(Operation *op) {
  using U = uint32_t;
  return llvm::TypeSwitch<Operation *, Step>(op)
      .Case([&](arith::AddIOp) { return binary(op, [](U x, U y) { return x + y; }); })
      .Case([&](arith::SubIOp) { return binary(op, [](U x, U y) { return x - y; }); })
      .Case([&](arith::MulIOp) { return binary(op, [](U x, U y) { return x * y; }); })
      .Case([&](arith::AndIOp) { return binary(op, [](U x, U y) { return x & y; }); })
      .Case([&](arith::OrIOp) { return binary(op, [](U x, U y) { return x | y; }); })
      .Case([&](arith::XOrIOp) { return binary(op, [](U x, U y) { return x ^ y; }); })
      .Case([&](arith::MinSIOp) {
        return binary(op, [](U x, U y) { return asSigned(x) < asSigned(y) ? x : y; });
      })
      .Case([&](arith::MaxSIOp) {
        return binary(op, [](U x, U y) { return asSigned(x) > asSigned(y) ? x : y; });
      })
      .Case([&](arith::MulSIExtendedOp product) -> Step {
        Elements *x = slot(product.getLhs()), *y = slot(product.getRhs()),
                 *l = slot(product.getLow()), *h = slot(product.getHigh());
        return [=] {
          int64_t p = int64_t(asSigned((*x)[0])) * asSigned((*y)[0]);
          *l = {static_cast<U>(p)};
          *h = {static_cast<U>(p >> 32)};
        };
      })
      .Default([](Operation *) { return Step(); });
}

/// Divisions and shifts, which have no value for some operands.
HostProgram::Step HostProgram::compileGuarded(Operation *op) {
  using U = uint32_t;
  bool *trap = &trapped;
  auto inRange = [trap](U by) {
    *trap |= by > 31;
    return by & 31;
  };
  return llvm::TypeSwitch<Operation *, Step>(op)
      .Case([&](arith::DivSIOp) {
        return binary(op, [trap](U x, U y) -> U {
          bool bad = y == 0 || (x == 0x80000000u && y == 0xffffffffu);
          *trap |= bad;
          return bad ? 0 : static_cast<U>(asSigned(x) / asSigned(y));
        });
      })
      .Case([&](arith::ShLIOp) {
        return binary(op, [inRange](U x, U by) { return x << inRange(by); });
      })
      .Case([&](arith::ShRSIOp) {
        return binary(op,
                      [inRange](U x, U by) { return static_cast<U>(asSigned(x) >> inRange(by)); });
      })
      .Case([&](arith::ShRUIOp) {
        return binary(op, [inRange](U x, U by) { return x >> inRange(by); });
      })
      .Default([](Operation *) { return Step(); });
}

HostProgram::Step HostProgram::compileCompare(Operation *op) {
  auto cmp = dyn_cast<arith::CmpIOp>(op);
  if (!cmp)
    return {};
  using U = uint32_t;
  switch (cmp.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return binary(op, [](U x, U y) -> U { return x == y; });
  case arith::CmpIPredicate::ne:
    return binary(op, [](U x, U y) -> U { return x != y; });
  case arith::CmpIPredicate::slt:
    return binary(op, [](U x, U y) -> U { return asSigned(x) < asSigned(y); });
  case arith::CmpIPredicate::sle:
    return binary(op, [](U x, U y) -> U { return asSigned(x) <= asSigned(y); });
  case arith::CmpIPredicate::sgt:
    return binary(op, [](U x, U y) -> U { return asSigned(x) > asSigned(y); });
  case arith::CmpIPredicate::sge:
    return binary(op, [](U x, U y) -> U { return asSigned(x) >= asSigned(y); });
  case arith::CmpIPredicate::ult:
    return binary(op, [](U x, U y) -> U { return x < y; });
  case arith::CmpIPredicate::ule:
    return binary(op, [](U x, U y) -> U { return x <= y; });
  case arith::CmpIPredicate::ugt:
    return binary(op, [](U x, U y) -> U { return x > y; });
  case arith::CmpIPredicate::uge:
    return binary(op, [](U x, U y) -> U { return x >= y; });
  }
  return {};
}

HostProgram::Step HostProgram::compileSelect(Operation *op) {
  auto choice = dyn_cast<arith::SelectOp>(op);
  if (!choice)
    return {};
  Elements *c = slot(choice.getCondition()), *x = slot(choice.getTrueValue()),
           *y = slot(choice.getFalseValue()), *r = slot(choice.getResult());
  return [=] {
    r->resize(c->size());
    for (size_t n = 0; n < c->size(); ++n)
      (*r)[n] = (*c)[n] ? (*x)[n] : (*y)[n];
  };
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

HostProgram::Step HostProgram::compileFloat(Operation *op) {
  using U = uint32_t;
  auto two = [&](auto f) {
    return binary(op, [f](U x, U y) { return bitsOf(f(asFloat(x), asFloat(y))); });
  };
  auto one = [&](auto f) { return unary(op, [f](U x) { return bitsOf(f(asFloat(x))); }); };
  // NaN where either is, unlike fmin and fmax.
  auto larger = [](float x, float y) {
    return std::isnan(x) ? x : std::isnan(y) ? y : std::fmax(x, y);
  };
  auto smaller = [](float x, float y) {
    return std::isnan(x) ? x : std::isnan(y) ? y : std::fmin(x, y);
  };
  return llvm::TypeSwitch<Operation *, Step>(op)
      .Case([&](arith::AddFOp) { return two([](float x, float y) { return x + y; }); })
      .Case([&](arith::SubFOp) { return two([](float x, float y) { return x - y; }); })
      .Case([&](arith::MulFOp) { return two([](float x, float y) { return x * y; }); })
      .Case([&](arith::DivFOp) { return two([](float x, float y) { return x / y; }); })
      .Case([&](arith::MaximumFOp) { return two(larger); })
      .Case([&](arith::MinimumFOp) { return two(smaller); })
      .Case([&](arith::NegFOp) { return one([](float x) { return -x; }); })
      .Case([&](math::AbsFOp) { return one([](float x) { return std::fabs(x); }); })
      .Case([&](math::ExpOp) { return one([](float x) { return std::exp(x); }); })
      .Case([&](math::LogOp) { return one([](float x) { return std::log(x); }); })
      .Case([&](arith::SIToFPOp) {
        return unary(op, [](U x) { return bitsOf(static_cast<float>(asSigned(x))); });
      })
      .Case([&](arith::CmpFOp cmp) {
        arith::CmpFPredicate p = cmp.getPredicate();
        return binary(op, [p](U x, U y) -> U {
          return arith::applyCmpPredicate(p, APFloat(asFloat(x)), APFloat(asFloat(y)));
        });
      })
      .Default([](Operation *) { return Step(); });
}

//===----------------------------------------------------------------------===//
// Loops and calls
//===----------------------------------------------------------------------===//

HostProgram::Step HostProgram::compileFor(Operation *op, Resolver resolve) {
  auto loop = cast<scf::ForOp>(op);
  auto body = std::make_shared<std::vector<Step>>(compileBlock(*loop.getBody(), resolve));
  Elements *low = slot(loop.getLowerBound()), *high = slot(loop.getUpperBound()),
           *step = slot(loop.getStep()), *index = slot(loop.getInductionVar());
  struct Carried {
    Elements *init, *argument, *yielded, *result;
  };
  std::vector<Carried> carried;
  for (unsigned n = 0; n < loop.getNumRegionIterArgs(); ++n)
    carried.push_back({slot(loop.getInitArgs()[n]), slot(loop.getRegionIterArg(n)),
                       slot(loop.getBody()->getTerminator()->getOperand(n)),
                       slot(loop.getResult(n))});
  return [=] {
    for (const Carried &c : carried)
      *c.result = *c.init;
    for (int64_t x = asSigned((*low)[0]); x < asSigned((*high)[0]); x += asSigned((*step)[0])) {
      *index = {static_cast<uint32_t>(x)};
      for (const Carried &c : carried)
        *c.argument = *c.result;
      runSteps(*body);
      for (const Carried &c : carried)
        *c.result = *c.yielded;
    }
  };
}

HostProgram::Step HostProgram::compileCall(Operation *op, Resolver resolve) {
  Function function = resolve(cast<func::CallOp>(op).getCallee());
  auto slotsOf = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return slot(v); });
  };
  SmallVector<Elements *> results = slotsOf(op->getResults());
  SmallVector<const Elements *> operands(
      llvm::map_range(op->getOperands(), [&](Value v) { return slot(v); }));
  return [=] { function(operands, results); };
}
