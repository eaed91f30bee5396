//===- TextBatches.cpp - Batches of texts -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text that cannot be encoded ends the command, after the texts before it are
// answered.
#include "TextBatches.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/SystemError.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <istream>
#include <new>
#include <nlohmann/json.hpp>
#include <ostream>

using namespace heddle;

/// Maximum size of a line; tokens of a text take some 40 bytes each.
static constexpr size_t mostLineMebibytes = 16;

Texts::Texts(const TextCommand &command, std::istream &in)
    : arguments(command.texts), in(&in), pairs(command.pairs && command.texts.empty()),
      json(command.input.ends_with(".jsonl") && !command.lines),
      name(command.input == "-" ? "" : command.input) {
  if (name.empty())
    return;
  std::error_code unknown;
  const auto size = std::filesystem::file_size(name, unknown);
  bytes = unknown ? 0 : size;
  errno = 0;
  file.open(name, std::ios::binary);
  openError = file.is_open() ? 0 : errno;
  this->in = &file;
}

/// Appends available input to `ahead`; false if none is available.
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

/// True if a whole line has been read; `end` is its end.
bool Texts::holdsLine(size_t &end) {
  end = ahead.find('\n', std::max(taken, searched));
  searched = end == std::string::npos ? ahead.size() : end;
  return end != std::string::npos;
}

/// True if the current line is longer than the maximum. Input without line ends would otherwise
/// fill the memory.
bool Texts::isTooLong() const { return ahead.size() - taken > mostLineMebibytes << 20; }

/// Reads the next line; the end of the input ends the last one.
bool Texts::nextLine(std::string &text) {
  if (taken > ahead.size() / 2) { // avoids moving the rest for each line
    ahead.erase(0, taken);
    searched -= std::min(searched, taken);
    taken = 0;
  }
  size_t end = 0;
  while (!holdsLine(end)) {
    if (isTooLong())
      break;
    if (!readOn() && (in->peek() == std::istream::traits_type::eof() || !in->good())) {
      if (in->bad() || taken == ahead.size())
        return false;
      end = ahead.size();
      break;
    }
  }
  if (end == std::string::npos || end - taken > mostLineMebibytes << 20) {
    failure = inputError((name.empty() ? "" : name + ": ") + "line " + std::to_string(lines + 1) +
                         ": expected a line of at most " + std::to_string(mostLineMebibytes) +
                         " MiB, found a longer one");
    return false;
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
  } else if (problem = Status(); !arguments.empty()) {
    if (count == arguments.size())
      return false;
    text = arguments[count];
  } else if (!nextLine(text)) {
    return false;
  } else {
    problem = takeLine(text);
    count += pairs && !second ? 1 : 0; // a line that is not a pair counts as both texts
  }
  ++count;
  return true;
}

Status Texts::check() const { return problem; }

/// Converts a line to a text, or to two texts.
Status Texts::takeLine(std::string &line) {
  if (json)
    return takeJson(line);
  return pairs ? takePair(line) : Status();
}

Status Texts::takePair(std::string &line) {
  const size_t tab = line.find('\t');
  if (tab == std::string::npos || line.find('\t', tab + 1) != std::string::npos)
    return inputError(place() + ": expected two texts with a tab between them, found " +
                      quotedText(line));
  second = line.substr(tab + 1);
  line.resize(tab);
  return {};
}

Status Texts::takeJson(std::string &line) {
  using Json = nlohmann::ordered_json;
  const Json value = HEDDLE_TRY(parseJson(line, place(), JsonText::Line));
  if (pairs) {
    if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_string())
      return inputError(place() + ": expected a list of two texts, found " + quotedText(line));
    line = value[0].get<std::string>();
    second = value[1].get<std::string>();
    return {};
  }
  const auto text = value.is_object() ? value.find("text") : value.end();
  const bool hasText = value.is_object() && text != value.end() && text->is_string();
  const bool isConversation = value.is_array() || (value.is_object() && value.contains("messages"));
  if (!value.is_string() && !hasText)
    return inputError(place() + ": expected a JSON text or an object with text, found " +
                      quotedText(line) +
                      (isConversation ? "; --messages reads conversations" : ""));
  line = hasText ? text->get<std::string>() : value.get<std::string>();
  return {};
}

