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

/// What a model consists of, whichever file it is from.
struct PieceModel {
  std::vector<ScoredPiece> pieces;
  bool isUnigram = true; ///< else BPE
  std::string charsMap;  ///< a compiled table of characters; empty: none
  bool prefixes = true;  ///< a blank before the first word
  bool removesBlanks = true;
};

/// Reads a file of SentencePiece, a protobuf message (ModelProto).
Expected<PieceModel> readPieceModel(std::string_view bytes, const std::string &fileName);

/// The merges of a BPE model, which its file leaves out: every cut of a piece into two others, the
/// highest scores first.
Json mergesOf(const std::vector<ScoredPiece> &pieces);

/// A model as what Hugging Face's tokenizer.json says of it; `fileName` is for errors.
Expected<Json> pieceModelJson(const PieceModel &model, const std::string &fileName);

/// A file of SentencePiece as what a tokenizer.json says. It has no post-processor:
/// which tokens stand around a text is not in the file.
Expected<Json> sentencePieceJson(std::string_view bytes, const std::string &fileName);
Expected<Json> sentencePieceJson(const PieceModel &model, const std::string &fileName);

} // namespace heddle::tokenizers
