//===- FolderTexts.h - Tokenizers and preprocessors of a folder -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds tokenizers, chat templates and image preprocessors, which the compiled model stores.
#pragma once

#include "Description.h"

namespace heddle {

/// Returns whether the source is audio frames.
bool takesAudio(const Description &description);

/// Changes that Sentence-Transformers makes to a folder's tokenizer.
struct TokenizerChanges {
  bool lowers = false;         ///< lowercases texts first
  bool leavesSpecials = false; ///< adds no special tokens around a text
};

/// Adds the folder's tokenizers. An unreadable one is an error if `needsTexts`, and otherwise a
/// warning: the model then runs on ids.
Status addTokenizer(const std::string &folder, bool needsTexts, const TokenizerChanges &changes,
                    Description &description);

/// Adds the tokenizer's chat template; warns if it is unsupported.
Status addChatTemplate(const std::string &folder, Description &description);

/// Adds the image preprocessor. An unsupported one is an error if `needsFiles`, and otherwise a
/// warning: the model then takes numbers.
Status addPreprocessor(const std::string &folder, bool needsFiles, Description &description);

} // namespace heddle
