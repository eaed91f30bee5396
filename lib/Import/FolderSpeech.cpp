//===- FolderSpeech.cpp - What a folder says of speech --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FolderSpeech.h"

#include "heddle/Audio/LogMel.h"
#include "heddle/Generation/Speech.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Try.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

/// Checks that the frames of the folder's steps for sound are those of the model.
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

/// The text of a file of the folder that a model of sound needs.
static Expected<std::string> readSpeechFile(const std::string &path, Description &description) {
  std::string text = HEDDLE_TRY(readTextFile(path, 1 << 20));
  description.files.push_back(path);
  return text;
}

/// The file that says how sound becomes frames; newer folders have it inside another.
static fs::path soundSteps(const std::string &folder) {
  const fs::path own = fs::path(folder) / "preprocessor_config.json",
                 newer = fs::path(folder) / "processor_config.json";
  std::error_code none;
  return !fs::exists(own, none) && fs::exists(newer, none) ? newer : own;
}

/// generation_config.json with what old folders force behind the start in `config` alone, where
/// Transformers looks for it too.
static Expected<std::string> speechSettings(const std::string &text, const std::string &path,
                                            const Json &config) {
  constexpr const char *key = "forced_decoder_ids";
  const Json forced = config.value(key, Json());
  Json settings = HEDDLE_TRY(parseJson(text, path));
  if (forced.is_null() || !settings.is_object() || !settings.value(key, Json()).is_null())
    return text;
  settings[key] = forced;
  return settings.dump();
}

/// How sound becomes frames, and the tokens beside text that generation_config.json names.
static Status readSpeech(const std::string &folder, const Json &config, Description &description) {
  const fs::path steps = soundSteps(folder);
  const std::string settings = (fs::path(folder) / "generation_config.json").string();
  std::string mel = HEDDLE_TRY(readSpeechFile(steps.string(), description));
  HEDDLE_TRY(checkFrames(HEDDLE_TRY(LogMel::fromJson(mel, steps.string())), steps.string(),
                         *description.source->frames));
  std::string tokens = HEDDLE_TRY(
      speechSettings(HEDDLE_TRY(readSpeechFile(settings, description)), settings, config));
  HEDDLE_TRY(SpeechTokens::fromJson(tokens, settings));
  description.source->logMel = "source.log-mel.json";
  description.texts[description.source->logMel] = std::move(mel);
  description.task["speech"] = "target.speech.json";
  description.texts["target.speech.json"] = std::move(tokens);
  return {};
}

Status heddle::addSpeech(const std::string &folder, const Json &config, bool needsFiles,
                         Description &description) {
  if (!needsFiles && !fs::exists(soundSteps(folder)))
    return {};
  Status read = readSpeech(folder, config, description);
  if (read || needsFiles)
    return read;
  description.warnings.push_back(read.error().message + "; the model takes no files of audio");
  return {};
}
