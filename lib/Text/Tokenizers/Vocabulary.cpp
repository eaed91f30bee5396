//===- Vocabulary.cpp - Tokens and their ids --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Vocabulary.h"

#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle::tokenizers {

Expected<TokenTable> TokenTable::read(const JsonField &model) {
  auto vocab = HEDDLE_TRY(model.get("vocab"));
  HEDDLE_TRY(vocab.checkObject());
  TokenTable table;
  table.ids.reserve(vocab.value().size());
  table.tokens.reserve(vocab.value().size());
  for (const auto &[token, id] : vocab.value().items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX) {
      auto entry = vocab.find(token);
      return (entry ? *entry : vocab).expected("an id from 0 to 2147483647");
    }
    const auto number = static_cast<int32_t>(id.get<uint64_t>());
    const auto at = table.ids.try_emplace(token, number).first;
    table.tokens.try_emplace(number, &at->first); // the first token of an id is its text
    table.mostBytes = std::max(table.mostBytes, token.size());
  }
  return table;
}

} // namespace heddle::tokenizers
