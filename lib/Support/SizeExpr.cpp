//===- SizeExpr.cpp - Integer expressions over named dimensions -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions are kept in one form while they are built: sums and products lean
// to the left, a constant stands at the right end, `x - 2` is a sum with -2.
// Equal sizes that are built in different ways then mostly print alike. Parsing
// is in SizeExprParser.cpp.

#include "SizeExprNode.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <numeric>

namespace heddle {

namespace {

using size_expr::limit;
using Op = size_expr::Op;

/// Beyond it, memory cannot be meant.
bool inRange(int64_t value) { return value >= -limit && value <= limit; }

/// Division of the language rounds towards zero, that of sizes towards minus infinity.
int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// The value of `a op b`, or nothing where it is not defined or past the limit.
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

SizeExpr::SizeExpr(int64_t value) {
  auto leaf = std::make_shared<Node>();
  leaf->op = Op::Constant;
  leaf->value = value;
  node = std::move(leaf);
}

SizeExpr SizeExpr::dim(std::string name) {
  auto leaf = std::make_shared<Node>();
  leaf->op = Op::Dim;
  leaf->name = std::move(name);
  return SizeExpr(std::shared_ptr<const Node>(std::move(leaf)));
}

/// Sums and products: constants to the right end, everything else leaning to the left.
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

/// Whether it is one for all values of its dimensions, as far as can be seen.
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

/// What is known without values: x/1, x rounded up to what it is a multiple of, min and max of
/// equals.
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
    return std::nullopt;
  }
}

/// What cannot be folded, such as a division by zero, stays as it is and is an error when
/// evaluated.
SizeExpr SizeExpr::make(char op, const SizeExpr &a, const SizeExpr &b) {
  if (a.isConstant() && b.isConstant())
    if (auto value = apply(op, a.constantValue(), b.constantValue()))
      return SizeExpr(*value);
  if (a.depth() + b.depth() < size_expr::maxDepth) // the rewrites recurse
    if (auto simple = simplify(op, a, b))
      return *simple;
  auto made = std::make_shared<Node>();
  made->op = op;
  made->left = a.node;
  made->right = b.node;
  made->depth = 1 + std::max(a.depth(), b.depth());
  return SizeExpr(std::shared_ptr<const Node>(std::move(made)));
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

/// `level` is the binding strength around the text: 0 sum, 1 right of a minus, 2 product, 3 right
/// of a product.
std::string SizeExpr::text(int level) const {
  SizeExpr left(node->left ? node->left : node), right(node->right ? node->right : node);
  auto enclosed = [&](int own, std::string inner) {
    return level > own ? "(" + inner + ")" : inner;
  };
  switch (node->op) {
  case Op::Constant:
    return enclosed(node->value < 0 ? 0 : 3, std::to_string(node->value));
  case Op::Dim:
    return node->name;
  case Op::Add:
    // A negative number at the end reads better as a difference.
    if (right.isConstant() && right.constantValue() < 0 && inRange(right.constantValue()))
      return enclosed(0, left.text(0) + " - " + std::to_string(-right.constantValue()));
    return enclosed(0, left.text(0) + " + " + right.text(1));
  case Op::Subtract:
    return enclosed(0, left.text(0) + " - " + right.text(1));
  case Op::Multiply:
    return enclosed(2, left.text(2) + "*" + right.text(3));
  default:
    return std::string(size_expr::functionName(node->op)) + "(" + left.text(0) + ", " +
           right.text(0) + ")";
  }
}

std::string SizeExpr::str() const { return text(0); }

} // namespace heddle
