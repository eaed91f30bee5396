//===- Metaspace.h - Blanks that can be seen -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SentencePiece writes a blank as U+2581; the settings are those of the
// pre-tokenizer and of the decoder.
#pragma once

#include "JsonField.h"

namespace heddle::tokenizers {

/// Which pieces get a mark in front.
enum class PrependScheme : uint8_t { First, Never, Always };

struct Metaspace {
  std::string replacement;
  PrependScheme scheme = PrependScheme::Always;
  bool split = true;
};

Expected<Metaspace> readMetaspace(const JsonField &field);

} // namespace heddle::tokenizers
