//===- SpeechConfig.h - Speech settings of a folder ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Schema.h"

#include "heddle/Support/TextFacts.h"

namespace heddle {

/// A key that no file has: the tokenizer's tokens by name, see readSpeechFacts.
inline constexpr const char *tokenNamesKey = "tokenizer tokens";

/// Reads the special tokens and settings of a speech model from a generation_config.json. Errors
/// begin with `fileName`. A setting that would change the text and is not followed is an error.
/// Files from before Whisper's timestamps lack no_timestamps_token_id, lang_to_id and task_to_id;
/// `tokenNamesKey` then holds the tokenizer's tokens by name.
Expected<SpeechFacts> readSpeechFacts(const Json &settings, const std::string &fileName);

} // namespace heddle
