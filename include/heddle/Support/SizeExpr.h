//===- SizeExpr.h - Integer expressions over named dimensions --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer expressions over the named dynamic dimensions of a program: sizes, offsets and grids such
// as `B*roundup(S, 16)*512`. The compiler builds them, the artifact stores their text, and the
// runtime evaluates them once per shape.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Values of named dimensions.
using Dimensions = std::map<std::string, int64_t, std::less<>>;

/// An immutable expression; copies share it. Constants are folded when expressions are built, so
/// equal static sizes have equal texts.
/// Grammar of the text: integers, names ([A-Za-z_][A-Za-z0-9_.]*), `+ - *`, parentheses, and
/// ceildiv(a, b), floordiv(a, b), roundup(a, b), min(a, b), max(a, b).
class SizeExpr {
public:
  SizeExpr(int64_t value = 0);
  /// A named dimension.
  static SizeExpr dim(std::string name);
  /// Parses the text of an expression. Depth and nesting are limited to 512 levels, so that hostile
  /// text cannot overflow the stack.
  static Expected<SizeExpr> parse(std::string_view text);

  friend SizeExpr operator+(const SizeExpr &a, const SizeExpr &b);
  friend SizeExpr operator-(const SizeExpr &a, const SizeExpr &b);
  friend SizeExpr operator*(const SizeExpr &a, const SizeExpr &b);
  static SizeExpr ceilDiv(const SizeExpr &a, const SizeExpr &b);
  static SizeExpr floorDiv(const SizeExpr &a, const SizeExpr &b);
  static SizeExpr roundUp(const SizeExpr &a, const SizeExpr &b);
  static SizeExpr min(const SizeExpr &a, const SizeExpr &b);
  static SizeExpr max(const SizeExpr &a, const SizeExpr &b);

  /// Structural equality (after folding); equal texts mean equal expressions.
  friend bool operator==(const SizeExpr &a, const SizeExpr &b) { return a.str() == b.str(); }

  bool isConstant() const;
  /// Value of a constant expression. Aborts the process if it is not constant.
  int64_t constantValue() const;
  /// Name of the dimension if the expression is a single name, else empty.
  std::string dimName() const;
  /// Appends the expression's names to `names`, each once, in order of occurrence.
  void collectDims(std::vector<std::string> &names) const;

  /// Value at `dims`. Error for an unknown name, a divisor below 1 or a value beyond 2^62.
  Expected<int64_t> evaluate(const Dimensions &dims) const;
  /// The expression with names replaced by other expressions.
  SizeExpr substitute(const std::map<std::string, SizeExpr, std::less<>> &values) const;
  /// Canonical text, which parse reads back.
  std::string str() const;

private:
  friend class SizeExprParser;
  struct Node;
  std::shared_ptr<const Node> node;
  explicit SizeExpr(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  static SizeExpr make(char op, const SizeExpr &a, const SizeExpr &b);
  static std::optional<SizeExpr> simplify(char op, const SizeExpr &a, const SizeExpr &b);
  static std::optional<SizeExpr> makeChain(char op, const SizeExpr &a, const SizeExpr &b);
  bool isMultipleOf(int64_t factor) const;
  int depth() const;
  std::string text(int level) const;
};

} // namespace heddle
