//===- FolderSpeech.cpp - Speech facts of a folder ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FolderSpeech.h"

#include "PreprocessorFile.h"
#include "SpeechConfig.h"

#include "heddle/Audio/LogMel.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Try.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

/// Checks that the preprocessor gives the number of bands and frames that the model takes.
static Status checkFrames(const LogMel &mel, const std::string &path,
                          const FramesDescription &frames) {
  for (const auto &[key, wanted, found] :
       {std::tuple("feature_size", frames.channels, mel.bands()),
        std::tuple("chunk_length", frames.frames, mel.windowFrames())})
    if (wanted != found)
      return inputError(path + ": " + key + ": expected the " + std::to_string(wanted) +
                        (key == std::string_view("feature_size") ? " bands" : " frames") +
                        " that the model takes, found " + std::to_string(found));
  return {};
}

/// Reads a file of the folder that a speech model needs.
static Expected<std::string> readSpeechFile(const std::string &path, Description &description) {
  std::string text = HEDDLE_TRY(readTextFile(path, 1 << 20));
  description.files.push_back(path);
  return text;
}

/// Ids of the tokenizer's special tokens by name, for example <|notimestamps|>.
static Expected<Json> namedTokens(const Description &description) {
  Json names = Json::object();
  const auto file = description.texts.find(description.target->tokenizerFile);
  if (file == description.texts.end())
    return names;
  const Json tokenizer = HEDDLE_TRY(parseJson(file->second, "tokenizer"));
  for (const Json &token : tokenizer.value("added_tokens", Json::array()))
    if (token.is_object() && token.value("content", Json()).is_string())
      names[token["content"].get<std::string>()] = token.value("id", Json());
  return names;
}

/// Returns the speech settings and their file: generation_config.json, or `config` for older
/// folders without it. As in Transformers, forced decoder ids may be in `config` alone.
static Expected<std::pair<Json, std::string>>
speechSettings(const std::string &folder, const Json &config, Description &description) {
  constexpr const char *key = "forced_decoder_ids";
  const std::string path = (fs::path(folder) / "generation_config.json").string();
  Json settings = config;
  const bool isOwn = isThere(path);
  if (isOwn)
    settings = HEDDLE_TRY(parseJson(HEDDLE_TRY(readSpeechFile(path, description)), path));
  if (!settings.is_object())
    return std::pair(std::move(settings), path); // the reader of the settings reports it
  if (const Json forced = config.value(key, Json());
      !forced.is_null() && settings.value(key, Json()).is_null())
    settings[key] = forced;
  for (const char *old : {"no_timestamps_token_id", "lang_to_id", "task_to_id"})
    if (settings.value(old, Json()).is_null())
      settings[tokenNamesKey] = HEDDLE_TRY(namedTokens(description));
  return std::pair(std::move(settings), isOwn ? path : configPath(folder));
}

/// Adds the preprocessor of audio and the non-text tokens that generation_config.json names.
static Status readSpeech(const std::string &folder, const Json &config, Description &description) {
  PreprocessorFile steps = HEDDLE_TRY(readPreprocessor(folder, "feature_extractor", description));
  HEDDLE_TRY(checkFrames(HEDDLE_TRY(LogMel::fromJson(steps.text, steps.place)), steps.place,
                         *description.source->frames));
  const auto [settings, path] = HEDDLE_TRY(speechSettings(folder, config, description));
  description.facts.speech = HEDDLE_TRY(readSpeechFacts(settings, path));
  description.source->logMelFile = "source.log-mel.json";
  description.texts[description.source->logMelFile] = std::move(steps.text);
  return {};
}

Status heddle::addSpeech(const std::string &folder, const Json &config, bool needsFiles,
                         Description &description) {
  if (!needsFiles && !hasPreprocessor(folder))
    return {};
  Status read = readSpeech(folder, config, description);
  if (read || needsFiles || read.error().kind == ErrorKind::System)
    return read;
  description.warnings.push_back(read.error().message + "; the model takes no files of audio");
  return {};
}
