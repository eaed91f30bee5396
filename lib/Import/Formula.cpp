//===- Formula.cpp - Formulas of where(...) -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates the op of an operator after both operands. The type of a table follows from its context:
// `integers` requires integer tables.

#include "Formula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using IntegerOrder = arith::CmpIPredicate;
using RealOrder = arith::CmpFPredicate;

namespace {
enum class Number { Integer, Real, Truth };

/// A parsed operand; `value` is null if the formula is only checked.
struct Term {
  Number type = Number::Integer;
  Value value;
};

class FormulaEvaluator : public ExpressionEvaluator<Term> {
public:
  FormulaEvaluator(ExpressionCursor &in, bool scoreRule, std::vector<std::string> &tables,
                   const FormulaSite &site)
      : ExpressionEvaluator(in), scoreRule(scoreRule), tables(tables), site(site) {}

  Value real(const Term &x) {
    return x.type == Number::Real || !x.value ? x.value : create<arith::SIToFPOp>(f32(), x.value);
  }

private:
  Term leaf(const Expression &e) override;
  Term call(const Expression &e) override;
  Term element(const Expression &e) override;
  Term prefix(const Expression &e, Term x) override;
  Term choice(const Expression &e) override;
  Term operand(const ExpressionOperator &op, const Expression &e) override;
  Term join(const ExpressionOperator &op, Term x, Term y, size_t left, size_t right) override;
  Term compared(std::string_view word, Term x, Term y);
  Term number(const Expression &e);
  Term arithmetic(llvm::StringRef word, Term x, Term y);
  Value remainder(Value x, Value y);
  Value negative(Term x);

  template <typename Op, typename... Operands>
  Value create(Operands &&...operands) {
    return site.f ? Value(Op::create(site.f->b, site.f->loc, operands...)) : Value();
  }
  template <typename OnIntegers, typename OnReals>
  Term either(Number type, Value x, Value y) {
    return {type, type == Number::Real ? create<OnReals>(x, y) : create<OnIntegers>(x, y)};
  }
  Value integer(int64_t value, int width = 32) {
    return create<arith::ConstantIntOp>(value, width);
  }
  Type f32() { return site.f ? site.f->b.getF32Type() : Type(); }

  /// Counts the result of an operator.
  void count() {
    if (++operations > 2000)
      in.report("expected at most 2000 operations in one formula");
  }
  void want(const Term &x, Number type, size_t where) {
    static constexpr const char *names[] = {"an integer", "a real number", "a truth"};
    if (x.type != type)
      in.report(std::string("expected ") + names[int(type)] + ", found " + names[int(x.type)],
                where);
  }
  void wantNumber(const Term &x, size_t where) {
    if (x.type == Number::Truth)
      in.report("expected a number, found a truth", where);
  }
  bool scoreRule;
  bool integers = false; ///< tables are integers
  std::vector<std::string> &tables;
  const FormulaSite &site;
  int operations = 0;
};
} // namespace

static Number common(const Term &x, const Term &y) {
  return x.type == Number::Real || y.type == Number::Real ? Number::Real : Number::Integer;
}

Term FormulaEvaluator::choice(const Expression &e) {
  Term condition = evaluate(e.operands[0]);
  if (in.failed())
    return condition;
  want(condition, Number::Truth, e.operands[0].begin);
  Term yes = evaluate(e.operands[1]), no = evaluate(e.operands[2]);
  if (in.failed())
    return yes;
  if ((yes.type == Number::Truth) != (no.type == Number::Truth))
    in.report("expected two numbers or two truths", e.operands[2].begin);
  count();
  Number type = yes.type == Number::Truth ? Number::Truth : common(yes, no);
  if (type == Number::Real)
    yes.value = real(yes), no.value = real(no);
  return {type, create<arith::SelectOp>(condition.value, yes.value, no.value)};
}

Term FormulaEvaluator::operand(const ExpressionOperator &op, const Expression &e) {
  llvm::SaveAndRestore required(integers, integers || op.word == "%");
  return evaluate(e);
}

