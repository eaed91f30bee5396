//===- SpeechLanguages.h - Languages of speech models ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// A language by its code and an English name.
struct SpeechLanguage {
  std::string_view code, name;
};
/// Languages of Whisper. A language with several names has several entries.
std::span<const SpeechLanguage> speechLanguages();

/// The code of a language. `name` is a code, an English name, or a token such as <|en|>, in any
/// case.
std::string speechLanguageCode(std::string_view name);

/// The name inside a token such as <|en|>; any other text is returned unchanged.
std::string insideToken(const std::string &token);

} // namespace heddle
