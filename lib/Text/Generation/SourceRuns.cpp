//===- SourceRuns.cpp - Source texts through an encoder -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder reads the rows of texts with padding. The rows of packed runs are
// copied to their padded places, which costs little compared with a layer.
#include "heddle/Generation/SourceRuns.h"

#include "heddle/Generation/TextInputs.h"

#include "heddle/Support/Program.h"
#include "heddle/Support/Try.h"

#include <algorithm>

using namespace heddle;
using EncodedTexts = SourceRuns::Texts;

Expected<SourceRuns> SourceRuns::create(Session &session, const TextModel &model) {
  SourceRuns runs(session, model);
  runs.takesLengths = HEDDLE_TRY(takesInput(session, "encode", "source.lengths"));
  runs.takesTypes = HEDDLE_TRY(takesInput(session, "encode", "source.types"));
  return runs;
}

/// A vocabulary's texts may end in ids of padding, which `encode` does not count.
bool SourceRuns::packs(const EncodedText &text) const {
  return model->packed && text.unseen == 0 && lengthOf(text.ids, *model) == std::ssize(text.ids);
}

bool SourceRuns::packs(EncodedTexts texts) const {
  return std::ranges::all_of(texts, [&](const EncodedText *text) { return packs(*text); });
}

/// Segment ids, one row per text; empty if all are 0, the default.
static std::vector<TokenIds> typesOf(EncodedTexts texts) {
  std::vector<TokenIds> rows;
  bool any = false;
  for (const EncodedText *text : texts) {
    rows.push_back(text->tokens.typeIds);
    any |= std::ranges::any_of(rows.back(), [](int32_t id) { return id != 0; });
  }
  return any ? rows : std::vector<TokenIds>();
}

Status SourceRuns::runPacked(EncodedTexts texts, NamedTensors &results) {
  TokenIds ids, starts = {0}, parts = {0}, types;
  for (const EncodedText *text : texts) {
    if (text->leftOut > 0)
      parts.push_back(starts.back() + static_cast<int32_t>(text->leftOut));
    ids.insert(ids.end(), text->ids.begin(), text->ids.end());
    starts.push_back(static_cast<int32_t>(ids.size()));
    parts.push_back(starts.back());
  }
  for (const TokenIds &row : typesOf(texts))
    types.insert(types.end(), row.begin(), row.end());
  const Tensor source = Tensor::i32({1, std::ssize(ids)}, ids),
               sourceStarts = Tensor::i32({std::ssize(starts)}, starts),
               sourceParts = Tensor::i32({std::ssize(parts)}, parts);
  NamedInputs inputs = {{"source", source}, {"source.starts", sourceStarts}};
  if (model->poolsParts)
    inputs.emplace_back("source.parts", sourceParts);
  Tensor sourceTypes;
  if (takesTypes && !types.empty()) {
    sourceTypes = Tensor::i32(source.shape(), types);
    inputs.emplace_back("source.types", sourceTypes);
  }
  return session->run(packedFunction, inputs, results);
}

Status SourceRuns::runPadded(EncodedTexts texts, NamedTensors &results) {
  std::vector<TokenIds> sources;
  for (const EncodedText *text : texts)
    sources.push_back(text->ids);
  const SourceTensors source(sources, *model);
  const Tensor seen = lengths(texts);
  NamedInputs inputs = {{"source", source.ids}};
  if (takesLengths)
    inputs.emplace_back("source.lengths", seen);
  Tensor types;
  if (std::vector<TokenIds> rows = typesOf(texts); takesTypes && !rows.empty()) {
    types = padRows(rows, 0, /*sequenceFirst=*/false);
    inputs.emplace_back("source.types", types);
  }
  return session->run("encode", inputs, results);
}

Status SourceRuns::run(EncodedTexts texts, NamedTensors &results) {
  return packs(texts) ? runPacked(texts, results) : runPadded(texts, results);
}

/// Copies the rows of a packed run to their padded places; the run's first text is text `first`.
Status SourceRuns::unpack(EncodedTexts texts, size_t first, size_t longest) {
  const std::span<const float> packed = HEDDLE_TRY(encoded.values<float>("memory"));
  const std::span<float> all = rows.values<float>();
  const auto features = static_cast<size_t>(rows.dim(2));
  size_t at = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const size_t count = texts[i]->ids.size() * features;
    std::ranges::copy(packed.subspan(at, count),
                      all.begin() + static_cast<ptrdiff_t>((first + i) * longest * features));
    at += count;
  }
  return {};
}

/// Texts of one length have no padding, so that the rows of `encode` are in place already.
Expected<const Tensor *> SourceRuns::memory(EncodedTexts texts) {
  constexpr size_t mostTokens = 2048; // their rows are in memory at once
  const size_t longest = longestOf(texts);
  const bool isEven = std::ranges::all_of(
      texts, [&](const EncodedText *text) { return text->ids.size() == longest; });
  if (isEven || !packs(texts)) {
    HEDDLE_TRY(runPadded(texts, encoded));
    return encoded.get("memory");
  }
  for (size_t from = 0, to = 0; from < texts.size(); from = to) {
    for (size_t tokens = 0; to < texts.size(); ++to) {
      tokens += texts[to]->ids.size();
      if (to > from && tokens > mostTokens)
        break;
    }
    HEDDLE_TRY(runPacked(texts.subspan(from, to - from), encoded));
    if (from == 0)
      rows = Tensor(DType::F32, {std::ssize(texts), static_cast<int64_t>(longest),
                                 HEDDLE_TRY(encoded.get("memory"))->dim(2)});
    HEDDLE_TRY(unpack(texts.subspan(from, to - from), from, longest));
  }
  return &rows;
}

Tensor SourceRuns::lengths(EncodedTexts texts) const {
  std::vector<int32_t> counts;
  for (const EncodedText *text : texts)
    counts.push_back(static_cast<int32_t>(lengthOf(text->ids, *model) - text->unseen));
  return Tensor::i32({std::ssize(counts)}, counts);
}
