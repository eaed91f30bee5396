//===- LanguageFolders.h - Folders of test/data/languages -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "TemporaryFolder.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"

#include <nlohmann/json.hpp>

namespace heddle::test {

/// Transformers' results for a folder.
inline Expected<nlohmann::ordered_json> goldenOf(const std::string &folder,
                                                 const std::string &name) {
  const std::string path =
      std::string(HEDDLE_SOURCE_DIR) + "/test/data/languages/" + folder + "/" + name;
  auto text = readTextFile(path, 1 << 20);
  return text ? parseJson(*text, name) : Expected<nlohmann::ordered_json>(text.takeError());
}

/// Copies a folder of test/data/languages together with the files of its tokenizer.
inline void putFolder(const std::string &name, const std::filesystem::path &tokenizer,
                      const std::filesystem::path &folder) {
  namespace fs = std::filesystem;
  const auto all = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
  const fs::path tests = fs::path(HEDDLE_SOURCE_DIR) / "test" / "data";
  fs::copy(tests / "tokenizers" / tokenizer, folder, all);
  // The model's configuration replaces the one of the tokenizer alone.
  fs::copy(tests / "languages" / name, folder, all);
}

} // namespace heddle::test
