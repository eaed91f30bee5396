//===- SentencePiece.h - Models of SentencePiece ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include <string_view>
#include <vector>

namespace heddle::tokenizers {

enum class PieceKind : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

/// A piece of a vocabulary. Its score is a log probability, or orders the merges of BPE.
struct ScoredPiece {
  std::string text;
  float score = 0;
  PieceKind kind = PieceKind::Normal;
};

/// A SentencePiece model, from any file format.
struct PieceModel {
  std::vector<ScoredPiece> pieces;
  bool isUnigram = true; ///< else BPE
  std::string charsMap;  ///< compiled character map; empty: none
  bool prefixes = true;  ///< adds a blank before the first word
  bool removesBlanks = true;
};

/// Reads a file of SentencePiece, a protobuf message (ModelProto). Errors begin with `fileName`.
Expected<PieceModel> readPieceModel(std::string_view bytes, const std::string &fileName);

/// The merges of a BPE model, which its file does not have: all splits of a piece into two others,
/// the highest scores first.
Json mergesOf(const std::vector<ScoredPiece> &pieces);

/// Translates a model to a tokenizer.json as Hugging Face writes it. Errors begin with `fileName`.
Expected<Json> pieceModelJson(const PieceModel &model, const std::string &fileName);

/// Translates a SentencePiece model to a tokenizer.json that splits as SentencePiece does. It has
/// no post-processor, since the file does not name the tokens around a text.
Expected<Json> sentencePieceJson(std::string_view bytes, const std::string &fileName);
Expected<Json> sentencePieceJson(const PieceModel &model, const std::string &fileName);

} // namespace heddle::tokenizers
