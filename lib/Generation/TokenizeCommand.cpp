//===- TokenizeCommand.cpp - Texts as ids, for both drivers -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Commands.h.
#include "TextBatches.h"

#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <charconv>
#include <ostream>

using namespace heddle;

namespace {

Status checkTokenize(const TokenizeCommand &command) {
  for (auto [given, flag] :
       {std::pair(command.pair.has_value(), "--pair"), {command.noSpecial, "--no-special"}})
    if (given && command.decode)
      return usageError(std::string(flag) + ": expected no --decode beside it, found both");
  return {};
}

/// Numbers between blanks.
Expected<std::vector<int32_t>> parseIds(std::string_view line, const Tokenizer &tokenizer,
                                        const std::string &place) {
  std::vector<int32_t> ids;
  constexpr const char *blanks = " \t\r";
  for (size_t at = 0; (at = line.find_first_not_of(blanks, at)) != line.npos;) {
    const size_t end = std::min(line.find_first_of(blanks, at), line.size());
    const std::string_view word = line.substr(at, end - at);
    int32_t id = -1;
    const auto [rest, failure] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (failure != std::errc() || rest != word.data() + word.size() || !tokenizer.idToToken(id))
      return inputError(place + ": expected ids of the tokenizer's " +
                        std::to_string(tokenizer.size()) + " tokens, found " + quotedText(word));
    ids.push_back(id);
    at = end;
  }
  return ids;
}

Expected<std::string> answerOf(const TokenizeCommand &command, const Tokenizer &tokenizer,
                               const std::string &text, const std::string &place) {
  if (command.decode)
    return tokenizer.decode(HEDDLE_TRY(parseIds(text, tokenizer, place)));
  const EncodeOptions options{.specialTokens = !command.noSpecial};
  const TokenEncoding tokens =
      HEDDLE_TRY(command.pair ? tokenizer.encode(text, *command.pair, options, place)
                              : tokenizer.encode(text, options, place));
  std::string ids;
  for (int32_t id : tokens.ids)
    ids += (ids.empty() ? "" : " ") + std::to_string(id);
  return ids;
}

} // namespace

Status heddle::tokenizeCommand(const TokenizeCommand &command, std::istream &in,
                               std::ostream &out) {
  HEDDLE_TRY(checkTokenize(command));
  const Tokenizer tokenizer = HEDDLE_TRY(openTokenizer(command.model));
  Texts texts(command.texts, in);
  for (std::string text; texts.next(text);) {
    if (!text.empty())
      out << HEDDLE_TRY(answerOf(command, tokenizer, text, texts.place()));
    out << '\n';
    HEDDLE_TRY(written(out));
  }
  return texts.finish();
}
