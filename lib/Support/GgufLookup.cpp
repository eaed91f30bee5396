//===- GgufLookup.cpp - Lookup of keys and GGUF files ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed values of keys, and detection of GGUF files.

#include "heddle/Support/Gguf.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace heddle {

const GgufValue *Gguf::find(std::string_view key) const {
  auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

Error Gguf::mistaken(std::string_view key, std::string_view wanted) const {
  const GgufValue *value = find(key);
  return inputError(path + ": " + printable(key) + ": expected " + std::string(wanted) +
                    ", found " + (value ? value->shown() : "none"));
}

Expected<std::string_view> Gguf::text(std::string_view key) const {
  const GgufValue *value = find(key);
  auto text = value ? value->text() : std::nullopt;
  return text ? Expected<std::string_view>(*text) : mistaken(key, "a text");
}

Expected<std::vector<std::string_view>> Gguf::texts(std::string_view key) const {
  const GgufValue *value = find(key);
  auto list = value ? value->texts() : std::nullopt;
  if (!list)
    return mistaken(key, "a list of texts");
  return std::move(*list);
}

Expected<std::vector<double>> Gguf::numbers(std::string_view key) const {
  const GgufValue *value = find(key);
  auto list = value ? value->numbers() : std::nullopt;
  if (!list)
    return mistaken(key, "a list of numbers");
  return std::move(*list);
}

Expected<std::optional<int64_t>> Gguf::integer(std::string_view key) const {
  const GgufValue *value = find(key);
  auto whole = value ? value->integer() : std::nullopt;
  if (value && !whole)
    return mistaken(key, "an integer");
  return whole;
}

Expected<bool> Gguf::flag(std::string_view key, bool otherwise) const {
  const GgufValue *value = find(key);
  auto given = value ? value->flag() : std::optional(otherwise);
  return given ? Expected<bool>(*given) : mistaken(key, "true or false");
}

static bool beginsAsGguf(const std::filesystem::path &path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) // reading a pipe would block
    return false;
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "GGUF";
}

bool isGguf(const std::string &path) {
  std::error_code failure;
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return extension == ".gguf" ? !std::filesystem::is_directory(path, failure) : beginsAsGguf(path);
}

Expected<std::string> modelPath(const std::string &model) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path folder(model);
  if (!fs::is_directory(folder, failure))
    return model;
  for (const char *name : {"config.json", "model.json", "modules.json"})
    if (isThere(folder / name))
      return model;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure))
    if (fs::is_regular_file(at->path(), failure) && isGguf(at->path().string()))
      names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  if (names.size() > 1 && std::ranges::includes(ggufParts(names[0]), names))
    names.resize(1);
  if (names.size() > 1)
    return inputError(model + ": expected one GGUF file in a folder without config.json, found " +
                      printable(listText(names)) + ": name the one that is meant");
  return names.empty() ? model : (folder / names[0]).string();
}

} // namespace heddle
