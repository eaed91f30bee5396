//===- TokenizeCommand.cpp - The command tokenize -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Conversation.h"
#include "TextBatches.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Gguf.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/JsonField.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

using namespace heddle;

namespace {

Status checkTokenize(const TokenizeCommand &command) {
  HEDDLE_TRY(checkTexts(command.texts));
  for (auto [given, flag] :
       {std::pair(command.pair.has_value(), "--pair"), {command.noSpecial, "--no-special"}})
    if (given && command.decode)
      return usageError(std::string(flag) + ": expected no --decode with it, found both");
  for (auto [given, flag] : {std::pair(command.decode, "--decode"),
                             {command.pair.has_value(), "--pair"},
                             {command.noSpecial, "--no-special"}})
    if (given && command.chat)
      return usageError(std::string(flag) + ": expected no --chat with it, found both");
  for (auto [given, flag] : {std::pair(command.messages, "--messages"),
                             {command.system.has_value(), "--system"},
                             {command.chatTemplate.has_value(), "--chat-template"},
                             {command.special.has_value(), "--special"}})
    if (given && !command.chat)
      return usageError(std::string(flag) + ": expected --chat with it, found none");
  if (command.messages && command.system)
    return usageError("--system: expected no --messages with it, found both");
  if (command.special)
    HEDDLE_TRY(specialTokensOf(*command.special));
  return {};
}

struct Source {
  Tokenizer tokenizer;
  std::shared_ptr<const ChatTemplate> chat; ///< or null
};

/// The tokenizer of a compiled file: its source's, or else its target's.
Expected<Source> compiledSource(const std::string &path) {
  const Artifact artifact = HEDDLE_TRY(readArtifact(path));
  TextModel model = HEDDLE_TRY(textModelOf(artifact));
  for (std::optional<TextSide> *side : {&model.source, &model.target})
    if (*side && (*side)->tokenizer)
      return Source{std::move(*(*side)->tokenizer), std::move((*side)->chat)};
  return inputError(path + ": expected a compiled model with a tokenizer, found one without");
}

constexpr int64_t mostDescription = int64_t(64) << 20; // bytes

/// The tokenizer of a description, which is a vocabulary in JSON: its source's, or else its target's.
Expected<std::string> tokenizerOfDescription(const std::filesystem::path &description) {
  const std::string place = description.string();
  const auto json = HEDDLE_TRY(parseJson(HEDDLE_TRY(readTextFile(place, mostDescription)), place));
  HEDDLE_TRY(JsonField(json, place).checkObject());
  for (const char *side : {"source", "target"}) {
    if (!json.contains(side) || !json[side].is_object())
      continue;
    const auto vocabulary = json[side].value("vocabulary", nlohmann::ordered_json());
    const std::string file = vocabulary.is_string() ? vocabulary.get<std::string>() : "";
    if (file.ends_with(".json") && staysInFolder(file))
      return (description.parent_path() / file).string();
  }
  return inputError(place + ": expected a tokenizer.json as the vocabulary of source or target, "
                            "found none; a list of words has no tokenizer");
}

/// The description that `path` is or, if it is a folder, contains; none for other models.
std::optional<std::filesystem::path> descriptionOf(const std::filesystem::path &path) {
  if (std::filesystem::is_directory(path) && isThere(path / "model.json"))
    return path / "model.json";
  if (path.filename() == "model.json" && isThere(path))
    return path;
  return std::nullopt;
}

Expected<Source> folderSource(const std::string &path, std::ostream &notes) {
  const TokenizerFile file = HEDDLE_TRY(readTokenizerFile(path));
  Source source{HEDDLE_TRY(Tokenizer::fromJson(file.json, file.name)), nullptr};
  for (const std::string &warning : file.warnings)
    notes << "warning: " << printable(warning) << '\n';
  return source;
}

Expected<Source> openSource(const TokenizeCommand &command, std::ostream &notes) {
  const bool isFolder = std::filesystem::is_directory(command.model);
  const bool isCompiled =
      !isFolder && std::filesystem::path(command.model).extension() == ".heddle";
  std::string model = command.model;
  if (const auto description = descriptionOf(command.model))
    model = HEDDLE_TRY(tokenizerOfDescription(*description));
  Source source =
      HEDDLE_TRY(isCompiled ? compiledSource(command.model) : folderSource(model, notes));
  if (command.chat && (isFolder || isGguf(command.model)))
    source.chat =
        std::make_shared<const ChatTemplate>(HEDDLE_TRY(ChatTemplate::open(command.model)));
  if (command.chat && !source.chat)
    return inputError(command.model +
                      ": expected a folder, a .gguf file or a compiled model with a chat template, "
                      "found none");
  HEDDLE_TRY(chooseTemplate(source.chat, command.chatTemplate));
  return source;
}

/// The text of the conversation in a line: a user's message, or JSON.
Expected<RenderedText> conversationOf(const TokenizeCommand &command, const ChatTemplate &chat,
                                      const std::string &text, const std::string &place) {
  if (!command.messages)
    return questionText(chat, command.system, text);
  return conversationText(chat, HEDDLE_TRY(parseJson(text, place)), place);
}

Expected<std::string> answerOf(const TokenizeCommand &command, const Source &source,
                               const std::string &text, const std::string &place) {
  const Tokenizer &tokenizer = source.tokenizer;
  const bool json = command.texts.json;
  if (command.decode) {
    std::string decoded =
        HEDDLE_TRY(tokenizer.decode(HEDDLE_TRY(parseIds(text, tokenizer, place))));
    return json ? "{\"text\": " + jsonText(decoded) + "}" : decoded;
  }
  EncodeOptions options{.specialTokens = !command.noSpecial};
  RenderedText rendered;
  if (command.chat) {
    rendered = HEDDLE_TRY(conversationOf(command, *source.chat, text, place));
    options = conversationOptions(
        *source.chat, rendered, HEDDLE_TRY(specialTokensOf(command.special.value_or("template"))));
  }
  const std::string &whole = command.chat ? rendered.text : text;
  const TokenEncoding tokens =
      HEDDLE_TRY(command.pair ? tokenizer.encode(whole, *command.pair, options, place)
                              : tokenizer.encode(whole, options, place));
  std::string ids;
  for (int32_t id : tokens.ids)
    ids += (ids.empty() ? "" : json ? ", " : " ") + std::to_string(id);
  return json ? "{\"ids\": [" + ids + "]}" : ids;
}

} // namespace

Status heddle::tokenizeCommand(const TokenizeCommand &command, std::istream &in, std::ostream &out,
                               std::ostream &notes) {
  HEDDLE_TRY(checkTokenize(command));
  const Source source = HEDDLE_TRY(openSource(command, notes));
  TextCommand lines = command.texts;
  lines.lines = command.messages;
  SkippedTexts skipped(lines, notes);
  Texts texts(lines, in);
  for (std::string text; texts.next(text);) {
    Status readable = texts.check();
    auto answer = readable ? answerOf(command, source, text, texts.place())
                           : Expected<std::string>(readable.takeError());
    if (answer)
      out << *answer << '\n';
    else if (skipped.take(answer.error()))
      out << skippedLine(lines.json, answer.error().message);
    else
      return answer.takeError();
    HEDDLE_TRY(written(out));
  }
  HEDDLE_TRY(texts.finish());
  return skipped.finish();
}
