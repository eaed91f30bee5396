//===- SizeExpr.cpp - Integer expressions over named dimensions -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction, evaluation and parsing of size expressions. Expressions are canonicalized as they
// are built: sums and products are left-associated, a constant is the rightmost operand, `x - 2` is
// a sum with -2. Equal sizes that are built differently then mostly have equal texts.

#include "heddle/Support/SizeExpr.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>
#include <utility>

namespace heddle {

namespace {

/// Limit of absolute values; a sum of two fits into int64.
constexpr int64_t limit = int64_t(1) << 62;
/// Maximum depth of an expression, which bounds the recursion over hostile text.
constexpr int maxDepth = 512;

enum Op : char {
  Constant = 'c',
  Dim = 'd',
  Add = '+',
  Subtract = '-',
  Multiply = '*',
  CeilDiv = '^',
  FloorDiv = '/',
  RoundUp = 'r',
  Min = '<',
  Max = '>',
};

constexpr std::pair<Op, std::string_view> functionNames[] = {
    {CeilDiv, "ceildiv"}, {FloorDiv, "floordiv"}, {RoundUp, "roundup"}, {Min, "min"}, {Max, "max"}};

std::string_view functionName(char op) {
  for (auto [value, name] : functionNames)
    if (value == op)
      return name;
  return {};
}

} // namespace

struct SizeExpr::Node {
  char op = Constant;
  int64_t value = 0;
  std::string name;
  std::shared_ptr<const Node> left, right;
  int depth = 1;

