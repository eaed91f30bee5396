//===- FolderTexts.h - What cuts a folder's inputs -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers, chat templates and the preparation of images, which a compiled model
// carries.
#pragma once

#include "Description.h"

namespace heddle {

/// Whether frames of sound come in.
bool hears(const Description &description);

/// Changes that Sentence-Transformers makes to a folder's tokenizer.
struct TokenizerChanges {
  bool lowers = false;         ///< letters become small first
  bool leavesSpecials = false; ///< no token is put around a text
};

/// The folder's tokenizers, which the compiled model carries. Where one cannot be read, that is an
/// error if texts will come, else a warning: the model runs on ids without them.
Status addTokenizer(const std::string &folder, bool needsTexts, const TokenizerChanges &changes,
                    Description &description);

/// How the folder turns messages into one text, which goes with its tokenizer; a warning where it is
/// none that Heddle knows.
Status addChatTemplate(const std::string &folder, Description &description);

/// What the folder says of images, which the compiled model carries. Where it cannot be followed,
/// that is an error if files will come, else a warning: the model takes numbers without it.
Status addPreprocessor(const std::string &folder, bool needsFiles, Description &description);

} // namespace heddle
