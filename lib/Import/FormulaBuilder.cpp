//===- FormulaBuilder.cpp - Formulas as regions ---------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One op or two for each operator. Integers become reals where a real stands
// beside them, tables become inputs of the function.
//
//===----------------------------------------------------------------------===//

#include "FormulaBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using Kind = Formula::Kind;
using NumberType = Formula::Type;

namespace {
class Writer {
public:
  Writer(FunctionBuilder &f, Block &block, Value offset, const std::string &sentences)
      : f(f), b(f.b), block(block), offset(offset), sentences(sentences) {}

  Value emit(const Formula &e);
  Value emitReal(const Formula &e) { return toReal(emit(e)); }

private:
  Value index(const Formula &e);
  Value table(const Formula &e);
  Value operation(const Formula &e);
  Value onIntegers(const std::string &word, Value x, Value y);
  Value onReals(const std::string &word, Value x, Value y);
  Value onTruths(const Formula &e);
  Value comparison(const std::string &word, Value x, Value y);
  Value remainder(Value x, Value y);
  Value toReal(Value x) {
    return x.getType().isInteger(32)
               ? arith::SIToFPOp::create(b, f.loc, b.getF32Type(), x).getResult()
               : x;
  }
  Value integer(int64_t value) { return arith::ConstantIntOp::create(b, f.loc, value, 32); }

  FunctionBuilder &f;
  OpBuilder &b;
  Block &block;
  Value offset;
  const std::string &sentences;
};
} // namespace

Value Writer::index(const Formula &e) {
  static constexpr llvm::StringLiteral names = "bhij";
  unsigned position = names.find(e.word[0]);
  Value value = block.getArgument(position);
  return offset && e.word == "i" ? arith::AddIOp::create(b, f.loc, value, offset).getResult()
                                 : value;
}

Value Writer::table(const Formula &e) {
  Type element = e.type == NumberType::Real ? Type(b.getF32Type()) : Type(b.getI32Type());
  std::string entries = e.word + ".entries";
  Value input = e.perBatch ? f.input(e.word, element, {sentences, entries})
                           : f.input(e.word, element, {entries});
  SmallVector<Value> indices;
  if (e.perBatch)
    indices.push_back(block.getArgument(0));
  indices.push_back(emit(e.operands[0]));
  return MaskLoadOp::create(b, f.loc, element, input, indices);
}

Value Writer::emit(const Formula &e) {
  switch (e.kind) {
  case Kind::Number:
    if (e.type == NumberType::Integer)
      return integer(static_cast<int64_t>(e.value));
    return arith::ConstantOp::create(b, f.loc, b.getF32FloatAttr(static_cast<float>(e.value)));
  case Kind::Index:
    return index(e);
  case Kind::Table:
    return table(e);
  case Kind::Operator:
    return operation(e);
  }
  llvm_unreachable("unknown formula");
}

/// Floored, and 0 where y is 0.
Value Writer::remainder(Value x, Value y) {
  Value whole = arith::FloorDivSIOp::create(b, f.loc, x, y);
  Value rest = arith::SubIOp::create(b, f.loc, x, arith::MulIOp::create(b, f.loc, whole, y));
  if (auto constant = y.getDefiningOp<arith::ConstantIntOp>(); constant && constant.value() != 0)
    return rest;
  Value zero = integer(0);
  Value none = arith::CmpIOp::create(b, f.loc, arith::CmpIPredicate::eq, y, zero);
  return arith::SelectOp::create(b, f.loc, none, zero, rest);
}

Value Writer::onIntegers(const std::string &word, Value x, Value y) {
  if (word == "neg" || word == "abs") {
    Value negative = arith::SubIOp::create(b, f.loc, integer(0), x);
    return word == "neg" ? negative : arith::MaxSIOp::create(b, f.loc, x, negative).getResult();
  }
  if (word == "%")
    return remainder(x, y);
  return llvm::StringSwitch<function_ref<Value()>>(word)
      .Case("+", [&]() -> Value { return arith::AddIOp::create(b, f.loc, x, y); })
      .Case("-", [&]() -> Value { return arith::SubIOp::create(b, f.loc, x, y); })
      .Case("*", [&]() -> Value { return arith::MulIOp::create(b, f.loc, x, y); })
      .Case("/", [&]() -> Value { return arith::FloorDivSIOp::create(b, f.loc, x, y); })
      .Case("min", [&]() -> Value { return arith::MinSIOp::create(b, f.loc, x, y); })
      .Default([&]() -> Value { return arith::MaxSIOp::create(b, f.loc, x, y); })();
}