  /// Appends the text. `level` is the surrounding precedence: 0 sum, 1 right operand of a sum, 2
  /// product, 3 right operand of a product.
  void write(std::string &text, int level) const;
};

//===- Building ----------------------------------------------------------===//

namespace {

bool inRange(int64_t value) { return value >= -limit && value <= limit; }

/// Quotient rounded towards minus infinity; C++ rounds towards zero.
int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// Value of `a op b`; none for a divisor below 1 or a value beyond the limit.
std::optional<int64_t> apply(char op, int64_t a, int64_t b) {
  int64_t value = 0;
  bool overflow = false;
  switch (op) {
  case Op::Add:
    overflow = __builtin_add_overflow(a, b, &value);
    break;
  case Op::Subtract:
    overflow = __builtin_sub_overflow(a, b, &value);
    break;
  case Op::Multiply:
    overflow = __builtin_mul_overflow(a, b, &value);
    break;
  case Op::Min:
    value = std::min(a, b);
    break;
  case Op::Max:
    value = std::max(a, b);
    break;
  default: // the three divisions
    if (b <= 0)
      return std::nullopt;
    value = floorDivide(a, b);
    if (op != Op::FloorDiv && a % b != 0)
      ++value;
    if (op == Op::RoundUp)
      overflow = __builtin_mul_overflow(value, b, &value);
  }
  if (overflow || !inRange(value))
    return std::nullopt;
  return value;
}

} // namespace

/// Most sizes that are 0 or another small constant share a node, which saves an allocation for each.
SizeExpr::SizeExpr(int64_t value) {
  constexpr int64_t count = 17;
  static const auto &small = *[] {
    auto *nodes = new std::array<std::shared_ptr<const Node>, count>;
    for (int64_t i = 0; i < count; ++i)
      (*nodes)[i] = std::make_shared<Node>(Node{.value = i});
    return nodes;
  }();
  node = value >= 0 && value < count ? small[value]
                                     : std::make_shared<const Node>(Node{.value = value});
}

SizeExpr SizeExpr::dim(std::string name) {
  return SizeExpr(std::make_shared<Node>(Node{.op = Op::Dim, .name = std::move(name)}));
}

/// Canonicalizes a sum or product: constants on the right, everything else left-associated. Returns
/// nothing if it is already canonical.
std::optional<SizeExpr> SizeExpr::makeChain(char op, const SizeExpr &a, const SizeExpr &b) {
  // x + 0 and x*1 are x.
  int64_t neutral = op == Op::Multiply ? 1 : 0;
  if (a.isConstant() && !b.isConstant())
    return make(op, b, a);
  if (b.isConstant() && b.constantValue() == neutral)
    return a;
  if (op == Op::Multiply && b.isConstant() && b.constantValue() == 0)
    return SizeExpr(0);
  // a + (b + c) is (a + b) + c
  if (b.node->op == op)
    return make(op, make(op, a, SizeExpr(b.node->left)), SizeExpr(b.node->right));
  if (a.node->op != op || !SizeExpr(a.node->right).isConstant())
    return std::nullopt;
  // (rest + 4) + b is (rest + b) + 4, and (rest + 4) + 2 is rest + 6.
  SizeExpr rest(a.node->left), constant(a.node->right);
  if (!b.isConstant())
    return make(op, make(op, rest, b), constant);
  if (auto folded = apply(op, constant.constantValue(), b.constantValue()))
    return make(op, rest, SizeExpr(*folded));
  return std::nullopt;
}

/// Whether the value is a multiple of `factor` for all dimensions; false if this is not obvious.
bool SizeExpr::isMultipleOf(int64_t factor) const {
  switch (node->op) {
  case Op::Constant:
    return node->value % factor == 0;
  case Op::Multiply:
    return SizeExpr(node->left).isMultipleOf(factor) || SizeExpr(node->right).isMultipleOf(factor);
  case Op::Add:
  case Op::Subtract:
  case Op::Min:
  case Op::Max:
    return SizeExpr(node->left).isMultipleOf(factor) && SizeExpr(node->right).isMultipleOf(factor);
  case Op::RoundUp:
    return SizeExpr(node->right).isConstant() && SizeExpr(node->right).isMultipleOf(factor);
  default:
    return false;
  }
}

/// Rewrites without values: chains, x / 1, quotients of quotients, roundup of a multiple, x - x, min
/// and max of equal operands. None if no rewrite applies.
std::optional<SizeExpr> SizeExpr::simplify(char op, const SizeExpr &a, const SizeExpr &b) {
  switch (op) {
  case Op::Add:
  case Op::Multiply:
    return makeChain(op, a, b);
  case Op::Subtract:
    if (b.isConstant() && inRange(b.constantValue()))
      return make(Op::Add, a, SizeExpr(-b.constantValue()));
    return a == b ? std::optional<SizeExpr>(0) : std::nullopt;
  case Op::Min:
  case Op::Max:
    return a == b ? std::optional(a) : std::nullopt;
  default:
    if (!b.isConstant() || b.constantValue() <= 0)
      return std::nullopt;
    if (b.constantValue() == 1 || (op == Op::RoundUp && a.isMultipleOf(b.constantValue())))
      return a;
    // floordiv(floordiv(x, 2), 3) is floordiv(x, 6), and so is ceildiv.
    if (op != Op::RoundUp && a.node->op == op)
      if (const SizeExpr first(a.node->right); first.isConstant() && first.constantValue() > 0)
        if (auto product = apply(Op::Multiply, first.constantValue(), b.constantValue()))
          return make(op, SizeExpr(a.node->left), SizeExpr(*product));
    return std::nullopt;
  }
}

/// Folds constants and simplifies. An invalid constant operation, such as a division by zero, is
/// kept and becomes an error in evaluate.
SizeExpr SizeExpr::make(char op, const SizeExpr &a, const SizeExpr &b) {
  if (a.isConstant() && b.isConstant())
    if (auto value = apply(op, a.constantValue(), b.constantValue()))
      return SizeExpr(*value);
  if (a.depth() + b.depth() < maxDepth) // the rewrites recurse
    if (auto simple = simplify(op, a, b))
      return *simple;
  int depth = 1 + std::max(a.depth(), b.depth());
  return SizeExpr(
      std::make_shared<Node>(Node{.op = op, .left = a.node, .right = b.node, .depth = depth}));
}

SizeExpr operator+(const SizeExpr &a, const SizeExpr &b) { return SizeExpr::make(Op::Add, a, b); }
SizeExpr operator-(const SizeExpr &a, const SizeExpr &b) {
  return SizeExpr::make(Op::Subtract, a, b);
}
SizeExpr operator*(const SizeExpr &a, const SizeExpr &b) {
  return SizeExpr::make(Op::Multiply, a, b);
}
SizeExpr SizeExpr::ceilDiv(const SizeExpr &a, const SizeExpr &b) { return make(Op::CeilDiv, a, b); }
SizeExpr SizeExpr::floorDiv(const SizeExpr &a, const SizeExpr &b) {
  return make(Op::FloorDiv, a, b);
}
SizeExpr SizeExpr::roundUp(const SizeExpr &a, const SizeExpr &b) { return make(Op::RoundUp, a, b); }
SizeExpr SizeExpr::min(const SizeExpr &a, const SizeExpr &b) { return make(Op::Min, a, b); }
SizeExpr SizeExpr::max(const SizeExpr &a, const SizeExpr &b) { return make(Op::Max, a, b); }

bool SizeExpr::isConstant() const { return node->op == Op::Constant; }
int64_t SizeExpr::constantValue() const {
  if (!isConstant())
    misused("a constant size", str());
  return node->value;
}
std::string SizeExpr::dimName() const { return node->op == Op::Dim ? node->name : std::string(); }
int SizeExpr::depth() const { return node->depth; }

void SizeExpr::collectDims(std::vector<std::string> &names) const {
  if (node->op == Op::Constant)
    return;
  if (node->op != Op::Dim) {
    SizeExpr(node->left).collectDims(names);
    SizeExpr(node->right).collectDims(names);
  } else if (std::find(names.begin(), names.end(), node->name) == names.end()) {
    names.push_back(node->name);
  }
}

Expected<int64_t> SizeExpr::evaluate(const Dimensions &dims) const {
  if (node->op == Op::Constant)
    return node->value;
  if (node->op == Op::Dim) {
    auto found = dims.find(node->name);
    if (found == dims.end())
      return inputError("expected a value of dimension " + node->name + ", found none");
    return found->second;
  }
  auto a = HEDDLE_TRY(SizeExpr(node->left).evaluate(dims));
  auto b = HEDDLE_TRY(SizeExpr(node->right).evaluate(dims));
  if (auto value = apply(node->op, a, b))
    return *value;
  return inputError(str() + ": expected a value within 2^62 and positive divisors, found " +
                    std::to_string(a) + " and " + std::to_string(b));
}

SizeExpr SizeExpr::substitute(const std::map<std::string, SizeExpr, std::less<>> &values) const {
  if (node->op == Op::Constant)
    return *this;
  if (node->op == Op::Dim) {
    auto found = values.find(node->name);
    return found == values.end() ? *this : found->second;
  }
  return make(node->op, SizeExpr(node->left).substitute(values),
              SizeExpr(node->right).substitute(values));
}

void SizeExpr::Node::write(std::string &text, int level) const {
  const bool isSum = op == Op::Add || op == Op::Subtract;
  const bool enclosed = (level > 0 && (isSum || (op == Op::Constant && value < 0))) ||
                        (level > 2 && op == Op::Multiply);
  if (enclosed)
    text += '(';
  if (op == Op::Constant) {
    text += std::to_string(value);
  } else if (op == Op::Dim) {
    text += name;
  } else if (isSum) {
    left->write(text, 0);
    // x + -2 is written as x - 2.
    const bool negative =
        op == Op::Add && right->op == Op::Constant && right->value < 0 && inRange(right->value);
    text += op == Op::Add && !negative ? " + " : " - ";
    if (negative)
      text += std::to_string(-right->value);
    else
      right->write(text, 1);
  } else if (op == Op::Multiply) {
    left->write(text, 2);
    text += '*';
    right->write(text, 3);
  } else {
    text += functionName(op);
    text += '(';
    left->write(text, 0);
    text += ", ";
    right->write(text, 0);
    text += ')';
  }
  if (enclosed)
    text += ')';
}

std::string SizeExpr::text(int level) const {
  std::string text;
  node->write(text, level);
  return text;
}

std::string SizeExpr::str() const { return text(0); }

//===- Parsing -----------------------------------------------------------===//

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c) || c == '.'; }

} // namespace

