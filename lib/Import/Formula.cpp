//===- Formula.cpp - Formulas of where(...) -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A precedence-climbing parser that creates the op of an operator after both operands. The type of
// a table follows from its context: `integers` requires integer tables.

#include "Formula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

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

struct Operator {
  llvm::StringLiteral word;
  int level; ///< higher levels bind more tightly
  IntegerOrder integers = IntegerOrder::eq;
  RealOrder reals = RealOrder::OEQ;
};
constexpr int conjunction = 2, comparison = 3, product = 5;
constexpr Operator operators[] = {{"||", 1},
                                  {"&&", conjunction},
                                  {"<=", comparison, IntegerOrder::sle, RealOrder::OLE},
                                  {">=", comparison, IntegerOrder::sge, RealOrder::OGE},
                                  {"==", comparison, IntegerOrder::eq, RealOrder::OEQ},
                                  {"!=", comparison, IntegerOrder::ne, RealOrder::UNE},
                                  {"<", comparison, IntegerOrder::slt, RealOrder::OLT},
                                  {">", comparison, IntegerOrder::sgt, RealOrder::OGT},
                                  {"+", 4},
                                  {"-", 4},
                                  {"*", product},
                                  {"/", product},
                                  {"%", product}};

class FormulaParser {
public:
  FormulaParser(ExpressionCursor &in, bool scoreRule, std::vector<std::string> &tables,
                const FormulaSite &site)
      : in(in), scoreRule(scoreRule), tables(tables), site(site) {}

  Term choice(bool integers);
  Value real(const Term &x) {
    return x.type == Number::Real || !x.value ? x.value : create<arith::SIToFPOp>(f32(), x.value);
  }

private:
  Term chain(int least, bool integers);
  const Operator *take(int least, int most);
  Term joined(const Operator &op, Term x, Term y, size_t left, size_t right);
  Term unary(bool integers);
  Term primary(bool integers);
  Term number();
  Term named(bool integers);
  Term call(const std::string &word, bool integers);
  Term table(const std::string &word, bool integers);
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
  size_t here() {
    in.skip();
    return in.place();
  }

  ExpressionCursor &in;
  bool scoreRule;
  std::vector<std::string> &tables;
  const FormulaSite &site;
  int operations = 0;
};
} // namespace

static Number common(const Term &x, const Term &y) {
  return x.type == Number::Real || y.type == Number::Real ? Number::Real : Number::Integer;
}

Term FormulaParser::choice(bool integers) {
  ExpressionCursor::Level level(in);
  if (in.failed())
    return {};
  size_t start = here();
  Term condition = chain(1, integers);
  if (in.failed() || !in.take("?"))
    return condition;
  want(condition, Number::Truth, start);
  Term yes = choice(integers);
  in.expect(":");
  if (in.failed())
    return yes;
  size_t second = in.place();
  Term no = choice(integers);
  if ((yes.type == Number::Truth) != (no.type == Number::Truth))
    in.report("expected two numbers or two truths", second);
  count();
  Number type = yes.type == Number::Truth ? Number::Truth : common(yes, no);
  if (type == Number::Real)
    yes.value = real(yes), no.value = real(no);
  return {type, create<arith::SelectOp>(condition.value, yes.value, no.value)};
}

const Operator *FormulaParser::take(int least, int most) {
  for (const Operator &op : operators)
    if (op.level >= least && op.level <= most && in.take(op.word))
      return &op;
  return nullptr;
}

/// Parses a left-associative chain of operators with a level of at least `least`; comparisons do
/// not associate.
Term FormulaParser::chain(int least, bool integers) {
  size_t start = here();
  Term left = unary(integers);
  int most = product;
  while (!in.failed()) {
    const Operator *op = take(least, most);
    if (!op)
      return left;
    most = op->level - (op->level == comparison);
    size_t where = here();
    Term right = chain(op->level + 1, integers || op->word == "%");
    left = joined(*op, left, right, start, where);
  }
  return left;
}

Term FormulaParser::joined(const Operator &op, Term x, Term y, size_t left, size_t right) {
  if (op.level <= conjunction) {
    want(x, Number::Truth, left);
    want(y, Number::Truth, right);
    count();
    return {Number::Truth, op.level == conjunction ? create<arith::AndIOp>(x.value, y.value)
                                                   : create<arith::OrIOp>(x.value, y.value)};
  }
  wantNumber(x, left);
  wantNumber(y, right);
  if (op.word == "%" && common(x, y) == Number::Real)
    in.report("expected integers around '%'", left);
  count();
  if (op.level != comparison)
    return arithmetic(op.word, x, y);
  if (common(x, y) == Number::Integer)
    return {Number::Truth, create<arith::CmpIOp>(op.integers, x.value, y.value)};
  Value a = real(x), b = real(y);
  return {Number::Truth, create<arith::CmpFOp>(op.reals, a, b)};
}

