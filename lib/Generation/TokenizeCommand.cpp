//===- TokenizeCommand.cpp - Texts as ids, for both drivers -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Commands.h.
#include "TextBatches.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <filesystem>
#include <ostream>

using namespace heddle;

namespace {

Status checkTokenize(const TokenizeCommand &command) {
  HEDDLE_TRY(checkTexts(command.texts));
  for (auto [given, flag] :
       {std::pair(command.pair.has_value(), "--pair"), {command.noSpecial, "--no-special"}})
    if (given && command.decode)
      return usageError(std::string(flag) + ": expected no --decode beside it, found both");
  return {};
}

/// The tokenizer of a compiled file: that of its source, or of the texts that it continues.
Expected<Tokenizer> compiledTokenizer(const std::string &path) {
  const Artifact artifact = HEDDLE_TRY(readArtifact(path));
  TextModel model = HEDDLE_TRY(textModelOf(artifact));
  for (std::optional<TextSide> *side : {&model.source, &model.target})
    if (*side && (*side)->tokenizer)
      return std::move(*(*side)->tokenizer);
  return inputError(path + ": expected a compiled model with a tokenizer, found one without");
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
  const bool compiled = std::filesystem::path(command.model).extension() == ".heddle" &&
                        !std::filesystem::is_directory(command.model);
  const Tokenizer tokenizer =
      HEDDLE_TRY(compiled ? compiledTokenizer(command.model) : openTokenizer(command.model));
  Texts texts(command.texts, in);
  for (std::string text; texts.next(text);) {
    if (!text.empty())
      out << HEDDLE_TRY(answerOf(command, tokenizer, text, texts.place()));
    out << '\n';
    HEDDLE_TRY(written(out));
  }
  return texts.finish();
}
