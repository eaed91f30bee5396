//===- TokenVectors.cpp - Vectors of a text's tokens --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextVectors.h"

#include "heddle/Support/Try.h"

#include <algorithm>

using namespace heddle;

Status heddle::makeQuery(const OpenedEncoder &opened, const std::string &place, EncodedText &text) {
  const TokenVectorFacts &facts = *opened.model.perToken;
  text.isQuery = true;
  if (!facts.queryLength)
    return {};
  const auto count = std::ssize(text.ids), most = *facts.queryLength;
  if (count > most)
    return inputError(place + ": expected at most " + std::to_string(most) +
                      " tokens in a query, found " + std::to_string(count));
  if (!facts.added)
    return {};
  if (!facts.seesAdded && !opened.model.padded)
    return inputError(place + ": expected a model that masks padding, since attention leaves the "
                              "tokens added to a query out, found one that does not");
  text.unseen = facts.seesAdded ? 0 : most - count;
  text.ids.resize(static_cast<size_t>(most), *facts.added);
  text.tokens.typeIds.resize(static_cast<size_t>(most), 0);
  return {};
}

std::vector<std::span<const float>> heddle::tokenRows(const OpenedEncoder &opened,
                                                      const EncodedText &text,
                                                      std::span<const float> values) {
  const auto columns = static_cast<size_t>(opened.encoder->columns());
  const std::optional<TokenVectorFacts> &facts = opened.model.perToken;
  const bool skips = facts && (!text.isQuery || facts->skipsInQueries);
  std::vector<std::span<const float>> rows;
  for (size_t i = 0; i * columns < values.size(); ++i)
    if (!skips || std::ranges::find(facts->skipped, text.ids[i]) == facts->skipped.end())
      rows.push_back(values.subspan(i * columns, columns));
  return rows;
}

double heddle::lateScore(const std::vector<std::span<const float>> &query,
                         const std::vector<std::span<const float>> &text) {
  double score = 0;
  for (std::span<const float> a : query) {
    std::optional<double> best;
    for (std::span<const float> b : text) {
      const double product = similarityOf(Similarity::Dot, a, b);
      best = best && *best >= product ? *best : product;
    }
    score += best.value_or(0);
  }
  return score;
}