/// Applies an operator or a function of two arguments; a function of one argument passes it twice.
Term FormulaParser::arithmetic(llvm::StringRef word, Term x, Term y) {
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
Value FormulaParser::remainder(Value x, Value y) {
  Value whole = create<arith::FloorDivSIOp>(x, y);
  Value rest = create<arith::SubIOp>(x, create<arith::MulIOp>(whole, y));
  auto constant = y ? y.getDefiningOp<arith::ConstantIntOp>() : arith::ConstantIntOp();
  if (constant && constant.value() != 0)
    return rest;
  Value zero = integer(0);
  Value none = create<arith::CmpIOp>(IntegerOrder::eq, y, zero);
  return create<arith::SelectOp>(none, zero, rest);
}

Value FormulaParser::negative(Term x) {
  return x.type == Number::Real ? create<arith::NegFOp>(x.value)
                                : create<arith::SubIOp>(integer(0), x.value);
}

Term FormulaParser::unary(bool integers) {
  ExpressionCursor::Level level(in);
  if (in.failed())
    return {};
  size_t where = here();
  if (in.take("-")) {
    Term x = unary(integers);
    wantNumber(x, where);
    count();
    return {x.type, negative(x)};
  }
  if (in.take("!")) {
    Term x = unary(integers);
    want(x, Number::Truth, where);
    count();
    return {Number::Truth, create<arith::XOrIOp>(x.value, integer(1, 1))};
  }
  return primary(integers);
}

Term FormulaParser::primary(bool integers) {
  if (in.take("(")) {
    Term inner = choice(integers);
    in.expect(")");
    return inner;
  }
  if (in.atNumber())
    return number();
  if (in.atName())
    return named(integers);
  in.fail("a number, b, h, i, j, a table or '('");
  return {};
}

Term FormulaParser::number() {
  size_t where = in.place();
  bool isReal = false;
  double value = in.number(isReal);
  if (isReal && !scoreRule)
    in.report("expected integers in the formula of a mask, found a real number", where);
  if (!isReal)
    return {Number::Integer, integer(static_cast<int64_t>(value))};
  return {Number::Real,
          site.f ? create<arith::ConstantOp>(site.f->b.getF32FloatAttr(static_cast<float>(value)))
                 : Value()};
}

Term FormulaParser::named(bool integers) {
  size_t where = in.place();
  std::string word = in.name(/*dashes=*/false);
  in.skip();
  if (in.peek() == '[')
    return table(word, integers);
  if (in.peek() == '(')
    return call(word, integers);
  size_t index = llvm::StringRef("bhij").find(word);
  if (word.size() != 1 || index == llvm::StringRef::npos) {
    in.report("expected b, h, i, j or a table such as " + word.substr(0, 60) + "[j], found " +
                  quotedText(word),
              where);
    return {};
  }
  Value value = site.f ? site.f->b.getBlock()->getArgument(index) : Value();
  if (!site.offset || word != "i")
    return {Number::Integer, value};
  Value sequence = site.f->b.getBlock()->getArgument(0);
  Value before = create<MaskLoadOp>(site.f->b.getI32Type(), site.offset, ValueRange{sequence});
  return {Number::Integer, create<arith::AddIOp>(value, before)};
}

Term FormulaParser::call(const std::string &word, bool integers) {
  size_t where = in.place();
  bool two = word == "min" || word == "max", logarithms = word == "exp" || word == "log";
  if (!two && !logarithms && word != "abs") {
    in.report("expected min, max, abs, exp or log, found " + quotedText(word), where);
    return {};
  }
  if (logarithms && !scoreRule)
    in.report("expected integers in the formula of a mask, found " + word, where);
  in.expect("(");
  Term x = choice(integers), y;
  if (two) {
    in.expect(",");
    y = choice(integers);
  }
  in.expect(")");
  wantNumber(x, where);
  wantNumber(y, where);
  count();
  if (two)
    return arithmetic(word, x, y);
  if (word == "exp")
    return {Number::Real, create<math::ExpOp>(real(x))};
  if (word == "log")
    return {Number::Real, create<math::LogOp>(real(x))};
  if (x.type == Number::Real)
    return {Number::Real, create<math::AbsFOp>(x.value)};
  return {Number::Integer, create<arith::MaxSIOp>(x.value, negative(x))};
}

Term FormulaParser::table(const std::string &word, bool integers) {
  in.expect("[");
  tables.push_back(word);
  Number type = scoreRule && !integers ? Number::Real : Number::Integer;
  ExpressionCursor ahead = in;
  bool perBatch = ahead.take("b") && ahead.take(",");
  Value input;
  SmallVector<Value> indices;
  Type element;
  if (site.f) {
    element = type == Number::Real ? f32() : Type(site.f->b.getI32Type());
    std::string entries = word + ".entries";
    input = perBatch ? site.f->input(word, element, {site.sequences, entries})
                     : site.f->input(word, element, {entries});
  }
  if (perBatch) {
    in = ahead;
    if (site.f)
      indices.push_back(site.f->b.getBlock()->getArgument(0));
  }
  size_t where = here();
  Term index = choice(/*integers=*/true);
  if (!in.failed() && in.take(","))
    in.report("expected b as the first of two indices", where);
  want(index, Number::Integer, where);
  indices.push_back(index.value);
  in.expect("]");
  return {type, site.f ? create<MaskLoadOp>(element, input, indices) : Value()};
}

void heddle::parseFormula(ExpressionCursor &in, bool scoreRule, std::vector<std::string> &tables,
                          const FormulaSite &site) {
  in.skip();
  size_t start = in.place();
  FormulaParser parser(in, scoreRule, tables, site);
  Term whole = parser.choice(/*integers=*/false);
  in.skip();
  if (site.f)
    transformer::YieldOp::create(site.f->b, site.f->loc,
                                 scoreRule ? parser.real(whole) : whole.value);
  if (in.failed() || scoreRule != (whole.type == Number::Truth))
    return;
  if (!in.atEnd() && in.peek() != ')') // report the stray character, not the type
    in.fail("an operator or ')'");
  else
    in.report(scoreRule ? "expected a number, found a truth" : "expected a truth, found a number",
              start);
}
