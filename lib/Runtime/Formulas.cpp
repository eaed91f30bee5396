//===- Formulas.cpp - Distinct expressions of a function --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares expressions by their texts, which are canonical.
#include "Formulas.h"

#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle {

int Formulas::add(const SizeExpr &formula) {
  auto [it, isNew] = known.try_emplace(formula.str(), static_cast<int>(formulas.size()));
  if (!isNew)
    return it->second;
  Entry entry{formula, {}};
  std::vector<std::string> used;
  formula.collectDims(used);
  for (const std::string &name : used) {
    auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) { // unknown dimension: evaluate reports it
      names.push_back(name);
      at = names.end() - 1;
    }
    entry.uses.push_back(static_cast<int>(at - names.begin()));
  }
  formulas.push_back(std::move(entry));
  return it->second;
}

void Formulas::dimValues(const Dimensions &dims, std::vector<int64_t> &values) const {
  values.clear();
  for (const std::string &name : names) {
    auto it = dims.find(name);
    values.push_back(it == dims.end() ? -1 : it->second);
  }
}

Status Formulas::evaluate(const Dimensions &dims, std::span<const int64_t> before,
                          std::span<const int64_t> now, std::vector<int64_t> &values) const {
  values.resize(formulas.size());
  for (size_t i = 0; i < formulas.size(); ++i) {
    const Entry &entry = formulas[i];
    bool fresh = before.empty() ||
                 std::ranges::any_of(entry.uses, [&](int use) { return before[use] != now[use]; });
    if (!fresh)
      continue;
    values[i] = HEDDLE_TRY(entry.formula.evaluate(dims));
  }
  return {};
}

} // namespace heddle
