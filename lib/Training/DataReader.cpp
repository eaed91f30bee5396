//===- DataReader.cpp - Examples from lines -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts become ids by TextSide::encode, the code of inference. Only the end of a target is added
// here, since inference generates it.
#include "DataReader.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <charconv>

using namespace heddle;

namespace {

/// Parses an integer from 0 to below `most`.
std::optional<int32_t> parseNumber(std::string_view text, int64_t most) {
  int32_t number = -1;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || rest != text.data() + text.size() || number < 0 || number >= most)
    return std::nullopt;
  return number;
}

/// Ids of a line of numbers, with the start and the end that `add` puts around a text.
Expected<std::vector<int32_t>> numbersOf(const TextSide &side, std::string_view text,
                                         const std::string &place) {
  std::vector<int32_t> ids;
  if (side.add && side.start)
    ids.push_back(*side.start);
  for (const std::string &word : HEDDLE_TRY(splitText(text, Split::Space, place))) {
    const std::optional<int32_t> id = parseNumber(word, side.vocabularySize);
    if (!id)
      return inputError(place + ": expected ids of at least 0 and below " +
                        std::to_string(side.vocabularySize) + ", found " + quotedText(word));
    ids.push_back(*id);
  }
  if (side.add && !side.ends.empty())
    ids.push_back(side.ends.front());
  return ids;
}

/// Error for a text that is longer than the rows of the model.
Status checkLength(size_t found, int64_t most, const std::string &place) {
  if (std::cmp_less_equal(found, most))
    return {};
  return inputError(place + ": expected at most " + std::to_string(most) + " tokens, found " +
                    std::to_string(found));
}

} // namespace

Status DataReader::checkModel() const {
  auto reads = [](const std::optional<TextSide> &side) {
    return side && (side->takesText() || side->vocabularySize > 0);
  };
  const bool decodes = model.kind != "encoder";
  if ((model.kind != "decoder" && !reads(model.source)) || (decodes && !reads(model.target)))
    return inputError("expected a model of texts or ids, found another source or target");
  if (!decodes && (model.classes == 0 || model.problem != Problem::OneClass))
    return inputError("expected an encoder with one class a text, found " +
                      std::string(model.classes == 0 ? "no classifier" : "several"));
  return {};
}

Status DataReader::read(const DataFile &file) {
  LineReader reader = HEDDLE_TRY(LineReader::open(file.path));
  const size_t first = data.ends.size() / 2, lines = static_cast<size_t>(data.facts.lines);
  std::string_view line;
  while (HEDDLE_TRY(reader.next(line)))
    HEDDLE_TRY(readLine(line, reader.place()));
  endWindow();
  const size_t examples = data.ends.size() / 2 - first;
  if (reader.lines() == 0 || examples == 0)
    return inputError(file.path + ": expected " +
                      (model.kind == "decoder" ? "text" : "one example a line") + ", found " +
                      (reader.lines() == 0 ? "an empty file" : "no tokens"));
  data.facts.lines = static_cast<int64_t>(lines) + reader.lines();
  data.parts.push_back({data.count, first, examples});
  data.count += examples * static_cast<size_t>(file.times);
  constexpr size_t mostExamples = INT32_MAX; // an example has a number of 32 bits
  if (data.count > mostExamples)
    return inputError(file.path + ": expected at most " + std::to_string(mostExamples) +
                      " examples in all, found more");
  return {};
}

Status DataReader::readLine(std::string_view line, const std::string &place) {
  if (model.kind == "decoder")
    return appendText(line, place);
  const std::vector<std::string_view> columns = columnsOf(line);
  const bool labeled = model.kind == "encoder";
  if (columns.size() != 2)
    return inputError(place + ": expected " + (labeled ? "text<TAB>label" : "source<TAB>target") +
                      ", found " +
                      (line.empty()          ? "an empty line"
                       : columns.size() == 1 ? "one column"
                                             : std::to_string(columns.size()) + " columns"));
  HEDDLE_TRY(append(*model.source, columns[0], place));
  return labeled ? readLabel(columns[1], place) : appendReference(columns[1], place);
}