Term FormulaEvaluator::join(const ExpressionOperator &op, Term x, Term y, size_t left,
                            size_t right) {
  if (op.level <= conjunctionLevel) {
    want(x, Number::Truth, left);
    want(y, Number::Truth, right);
    count();
    return {Number::Truth, op.level == conjunctionLevel ? create<arith::AndIOp>(x.value, y.value)
                                                        : create<arith::OrIOp>(x.value, y.value)};
  }
  wantNumber(x, left);
  wantNumber(y, right);
  if (op.word == "%" && common(x, y) == Number::Real)
    in.report("expected integers around '%'", left);
  count();
  return op.level == comparisonLevel ? compared(op.word, x, y) : arithmetic(op.word, x, y);
}

Term FormulaEvaluator::compared(std::string_view word, Term x, Term y) {
  struct Order {
    std::string_view word;
    IntegerOrder integers;
    RealOrder reals;
  };
  static constexpr Order orders[] = {
      {"<=", IntegerOrder::sle, RealOrder::OLE}, {">=", IntegerOrder::sge, RealOrder::OGE},
      {"==", IntegerOrder::eq, RealOrder::OEQ},  {"!=", IntegerOrder::ne, RealOrder::UNE},
      {"<", IntegerOrder::slt, RealOrder::OLT},  {">", IntegerOrder::sgt, RealOrder::OGT}};
  const Order &order = *llvm::find_if(orders, [&](const Order &o) { return o.word == word; });
  if (common(x, y) == Number::Integer)
    return {Number::Truth, create<arith::CmpIOp>(order.integers, x.value, y.value)};
  Value a = real(x), b = real(y);
  return {Number::Truth, create<arith::CmpFOp>(order.reals, a, b)};
}

/// Applies an operator or a function of two arguments; a function of one argument passes it twice.
Term FormulaEvaluator::arithmetic(llvm::StringRef word, Term x, Term y) {
  Number type = common(x, y);
  Value a = x.value, b = y.value;
  if (type == Number::Real)
    a = real(x), b = real(y);
  if (word == "%")
    return {type, remainder(a, b)};
  if (word == "+")
    return either<arith::AddIOp, arith::AddFOp>(type, a, b);
  if (word == "-")
    return either<arith::SubIOp, arith::SubFOp>(type, a, b);
  if (word == "*")
    return either<arith::MulIOp, arith::MulFOp>(type, a, b);
  if (word == "/")
    return either<arith::FloorDivSIOp, arith::DivFOp>(type, a, b);
  if (word == "min")
    return either<arith::MinSIOp, arith::MinimumFOp>(type, a, b);
  return either<arith::MaxSIOp, arith::MaximumFOp>(type, a, b);
}

/// Floored remainder; 0 if y is 0.
Value FormulaEvaluator::remainder(Value x, Value y) {
  Value whole = create<arith::FloorDivSIOp>(x, y);
  Value rest = create<arith::SubIOp>(x, create<arith::MulIOp>(whole, y));
  auto constant = y ? y.getDefiningOp<arith::ConstantIntOp>() : arith::ConstantIntOp();
  if (constant && constant.value() != 0)
    return rest;
  Value zero = integer(0);
  Value none = create<arith::CmpIOp>(IntegerOrder::eq, y, zero);
  return create<arith::SelectOp>(none, zero, rest);
}

Value FormulaEvaluator::negative(Term x) {
  return x.type == Number::Real ? create<arith::NegFOp>(x.value)
                                : create<arith::SubIOp>(integer(0), x.value);
}

Term FormulaEvaluator::prefix(const Expression &e, Term x) {
  if (e.word == "-") {
    wantNumber(x, e.place);
    count();
    return {x.type, negative(x)};
  }
  want(x, Number::Truth, e.place);
  count();
  return {Number::Truth, create<arith::XOrIOp>(x.value, integer(1, 1))};
}

Term FormulaEvaluator::number(const Expression &e) {
  if (e.isReal && !scoreRule)
    in.report("expected integers in the formula of a mask, found a real number", e.place);
  if (!e.isReal)
    return {Number::Integer, integer(static_cast<int64_t>(e.number))};
  const auto value = static_cast<float>(e.number);
  return {Number::Real,
          site.f ? create<arith::ConstantOp>(site.f->b.getF32FloatAttr(value)) : Value()};
}