/// Recursive-descent parser with one function per rule; `nesting` counts open parentheses and
/// calls.
class SizeExprParser {
public:
  explicit SizeExprParser(std::string_view text) : text(text) {}

  Expected<SizeExpr> parseAll() {
    auto value = parseSum(0);
    if (value && peek() != 0)
      return fail("the end");
    return value;
  }

private:
  /// Next character that is not a space, or 0 at the end.
  char peek() {
    while (at < text.size() && text[at] == ' ')
      ++at;
    return at < text.size() ? text[at] : 0;
  }
  bool eat(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  Error fail(const std::string &expected) {
    std::string found = peek() == 0 ? "the end" : quotedText(text.substr(at, 16));
    return inputError("size " + quotedText(text) + ": expected " + expected + " at character " +
                      std::to_string(at + 1) + ", found " + found);
  }
  /// Rejects deep expressions: a long sum is left-associated, so it is deep even without nesting.
  Expected<SizeExpr> combine(char op, const SizeExpr &a, const SizeExpr &b) {
    if (std::max(a.depth(), b.depth()) >= maxDepth)
      return fail("at most " + std::to_string(maxDepth) + " levels of operations");
    return SizeExpr::make(op, a, b);
  }

  Expected<SizeExpr> parseSum(int nesting) {
    auto value = parseProduct(nesting);
    while (value && (peek() == '+' || peek() == '-')) {
      char op = text[at++];
      auto right = HEDDLE_TRY(parseProduct(nesting));
      value = combine(op, *value, right);
    }
    return value;
  }

  Expected<SizeExpr> parseProduct(int nesting) {
    auto value = parseFactor(nesting);
    while (value && eat('*')) {
      auto right = HEDDLE_TRY(parseFactor(nesting));
      value = combine(Op::Multiply, *value, right);
    }
    return value;
  }

  Expected<SizeExpr> parseFactor(int nesting) {
    if (nesting >= maxDepth)
      return fail("at most " + std::to_string(maxDepth) + " levels of nesting");
    char next = peek();
    if (isDigit(next) || next == '-')
      return parseNumber();
    if (isNameStart(next))
      return parseName(nesting);
    if (!eat('('))
      return fail("a number, a name or '('");
    auto value = parseSum(nesting + 1);
    if (value && !eat(')'))
      return fail("')'");
    return value;
  }

  /// Only numbers have a sign: -B is written 0 - B.
  Expected<SizeExpr> parseNumber() {
    int64_t value = 0;
    auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code != std::errc() || value > limit || value < -limit)
      return fail("an integer within 2^62");
    at = end - text.data();
    return SizeExpr(value);
  }

  /// A name before '(' is a function; any other name is a dimension, even "min".
  Expected<SizeExpr> parseName(int nesting) {
    size_t start = at;
    while (at < text.size() && isNamePart(text[at]))
      ++at;
    std::string_view name = text.substr(start, at - start);
    if (peek() != '(')
      return SizeExpr::dim(std::string(name));
    for (auto [op, function] : functionNames)
      if (name == function)
        return parseArguments(op, nesting + 1);
    at = start;
    return fail("ceildiv, floordiv, roundup, min or max");
  }

  Expected<SizeExpr> parseArguments(char op, int nesting) {
    eat('(');
    auto left = HEDDLE_TRY(parseSum(nesting));
    if (!eat(','))
      return fail("','");
    auto right = HEDDLE_TRY(parseSum(nesting));
    if (!eat(')'))
      return fail("')'");
    return combine(op, left, right);
  }

  std::string_view text;
  size_t at = 0;
};

Expected<SizeExpr> SizeExpr::parse(std::string_view text) {
  return SizeExprParser(text).parseAll();
}

} // namespace heddle