Status DataReader::readLabel(std::string_view text, const std::string &place) {
  const std::optional<int32_t> label =
      model.labels ? model.labels->find(text) : parseNumber(text, model.classes);
  if (!label) {
    std::vector<std::string> names;
    for (int32_t id = 0; model.labels && id < model.labels->size(); ++id)
      names.push_back(model.labels->token(id));
    constexpr size_t mostNames = 8;
    return inputError(
        place + ": expected a label of the model (" +
        (model.labels ? firstText(names, mostNames) : "0 to " + std::to_string(model.classes - 1)) +
        "), found " + quotedText(text));
  }
  data.ends.push_back(data.ids.size()); // no reference
  data.labels.push_back(*label);
  return {};
}

/// Ids of a text that inference would take, padding to `length` included.
Expected<std::vector<int32_t>> DataReader::idsOf(const TextSide &side, std::string_view text,
                                                 const std::string &place) {
  if (!side.takesText())
    return numbersOf(side, text, place);
  EncodedText encoded = HEDDLE_TRY(side.encode(text, place, {.uncut = !side.cut}));
  data.facts.cut += encoded.cut;
  if (side.unknown)
    data.facts.unknown += std::ranges::count(encoded.ids, *side.unknown);
  return std::move(encoded.ids);
}

/// Appends ids as the next part of an example.
Status DataReader::append(const TextSide &side, std::string_view text, const std::string &place) {
  std::vector<int32_t> ids = HEDDLE_TRY(idsOf(side, text, place));
  HEDDLE_TRY(checkLength(ids.size(), side.longest().value_or(INT32_MAX), place));
  if (ids.empty())
    return inputError(place + ": expected text in column 1, found none");
  data.facts.tokens += std::ssize(ids);
  if (side.length)
    ids.resize(static_cast<size_t>(*side.length), side.padding);
  data.ids.insert(data.ids.end(), ids.begin(), ids.end());
  data.ends.push_back(data.ids.size());
  return {};
}

Status DataReader::appendReference(std::string_view text, const std::string &place) {
  const TextSide &side = *model.target;
  std::vector<int32_t> ids = HEDDLE_TRY(idsOf(side, text, place));
  if (ids.empty())
    return inputError(place + ": expected text in column 2, found none");
  if (!side.ends.empty() && std::ranges::find(side.ends, ids.back()) == side.ends.end())
    ids.push_back(side.ends.front());
  HEDDLE_TRY(checkLength(ids.size(), side.limit, place + ", column 2"));
  data.facts.tokens += std::ssize(ids);
  data.ids.insert(data.ids.end(), ids.begin(), ids.end());
  data.ends.push_back(data.ids.size());
  return {};
}

/// Appends the text of a decoder, and ends full windows.
Status DataReader::appendText(std::string_view line, const std::string &place) {
  if (line.empty())
    return {};
  const TextSide &side = *model.target;
  std::vector<int32_t> ids = HEDDLE_TRY(idsOf(side, line, place));
  if (side.tokenizer && side.start && !ids.empty() && ids.front() == *side.start)
    ids.erase(ids.begin()); // the loss puts the start in front of each window
  if (!ids.empty() && !side.ends.empty() &&
      std::ranges::find(side.ends, ids.back()) == side.ends.end())
    ids.push_back(side.ends.front());
  data.facts.tokens += std::ssize(ids);
  for (const int32_t id : ids) {
    data.ids.push_back(id);
    if (std::cmp_greater_equal(data.ids.size() - data.ends.back(), side.limit))
      endWindow();
  }
  return {};
}

/// Ends a window of a decoder's text if it has tokens. A window has no source.
void DataReader::endWindow() {
  if (model.kind != "decoder" || data.ids.size() == data.ends.back())
    return;
  data.ends.push_back(data.ends.back());
  data.ends.push_back(data.ids.size());
}