Term FormulaEvaluator::leaf(const Expression &e) {
  if (e.kind == Expression::Kind::Number)
    return number(e);
  size_t index = llvm::StringRef("bhij").find(e.word);
  if (e.word.size() != 1 || index == llvm::StringRef::npos) {
    in.report("expected b, h, i, j or a table such as " + e.word.substr(0, 60) + "[j], found " +
                  quotedText(e.word),
              e.place);
    return {};
  }
  Value value = site.f ? site.f->b.getBlock()->getArgument(index) : Value();
  if (!site.offset || e.word != "i")
    return {Number::Integer, value};
  Value sequence = site.f->b.getBlock()->getArgument(0);
  Value before = create<MaskLoadOp>(site.f->b.getI32Type(), site.offset, ValueRange{sequence});
  return {Number::Integer, create<arith::AddIOp>(value, before)};
}

Term FormulaEvaluator::call(const Expression &e) {
  const bool logarithms = e.word == "exp" || e.word == "log", two = e.operands.size() > 1;
  if (logarithms && !scoreRule)
    in.report("expected integers in the formula of a mask, found " + e.word, e.place);
  Term x = evaluate(e.operands[0]), y;
  if (two)
    y = evaluate(e.operands[1]);
  wantNumber(x, e.place);
  wantNumber(y, e.place);
  count();
  if (two)
    return arithmetic(e.word, x, y);
  if (e.word == "exp")
    return {Number::Real, create<math::ExpOp>(real(x))};
  if (e.word == "log")
    return {Number::Real, create<math::LogOp>(real(x))};
  if (x.type == Number::Real)
    return {Number::Real, create<math::AbsFOp>(x.value)};
  return {Number::Integer, create<arith::MaxSIOp>(x.value, negative(x))};
}

/// Evaluates an entry of a table, `t[index]` or `t[b, index]`.
Term FormulaEvaluator::element(const Expression &e) {
  const Expression &name = e.operands[0], &index = e.operands.back();
  if (name.kind != Expression::Kind::Name)
    in.report("expected the name of a table in front of '['", e.place);
  const bool perBatch = e.operands.size() > 2;
  if (perBatch && (e.operands[1].kind != Expression::Kind::Name || e.operands[1].word != "b"))
    in.report("expected b as the first of two indices", e.operands[1].begin);
  tables.push_back(name.word);
  Number type = scoreRule && !integers ? Number::Real : Number::Integer;
  Value input;
  SmallVector<Value> indices;
  Type element;
  if (site.f) {
    element = type == Number::Real ? f32() : Type(site.f->b.getI32Type());
    std::string entries = name.word + ".entries";
    input = perBatch ? site.f->input(name.word, element, {site.sequences, entries})
                     : site.f->input(name.word, element, {entries});
    if (perBatch)
      indices.push_back(site.f->b.getBlock()->getArgument(0));
  }
  llvm::SaveAndRestore required(integers, true);
  Term at = evaluate(index);
  want(at, Number::Integer, index.begin);
  indices.push_back(at.value);
  return {type, site.f ? create<MaskLoadOp>(element, input, indices) : Value()};
}

static constexpr ExpressionFunction functions[] = {
    {"min", "ee"}, {"max", "ee"}, {"abs", "e"}, {"exp", "e"}, {"log", "e"}};
const ExpressionGrammar heddle::formulaGrammar = {
    .operators = arithmeticOperators,
    .functions = functions,
    .prefixes = "-!",
    .indices = 2,
    .operand = "a number, b, h, i, j, a table or '('",
    .function = "min, max, abs, exp or log",
};

void heddle::evaluateFormula(ExpressionCursor &in, const Expression &formula, bool scoreRule,
                             std::vector<std::string> &tables, const FormulaSite &site) {
  FormulaEvaluator evaluator(in, scoreRule, tables, site);
  Term whole = evaluator.evaluate(formula);
  if (site.f)
    transformer::YieldOp::create(site.f->b, site.f->loc,
                                 scoreRule ? evaluator.real(whole) : whole.value);
  if (!in.failed() && scoreRule == (whole.type == Number::Truth))
    in.report(scoreRule ? "expected a number, found a truth" : "expected a truth, found a number",
              formula.begin);
}
