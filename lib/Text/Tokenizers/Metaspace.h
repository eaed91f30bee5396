//===- Metaspace.h - Blanks as visible characters --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings of the Metaspace pre-tokenizer and decoder. SentencePiece writes a
// blank as U+2581.
#pragma once

#include "JsonField.h"

namespace heddle::tokenizers {

/// Pieces that get a mark in front: the first of a text, none, or all.
enum class PrependScheme : uint8_t { First, Never, Always };

/// Settings of a Metaspace component.
struct Metaspace {
  std::string replacement;
  PrependScheme scheme = PrependScheme::Always;
  bool split = true;
};

Expected<Metaspace> readMetaspace(const JsonField &field);

} // namespace heddle::tokenizers
