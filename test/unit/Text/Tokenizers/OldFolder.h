//===- OldFolder.h - Folders without tokenizer.json ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "TemporaryFolder.h"

#include "heddle/Tokenizers/Tokenizer.h"

#include <gmock/gmock.h>

namespace heddle::test {

inline std::vector<int32_t> idsOf(const Tokenizer &tokenizer, std::string_view text,
                                  const EncodeOptions &options = {}) {
  auto tokens = tokenizer.encode(text, options);
  EXPECT_TRUE(tokens) << tokens.error().message;
  return tokens ? tokens->ids : std::vector<int32_t>();
}

/// A folder written by a test.
class OldFolder : public testing::Test {
protected:
  void write(const std::string &name, std::string_view text) { temporary.write(name, text); }
  std::string error() {
    auto tokenizer = openTokenizer(folder.string());
    return tokenizer ? "no error" : tokenizer.error().message;
  }
  TemporaryFolder temporary;
  std::filesystem::path folder = temporary.path();
};

} // namespace heddle::test
