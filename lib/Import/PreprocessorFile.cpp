//===- PreprocessorFile.cpp - Preprocessors of images and audio -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PreprocessorFile.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Try.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

static constexpr int64_t kMost = 1 << 20; ///< bytes of a preprocessor file

static std::string olderOf(const std::string &folder) {
  return (fs::path(folder) / "preprocessor_config.json").string();
}

static std::string newerOf(const std::string &folder) {
  return (fs::path(folder) / "processor_config.json").string();
}

bool heddle::hasPreprocessor(const std::string &folder) {
  return isThere(olderOf(folder)) || isThere(newerOf(folder));
}

/// First key on which both objects differ; none if they agree on all common keys.
static std::optional<std::string> differing(const Json &newer, const Json &older) {
  for (const auto &[key, value] : newer.items())
    if (older.is_object() && older.contains(key) && older[key] != value)
      return key;
  return std::nullopt;
}

Expected<PreprocessorFile> heddle::readPreprocessor(const std::string &folder, const char *part,
                                                    Description &description) {
  const std::string newer = newerOf(folder), older = olderOf(folder);
  if (isThere(newer)) {
    const Json whole = HEDDLE_TRY(parseJson(HEDDLE_TRY(readTextFile(newer, kMost)), newer));
    const Json steps = whole.is_object() ? whole.value(part, Json()) : Json();
    if (steps.is_object()) {
      description.files.push_back(newer);
      if (isThere(older)) {
        const Json other = HEDDLE_TRY(parseJson(HEDDLE_TRY(readTextFile(older, kMost)), older));
        if (auto key = differing(steps, other))
          description.warnings.push_back(older + ": " + *key + ": expected " + steps[*key].dump() +
                                         " as in processor_config.json, which Transformers 5 "
                                         "follows, found " +
                                         other[*key].dump());
      }
      return PreprocessorFile{newer + ": " + part, steps.dump()};
    }
  }
  std::string text = HEDDLE_TRY(readTextFile(older, kMost));
  description.files.push_back(older);
  return PreprocessorFile{older, std::move(text)};
}