bool Texts::isNextAtHand() {
  if (!arguments.empty() || second)
    return true;
  size_t end = 0;
  while (!holdsLine(end) && !isTooLong())
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
  if (openError && openError != ENOENT)
    return systemError(name, "a file that can be read", openError);
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

bool SkippedTexts::take(const Error &error) {
  constexpr uint64_t mostNotes = 20;
  if (!on)
    return false;
  if (count++ < mostNotes)
    notes << "skipped: " << printable(error.message) << '\n';
  return true;
}

Status SkippedTexts::finish() const {
  if (count == 0)
    return {};
  return inputError("expected texts that can all be read, found " + std::to_string(count) +
                    " that " + (count == 1 ? "was" : "were") + " skipped");
}

std::string heddle::skippedLine(bool json, const std::string &message) {
  return json ? "{\"error\": " + jsonText(message) + "}\n" : "\n";
}

Status heddle::checkFile(
    const TextCommand &command, std::istream &in,
    const std::function<Status(const std::string &text, const std::string &place)> &check) {
  std::error_code none;
  if (!command.texts.empty() || command.onError == "skip" ||
      !std::filesystem::is_regular_file(command.input, none))
    return {};
  Texts texts(command, in);
  for (std::string text; texts.next(text);) {
    HEDDLE_TRY(texts.check());
    HEDDLE_TRY(check(text, texts.place()));
  }
  return texts.finish();
}

/// True if a decoder has a token from which a text without tokens can start.
static bool beginsAlone(const TextModel &model) {
  return !model.source && (model.target->start || model.target->generation.begin);
}

/// Encodes a text that the model can answer, or leaves out.
static Expected<EncodedText> encodedText(const TextModel &model, const EncodeText &encode,
                                         const std::string &text, const std::string &place) {
  EncodedText encoded = HEDDLE_TRY(encode(text, place));
  if (encoded.empty && !beginsAlone(model) && model.input().tokenizer)
    return inputError(place + ": expected a text with at least one token, found none" +
                      (model.source ? "" : ", and no token that a text begins with"));
  return encoded;
}

Status heddle::answerTexts(const TextCommand &command, const TextModel &model, std::istream &in,
                           std::ostream &notes, const EncodeText &encode,
                           const AnswerTexts &answer) {
  constexpr size_t batchesAtOnce = 16; // answers wait for earlier ones
  const auto batch = static_cast<size_t>(command.batch);
  const bool mixes = model.padded || !model.source, joins = model.target && batch > 1;
  std::vector<NumberedText> waiting;
  auto flush = [&] {
    Status answered = waiting.empty() ? Status() : answer(waiting);
    waiting.clear();
    return answered;
  };
  CheckedTexts<EncodedText> checked([&](const std::string &text, const std::string &place) {
    return encodedText(model, encode, text, place);
  });
  HEDDLE_TRY(checkFile(command, in, [&](const std::string &text, const std::string &place) {
    return checked.check(text, place);
  }));
  int64_t cut = 0, taken = 0;
  SkippedTexts skipped(command, notes);
  Texts texts(command, in);
  for (std::string text; texts.next(text); ++taken) {
    auto encoded = checked.next(texts, text);
    std::string problem;
    if (!encoded && skipped.take(encoded.error())) {
      problem = encoded.error().message;
      encoded = EncodedText();
    }
    if (!encoded) {
      Status answered = flush();
      return answered ? Status(encoded.takeError()) : answered;
    }
    const bool isLeftOut = !problem.empty() || (encoded->empty && !beginsAlone(model));
    cut += encoded->cut > 0;
    const bool fits = mixes || waiting.empty() || waiting.back().ids.size() == encoded->ids.size();
    if (!fits)
      HEDDLE_TRY(flush());
    waiting.push_back({std::move(encoded->ids), texts.number(), isLeftOut, std::move(problem)});
    const bool waits = joins && waiting.size() / batchesAtOnce < batch && texts.isNextAtHand();
    if (waiting.size() >= batch && !waits)
      HEDDLE_TRY(flush());
  }
  HEDDLE_TRY(flush());
  HEDDLE_TRY(texts.finish());
  noteCut(model, cut, taken, notes);
  return skipped.finish();
}

void heddle::noteCut(const TextModel &model, int64_t cut, int64_t taken, std::ostream &notes) {
  if (cut > 0)
    notes << "note: " << cut << " of " << taken << " texts cut to " << *model.input().longest()
          << " tokens\n";
}

std::string heddle::jsonText(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string heddle::jsonNumber(double number) {
  return std::isfinite(number) ? formatted("%.9g", number) : "null";
}

Status heddle::written(const std::ostream &out) {
  return out ? Status()
             : inputError("standard output: expected to write all results, found an error");
}

Status heddle::both(Status job, Status kept) {
  if (job || kept)
    return job ? std::move(kept) : std::move(job);
  Error error = job.takeError();
  error.message += "; " + kept.error().message;
  return error;
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
