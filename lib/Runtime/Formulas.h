//===- Formulas.h - Distinct expressions of a function ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of a function's size expressions. A function has hundreds of sizes, offsets and
// scalars, most of them equal. A new shape evaluates each distinct expression once, and only if it
// uses a dimension whose value changed.
#pragma once

#include "heddle/Support/SizeExpr.h"

#include <span>
#include <unordered_map>

namespace heddle {

/// Set of distinct expressions. The caller keeps their values, one list per shape.
class Formulas {
public:
  /// `names` are the dimensions that expressions may use.
  explicit Formulas(std::vector<std::string> names) : names(std::move(names)) {}

  /// Index of the expression's value; equal expressions share one.
  int add(const SizeExpr &formula);
  size_t size() const { return formulas.size(); }

  /// Writes the values of the dimensions in the order of the program's names; -1 for an unset
  /// dimension.
  void dimValues(const Dimensions &dims, std::vector<int64_t> &values) const;
  /// Updates `values` from the dimensions `before` to the dimensions `now`. Empty `before`:
  /// evaluates everything.
  Status evaluate(const Dimensions &dims, std::span<const int64_t> before,
                  std::span<const int64_t> now, std::vector<int64_t> &values) const;

private:
  struct Entry {
    SizeExpr formula;
    std::vector<int> uses; ///< indices into names
  };
  std::vector<std::string> names;
  std::vector<Entry> formulas;
  std::unordered_map<std::string, int> known;
};

} // namespace heddle
