//===- SizeExprNode.h - Nodes of size expressions --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The node type behind SizeExpr, and what building and parsing share.
#pragma once

#include "heddle/Support/SizeExpr.h"

#include <optional>
#include <utility>

namespace heddle {

namespace size_expr {

/// Values stay within it, so that sums of two never wrap.
inline constexpr int64_t limit = int64_t(1) << 62;
/// Nodes above each other; keeps recursion over hostile text within the stack.
inline constexpr int maxDepth = 512;

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

inline constexpr std::pair<Op, std::string_view> functionNames[] = {
    {CeilDiv, "ceildiv"}, {FloorDiv, "floordiv"}, {RoundUp, "roundup"}, {Min, "min"}, {Max, "max"}};

inline std::string_view functionName(char op) {
  for (auto [value, name] : functionNames)
    if (value == op)
      return name;
  return {};
}

} // namespace size_expr

struct SizeExpr::Node {
  char op = size_expr::Constant;
  int64_t value = 0;
  std::string name;
  std::shared_ptr<const Node> left, right;
  int depth = 1;
};

} // namespace heddle