Value Writer::onReals(const std::string &word, Value x, Value y) {
  return llvm::StringSwitch<function_ref<Value()>>(word)
      .Case("+", [&]() -> Value { return arith::AddFOp::create(b, f.loc, x, y); })
      .Case("-", [&]() -> Value { return arith::SubFOp::create(b, f.loc, x, y); })
      .Case("*", [&]() -> Value { return arith::MulFOp::create(b, f.loc, x, y); })
      .Case("/", [&]() -> Value { return arith::DivFOp::create(b, f.loc, x, y); })
      .Case("min", [&]() -> Value { return arith::MinimumFOp::create(b, f.loc, x, y); })
      .Case("max", [&]() -> Value { return arith::MaximumFOp::create(b, f.loc, x, y); })
      .Case("neg", [&]() -> Value { return arith::NegFOp::create(b, f.loc, x); })
      .Case("abs", [&]() -> Value { return math::AbsFOp::create(b, f.loc, x); })
      .Case("exp", [&]() -> Value { return math::ExpOp::create(b, f.loc, x); })
      .Default([&]() -> Value { return math::LogOp::create(b, f.loc, x); })();
}

Value Writer::comparison(const std::string &word, Value x, Value y) {
  if (x.getType().isInteger(32) && y.getType().isInteger(32)) {
    auto predicate = llvm::StringSwitch<arith::CmpIPredicate>(word)
                         .Case("<", arith::CmpIPredicate::slt)
                         .Case("<=", arith::CmpIPredicate::sle)
                         .Case(">", arith::CmpIPredicate::sgt)
                         .Case(">=", arith::CmpIPredicate::sge)
                         .Case("==", arith::CmpIPredicate::eq)
                         .Default(arith::CmpIPredicate::ne);
    return arith::CmpIOp::create(b, f.loc, predicate, x, y);
  }
  auto predicate = llvm::StringSwitch<arith::CmpFPredicate>(word)
                       .Case("<", arith::CmpFPredicate::OLT)
                       .Case("<=", arith::CmpFPredicate::OLE)
                       .Case(">", arith::CmpFPredicate::OGT)
                       .Case(">=", arith::CmpFPredicate::OGE)
                       .Case("==", arith::CmpFPredicate::OEQ)
                       .Default(arith::CmpFPredicate::UNE);
  return arith::CmpFOp::create(b, f.loc, predicate, toReal(x), toReal(y));
}

Value Writer::onTruths(const Formula &e) {
  Value x = emit(e.operands[0]);
  if (e.word == "not") {
    Value yes = arith::ConstantIntOp::create(b, f.loc, 1, 1);
    return arith::XOrIOp::create(b, f.loc, x, yes);
  }
  Value y = emit(e.operands[1]);
  if (e.word == "&&")
    return arith::AndIOp::create(b, f.loc, x, y);
  if (e.word == "||")
    return arith::OrIOp::create(b, f.loc, x, y);
  return comparison(e.word, x, y);
}

Value Writer::operation(const Formula &e) {
  if (e.word == "?") {
    Value condition = emit(e.operands[0]), yes = emit(e.operands[1]), no = emit(e.operands[2]);
    if (e.type == NumberType::Real)
      yes = toReal(yes), no = toReal(no);
    return arith::SelectOp::create(b, f.loc, condition, yes, no);
  }
  if (e.type == NumberType::Truth)
    return onTruths(e);
  Value x = emit(e.operands[0]), y = e.operands.size() > 1 ? emit(e.operands[1]) : Value();
  if (e.type == NumberType::Integer)
    return onIntegers(e.word, x, y);
  return onReals(e.word, toReal(x), y ? toReal(y) : y);
}

void heddle::buildFormula(FunctionBuilder &f, const Formula &formula, Region &region, Value offset,
                          bool scoreRule, const std::string &sentences) {
  OpBuilder::InsertionGuard guard(f.b);
  SmallVector<Type> types(4, f.b.getI32Type());
  Block *block = f.b.createBlock(&region, {}, types, SmallVector<Location>(4, f.loc));
  Writer writer(f, *block, offset, sentences);
  Value result = scoreRule ? writer.emitReal(formula) : writer.emit(formula);
  transformer::YieldOp::create(f.b, f.loc, result);
}
