//===- Data.cpp - Examples of a run -------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Training/Data.h"

#include "DataReader.h"

#include "heddle/Generation/TextInputs.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Philox.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace heddle;

Expected<DataFile> heddle::parseDataFile(const std::string &text) {
  const size_t colon = text.rfind(':');
  if (text.empty())
    return usageError("expected FILE or FILE:TIMES, found nothing");
  const std::string digits = colon == std::string::npos ? "" : text.substr(colon + 1);
  const bool isNumber = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  if (!isNumber || isThere(text))
    return DataFile{text};
  constexpr int64_t most = 1'000'000;
  int64_t times = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), times);
  if (result.ec != std::errc() || times < 1 || times > most)
    return usageError(quotedText(text) + ": expected a number of times from 1 to " +
                      std::to_string(most) + ", found " + digits);
  return DataFile{text.substr(0, colon), times};
}

Expected<Data> Data::read(const std::vector<DataFile> &files, const TextModel &model,
                          const std::string &place) {
  Data data(model);
  DataReader reader(data, model);
  HEDDLE_TRY(reader.checkModel());
  if (files.empty())
    return usageError(place + ": expected a file, found none");
  for (const DataFile &file : files)
    HEDDLE_TRY(reader.read(file));
  data.ids.shrink_to_fit();
  return data;
}

//===- Examples ----------------------------------------------------------===//

/// The place of an example among the examples that are stored.
size_t Data::unique(size_t example) const {
  const auto after = std::ranges::upper_bound(parts, example, {}, &Part::begin);
  const Part &part = *std::prev(after);
  return part.first + (example - part.begin) % part.examples;
}

/// The ids between two ends.
std::span<const int32_t> Data::range(size_t boundary) const {
  return std::span(ids).subspan(ends[boundary], ends[boundary + 1] - ends[boundary]);
}

std::span<const int32_t> Data::source(size_t example) const { return range(2 * unique(example)); }

std::span<const int32_t> Data::reference(size_t example) const {
  return range(2 * unique(example) + 1);
}

int32_t Data::label(size_t example) const { return labels[unique(example)]; }

std::vector<ExampleLength> Data::lengths() const {
  std::vector<ExampleLength> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = {static_cast<int32_t>(reference(i).size()), static_cast<int32_t>(source(i).size())};
  return all;
}

uint64_t Data::hash() const {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (const int32_t id : ids)
    add(static_cast<uint32_t>(id));
  for (const uint64_t end : ends)
    add(end);
  for (const int32_t label : labels)
    add(static_cast<uint32_t>(label));
  for (const Part &part : parts)
    add(part.begin);
  add(count);
  return hash;
}

//===- Batches -----------------------------------------------------------===//

/// Replaces words of an example by the unknown word.
static void dropWords(TokenIds &ids, const TextSide &side, const WordDropout &words,
                      uint32_t example) {
  const double threshold = std::round(words.probability * 0x1p32);
  for (uint32_t position = 0; position < ids.size(); ++position) {
    const auto word = philox({position, example, 0, static_cast<uint32_t>(RandomUse::Words)},
                             {words.seed, words.epoch})[0];
    if (word < threshold && !side.isSpecial(ids[position]))
      ids[position] = *side.unknown;
  }
}

/// Numbers of ids of each row.
static Tensor lengthsOf(const std::vector<TokenIds> &rows) {
  std::vector<int32_t> lengths;
  for (const TokenIds &row : rows)
    lengths.push_back(static_cast<int32_t>(row.size()));
  return Tensor::i32({std::ssize(rows)}, lengths);
}

/// Ids of the sources of examples.
std::vector<TokenIds> Data::sources(std::span<const uint32_t> examples,
                                    const WordDropout &words) const {
  std::vector<TokenIds> rows;
  for (const uint32_t example : examples) {
    const auto ids = source(example);
    rows.emplace_back(ids.begin(), ids.end());
    if (words.probability > 0 && model->source->unknown)
      dropWords(rows.back(), *model->source, words, example);
  }
  return rows;
}

/// Adds the ids of a side without padding, and the starts of its texts.
static void addPacked(BatchInputs &inputs, const std::string &name,
                      const std::vector<TokenIds> &rows) {
  TokenIds ids, starts = {0};
  for (const TokenIds &row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    starts.push_back(static_cast<int32_t>(ids.size()));
  }
  inputs.tensors.emplace_back(name, Tensor::i32({1, std::ssize(ids)}, ids));
  inputs.tensors.emplace_back(name + ".starts", Tensor::i32({std::ssize(starts)}, starts));
}

/// Whether rows of equal length would have padding.
static bool differInLength(const std::vector<TokenIds> &rows) {
  return std::ranges::any_of(
      rows, [&](const TokenIds &row) { return row.size() != rows.front().size(); });
}

BatchInputs Data::batch(std::span<const uint32_t> examples, const WordDropout &words,
                        bool packs) const {
  BatchInputs inputs;
  std::vector<TokenIds> texts, references, trimmed;
  if (model->source) {
    texts = trimmed = sources(examples, words);
    for (TokenIds &text : trimmed)
      text.resize(static_cast<size_t>(lengthOf(text, *model)));
  }
  if (model->kind != "encoder")
    for (const uint32_t example : examples) {
      const auto ids = reference(example);
      references.emplace_back(ids.begin(), ids.end());
    }
  // A text of nothing but padding has keys for its padding alone.
  inputs.packed = packs && (differInLength(trimmed) || differInLength(references)) &&
                  std::ranges::none_of(trimmed, &TokenIds::empty);
  if (model->source && inputs.packed) {
    addPacked(inputs, "source", trimmed);
  } else if (model->source) {
    SourceTensors tensors(texts, *model);
    inputs.tensors.emplace_back("source", std::move(tensors.ids));
    inputs.tensors.emplace_back("source.lengths", std::move(tensors.lengths));
  }
  if (model->kind == "encoder") {
    std::vector<int32_t> classes;
    for (const uint32_t example : examples)
      classes.push_back(label(example));
    inputs.tensors.emplace_back("labels", Tensor::i32({std::ssize(classes)}, classes));
    inputs.tokens = std::ssize(classes);
    return inputs;
  }
  for (const TokenIds &ids : references)
    inputs.tokens +=
        std::ranges::count_if(ids, [&](int32_t id) { return id != model->target->padding; });
  if (inputs.packed) {
    addPacked(inputs, "reference", references);
    return inputs;
  }
  // The layout of a model does not change `reference`.
  inputs.tensors.emplace_back("reference", padRows(references, model->target->padding, false));
  inputs.tensors.emplace_back("reference.lengths", lengthsOf(references));
  return inputs;
}
