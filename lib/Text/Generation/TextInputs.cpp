//===- TextInputs.cpp - Texts as inputs of functions --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are padded on the right. The length of a text does not include padding,
// not even the padding to `source.length`.
#include "heddle/Generation/TextInputs.h"

#include "heddle/Support/Try.h"

#include <algorithm>

using namespace heddle;

Expected<bool> heddle::takesInput(const Session &session, const char *function,
                                  std::string_view name) {
  auto inputs = HEDDLE_TRY(session.inputs(function));
  return std::ranges::any_of(inputs, [&](const PortInfo &port) { return port.name == name; });
}

Status heddle::checkInputs(const Session &session, const char *function,
                           std::initializer_list<std::string_view> known) {
  auto inputs = HEDDLE_TRY(session.inputs(function));
  for (const PortInfo &port : inputs)
    if (port.required && std::find(known.begin(), known.end(), port.name) == known.end())
      return inputError(std::string(function) + ": expected no inputs with the text, found " +
                        port.name + ", which only a program can give");
  return {};
}

Expected<std::string> heddle::scoresName(const Session &session, const char *function) {
  auto outputs = HEDDLE_TRY(session.outputs(function));
  for (const PortInfo &port : outputs)
    if (port.name == "logits" || port.name == "probabilities")
      return port.name;
  return inputError("expected a model with a classifier, found one that gives vectors");
}

Tensor heddle::padRows(const std::vector<TokenIds> &rows, int32_t padding, bool sequenceFirst) {
  size_t length = 0;
  for (const auto &row : rows)
    length = std::max(length, row.size());
  const int64_t batch = static_cast<int64_t>(rows.size()), columns = static_cast<int64_t>(length);
  Tensor ids(DType::I32, sequenceFirst ? std::vector<int64_t>{columns, batch}
                                       : std::vector<int64_t>{batch, columns});
  std::span<int32_t> values = ids.values<int32_t>();
  std::ranges::fill(values, padding);
  for (size_t b = 0; b < rows.size(); ++b)
    for (size_t i = 0; i < rows[b].size(); ++i)
      values[sequenceFirst ? i * rows.size() + b : b * length + i] = rows[b][i];
  return ids;
}

int64_t heddle::lengthOf(const TokenIds &source, const TextModel &model) {
  if (model.source->tokenizer) // a tokenizer does not pad, so every id belongs to the text
    return std::ssize(source);
  auto last = std::find_if(source.rbegin(), source.rend(),
                           [&](int32_t id) { return id != model.source->padding; });
  return source.rend() - last;
}

size_t heddle::longestOf(std::span<const EncodedText *const> texts) {
  size_t longest = 0;
  for (const EncodedText *text : texts)
    longest = std::max(longest, text->ids.size());
  return longest;
}

SourceTensors::SourceTensors(const std::vector<TokenIds> &sources, const TextModel &model)
    : ids(padRows(sources, model.source->padding, model.sequenceFirst)),
      lengths(DType::I32, {static_cast<int64_t>(sources.size())}) {
  for (size_t b = 0; b < sources.size(); ++b)
    lengths.values<int32_t>()[b] = static_cast<int32_t>(lengthOf(sources[b], model));
}
