//===- SentencePiece.h - Models of SentencePiece ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include <string_view>
#include <vector>

namespace heddle::tokenizers {

enum class PieceKind : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

struct ScoredPiece {
  std::string text;
  float score = 0;
  PieceKind kind = PieceKind::Normal;
};

/// The merges of a BPE model, which its file leaves out: every cut of a piece into two others, the
/// highest scores first.
Json mergesOf(const std::vector<ScoredPiece> &pieces);

/// A model (a protobuf message, ModelProto) as what a tokenizer.json says. It has no post-processor:
/// which tokens stand around a text is not in the file.
Expected<Json> sentencePieceJson(std::string_view bytes, const std::string &fileName);

} // namespace heddle::tokenizers
