//===- TextBatches.cpp - Batches of texts -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text that cannot be encoded ends the command, after the texts before it have been
// answered.
#include "TextBatches.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <array>
#include <filesystem>
#include <istream>
#include <new>
#include <nlohmann/json.hpp>
#include <ostream>

using namespace heddle;

Texts::Texts(const TextCommand &command, std::istream &in)
    : arguments(command.texts), in(&in), pairs(command.pairs && command.texts.empty()),
      name(command.input) {
  if (name.empty())
    return;
  std::error_code unknown;
  const auto size = std::filesystem::file_size(name, unknown);
  bytes = unknown ? 0 : size;
  file.open(name, std::ios::binary);
  this->in = &file;
}

/// Appends what is at hand to the text that is read and not taken; false: nothing is.
bool Texts::readOn() {
  std::array<char, 1 << 16> piece;
  const std::streamsize size = in->good() ? in->readsome(piece.data(), piece.size()) : 0;
  try {
    ahead.append(piece.data(), static_cast<size_t>(std::max<std::streamsize>(size, 0)));
  } catch (const std::bad_alloc &) {
    in->setstate(std::ios::badbit);
    return false;
  }
  return size > 0;
}

/// Whether a whole line is read, up to `end`.
bool Texts::holdsLine(size_t &end) {
  end = ahead.find('\n', std::max(taken, searched));
  searched = end == std::string::npos ? ahead.size() : end;
  return end != std::string::npos;
}

/// The next line; the last one may end with the input.
bool Texts::nextLine(std::string &text) {
  if (taken > ahead.size() / 2) { // so that what is read is not moved for each line
    ahead.erase(0, taken);
    searched -= std::min(searched, taken);
    taken = 0;
  }
  size_t end = 0;
  while (!holdsLine(end))
    if (!readOn() && (in->peek() == std::istream::traits_type::eof() || !in->good())) {
      if (in->bad() || taken == ahead.size())
        return false;
      end = ahead.size();
      break;
    }
  text.assign(ahead, taken, end - taken);
  taken = std::min(end + 1, ahead.size());
  ++lines;
  return true;
}

bool Texts::next(std::string &text) {
  if (second) {
    text = std::move(*second);
    second.reset();
  } else if (!arguments.empty()) {
    if (count == arguments.size())
      return false;
    text = arguments[count];
  } else if (!nextLine(text)) {
    return false;
  } else if (pairs) {
    const size_t tab = std::min(text.find('\t'), text.size());
    if (tab == text.size() || text.find('\t', tab + 1) != std::string::npos) {
      failure = inputError(place() + ": expected two texts with a tab between them, found " +
                           quotedText(text));
      return false;
    }
    second = text.substr(std::min(tab + 1, text.size()));
    text.resize(tab);
  }
  ++count;
  return true;
}

bool Texts::isNextAtHand() {
  if (!arguments.empty() || second)
    return true;
  size_t end = 0;
  while (!holdsLine(end))
    if (in->rdbuf()->in_avail() <= 0 || !readOn())
      return false;
  return true;
}

std::optional<double> Texts::share() {
  if (!arguments.empty())
    return static_cast<double>(count) / static_cast<double>(arguments.size());
  const auto place =
      bytes > 0 ? static_cast<int64_t>(file.tellg()) - static_cast<int64_t>(ahead.size() - taken)
                : 0;
  return place > 0 ? std::optional(static_cast<double>(place) / static_cast<double>(bytes))
                   : std::nullopt;
}

std::string Texts::place() const {
  if (arguments.size() == 1)
    return "text";
  return (name.empty() ? "" : name + ": ") + (arguments.empty() ? "line " : "text ") +
         std::to_string(arguments.empty() ? lines : count);
}

Status Texts::finish() {
  if (std::error_code none; std::filesystem::is_directory(name, none))
    return inputError(name + ": expected a file, found a folder");
  if (!name.empty() && !file.is_open())
    return inputError(name + ": expected a file that can be read, found none");
  HEDDLE_TRY(failure);
  if (!in->bad())
    return {};
  if (lines == 0)
    return inputError((name.empty() ? "standard input" : name) +
                      ": expected text, found a read error");
  return inputError((name.empty() ? "" : name + ": ") + "line " + std::to_string(lines + 1) +
                    ": expected a line that fits in memory, found a read error");
}

std::vector<TokenIds> heddle::sourcesOf(const std::vector<NumberedText> &texts) {
  std::vector<TokenIds> sources;
  for (const NumberedText &text : texts)
    if (!text.isLeftOut)
      sources.push_back(text.ids);
  return sources;
}

/// Whether a decoder has a token to go on from where a text has none.
static bool beginsAlone(const TextModel &model) {
  return !model.source && (model.target->start || model.target->generation.begin);
}

Status heddle::answerTexts(const TextCommand &command, const TextModel &model, std::istream &in,
                           std::ostream &notes, const EncodeText &encode,
                           const AnswerTexts &answer) {
  constexpr size_t batchesAtOnce = 16; // answers wait for those before them
  const auto batch = static_cast<size_t>(command.batch);
  const bool mixes = model.padded || !model.source, joins = model.target && batch > 1;
  std::vector<NumberedText> waiting;
  auto flush = [&] {
    Status answered = waiting.empty() ? Status() : answer(waiting);
    waiting.clear();
    return answered;
  };
  int64_t cut = 0, taken = 0;
  Texts texts(command, in);
  for (std::string text; texts.next(text); ++taken) {
    auto encoded = encode(text, texts.place());
    const bool isEmpty = encoded && encoded->empty && !beginsAlone(model),
               isLeftOut = isEmpty && !model.input().tokenizer;
    if (isEmpty && !isLeftOut)
      encoded = inputError(texts.place() + ": expected a text with at least one token, found none" +
                           (model.source ? "" : ", and no token that a text begins with"));
    if (!encoded) {
      Status answered = flush();
      return answered ? Status(encoded.takeError()) : answered;
    }
    cut += encoded->cut > 0;
    const bool fits = mixes || waiting.empty() || waiting.back().ids.size() == encoded->ids.size();
    if (!fits)
      HEDDLE_TRY(flush());
    waiting.push_back({std::move(encoded->ids), texts.number(), isLeftOut});
    const bool waits = joins && waiting.size() / batchesAtOnce < batch && texts.isNextAtHand();
    if (waiting.size() >= batch && !waits)
      HEDDLE_TRY(flush());
  }
  HEDDLE_TRY(flush());
  HEDDLE_TRY(texts.finish());
  noteCut(model, cut, taken, notes);
  return {};
}

void heddle::noteCut(const TextModel &model, int64_t cut, int64_t taken, std::ostream &notes) {
  if (cut > 0)
    notes << "note: " << cut << " of " << taken << " texts cut to " << *model.input().longest()
          << " tokens\n";
}

std::string heddle::jsonText(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status heddle::written(const std::ostream &out) {
  return out ? Status()
             : inputError("standard output: expected to write all results, found an error");
}

Error heddle::ofModel(const Session &session, Error error) {
  const std::string &name = session.artifact().name();
  if (!error.message.starts_with(name + ": "))
    error.message = name + ": " + error.message;
  return error;
}

Expected<TextModel> heddle::textModelOf(const Session &session, const TextCommand &command) {
  TextModel model = HEDDLE_TRY(textModelOf(session));
  model.input().cut |= command.truncate;
  return model;
}
